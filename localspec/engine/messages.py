"""Everything that crosses the pipe between the program and the process that holds the models."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from localspec.chat.events import AnswerEnd, AnswerEvent, AnswerRequest
from localspec.engine.calibrations import Calibrate, Calibration, CalibrationProgress
from localspec.engine.prunings import BeginPruning, JudgeCut, JudgedCut, KeepCut, KeptCut, PruningBegun, PruningProgress
from localspec.engine.traces import AnswerTrace


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
        threads: CPU threads per pass; None for those that a calibration found best for each model, else for one for
            each full-speed core.
        kv_type: type of the keys and values: "f16", "q8_0", ...
        flash_attention: "auto", "on" or "off".
        costs: recall what passes cost on this machine, or measure it now, for the draft length that follows from it;
            else that is done when an answer first needs it. What is loaded is the same, so equality does not ask.
    """

    target: ModelSettings
    draft: ModelSettings | None = None
    context: int | None = None
    threads: int | None = None
    kv_type: str = "f16"
    flash_attention: str = "auto"
    costs: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class MeasurePasses:
    """Time passes of the loaded models, behind whatever text their caches hold; the text stays.

    Attributes:
        widths: tokens a pass, 1 to the longest draft and one.
        repeats: passes of each width that count; the median is told.
    """

    widths: tuple[int, ...] = (1,)
    repeats: int = 5


@dataclass(frozen=True, slots=True)
class MeasureBatch:
    """Time passes in which several texts go on at once, as on a server with many users, in a cache of their own.

    Attributes:
        sequences: how many texts, each number in turn.
        widths: tokens a text and pass, each number in turn; the draft is timed at one token only, as it drafts.
        context: tokens each text has before the pass.
        repeats: passes of each kind that count; the median is told.
    """

    sequences: tuple[int, ...] = (1, 2, 4, 8, 16)
    widths: tuple[int, ...] = (1, 4)
    context: int = 64
    repeats: int = 3


@dataclass(frozen=True, slots=True)
class TraceAnswer:
    """Answer, judging the guesses by the rejection rule, and tell of each guess how it was judged.

    Attributes:
        request: what to answer; its acceptance rule is not asked. A seed makes the trace repeatable.
        likeliest: how many of a distribution's tokens to tell, the likeliest first.
    """

    request: AnswerRequest
    likeliest: int = 4


CommandBody = (
    LoadPair
    | AnswerRequest
    | MeasurePasses
    | MeasureBatch
    | Calibrate
    | TraceAnswer
    | BeginPruning
    | JudgeCut
    | KeepCut
)


@dataclass(frozen=True, slots=True)
class Command:
    """Something to do. `number` comes back with every reply to it."""

    number: int
    body: CommandBody


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop command `number`; honoured within one pass, a no-op when it is over."""

    number: int


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Free everything and end the process."""


Message = Command | Cancel | Shutdown
"""What the program sends."""


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """`fraction` of the bytes of `what` ("target" or "draft") are in, or of the "costs" are measured."""

    what: str
    fraction: float

    @property
    def words(self) -> str:
        """What is going on, for a person."""
        if self.what == "costs":
            return "measuring what guesses cost on this machine, once"
        return f"loading the {self.what}"


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
    """The pair is ready.

    Attributes:
        target: the model whose text it is.
        draft: the model that guesses, if any.
        context_size: tokens a conversation can take.
        threads: CPU threads per pass.
        seconds: how long the loading took.
        notes: what the person should know, one sentence or two each; such as that the file has no chat template.
    """

    target: LoadedModel
    draft: LoadedModel | None
    context_size: int
    threads: int
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PassTimes:
    """What passes cost on this machine now.

    Attributes:
        target: pairs of width and median seconds of a pass of that width, in the order they were asked for; those
            measured before a cancel.
        draft: the same of the draft; empty when none is loaded.
    """

    target: tuple[tuple[int, float], ...]
    draft: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class BatchTime:
    """Median seconds of a pass that adds `width` tokens to each of `sequences` texts."""

    sequences: int
    width: int
    seconds: float


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """What passes over several texts cost; those measured before a cancel. `draft` is empty when none is loaded."""

    target: tuple[BatchTime, ...]
    draft: tuple[BatchTime, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A command failed; the engine lives on.

    Attributes:
        kind: class name of the LocalspecError.
        title: as the error's.
        message: as the error's.
        hint: as the error's.
        exit_code: as the error's.
    """

    kind: str
    title: str
    message: str
    hint: str
    exit_code: int


ReplyBody = (
    LoadProgress
    | Loaded
    | AnswerEvent
    | PassTimes
    | BatchTimes
    | CalibrationProgress
    | Calibration
    | AnswerTrace
    | PruningProgress
    | PruningBegun
    | JudgedCut
    | KeptCut
    | Failure
)

LAST_REPLIES = (
    Loaded,
    AnswerEnd,
    PassTimes,
    BatchTimes,
    Calibration,
    AnswerTrace,
    PruningBegun,
    JudgedCut,
    KeptCut,
    Failure,
)
"""What ends the replies to a command."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What comes of command `number`; one of LAST_REPLIES is the last."""

    number: int
    body: ReplyBody
