"""Everything that crosses the pipe between the program and the process that holds the models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from localspec.chat.events import AnswerEnd, AnswerRequest, AnswerRound, PromptProgress


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How to load one model.

    Attributes:
        path: the GGUF file.
        device: name of a backend device as `localspec doctor` lists it; None lets llama.cpp choose.
        gpu_layers: layers to offload; -1 for all, 0 for none.
    """

    path: Path
    device: str | None = None
    gpu_layers: int = -1


@dataclass(frozen=True, slots=True)
class LoadPair:
    """Load a target and, unless None, a draft that shares its tokenizer.

    Attributes:
        context: tokens each KV cache holds; None for the smaller of the model's own limit and 4096.
        threads: CPU threads per pass; None for the machine's physical cores.
        kv_type: type of the keys and values: "f16", "q8_0", ...
        flash_attention: "auto", "on" or "off".
    """

    target: ModelSettings
    draft: ModelSettings | None = None
    context: int | None = None
    threads: int | None = None
    kv_type: str = "f16"
    flash_attention: str = "auto"


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a request. `number` comes back with every event of it."""

    number: int
    request: AnswerRequest


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop answer `number`; honoured within one pass, a no-op when it is over."""

    number: int


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Free everything and end the process."""


Command = LoadPair | Answer | Cancel | Shutdown


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """Loading `what` ("target" or "draft"): `fraction` of its bytes are in."""

    what: str
    fraction: float


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """What was loaded.

    Attributes:
        name: the GGUF's own name, or its file name.
        description: architecture, size and quantisation in llama.cpp's words.
        bytes: size of the weights.
        parameters: number of weights.
        vocabulary_size: columns of a row of logits.
        trained_context: context the model was trained for.
        device: where it runs.
    """

    name: str
    description: str
    bytes: int
    parameters: int
    vocabulary_size: int
    trained_context: int
    device: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The pair is ready."""

    target: LoadedModel
    draft: LoadedModel | None
    context_size: int
    threads: int
    seconds: float


@dataclass(frozen=True, slots=True)
class AnswerProgress:
    """An event of answer `number`."""

    number: int
    event: PromptProgress | AnswerRound | AnswerEnd


@dataclass(frozen=True, slots=True)
class Failure:
    """A command failed; the engine lives on.

    Attributes:
        kind: class name of the LocalspecError.
        number: the answer that failed, or None when it was a load.
    """

    kind: str
    title: str
    message: str
    hint: str
    number: int | None = None


Event = LoadProgress | Loaded | AnswerProgress | Failure
