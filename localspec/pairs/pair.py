"""What a pair is: two model files that share a tokenizer, on the hub or on this machine, and how to run them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from localspec import locations

if TYPE_CHECKING:
    from localspec.decoding.sampling_settings import SamplingSettings

# A machine sold as 16 GB reports a little less: the firmware and the graphics take their part.
_MEMORY_TOLERANCE = 0.9

LONGEST_CONTEXT = 1 << 24
"""Tokens, that a pair can be given."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One GGUF. Repo, revision and file together identify it on the hub: two repos may ship other bytes as one name.

    Attributes:
        name: how the catalog calls it.
        repo: "owner/name".
        revision: a commit, or a branch or tag when it is not pinned.
        file: path inside the repo, with forward slashes.
        bytes: its size; None when only the hub knows.
        sha256: of its contents, in lower-case hexadecimal digits; None when only the hub knows.
        path: where it is, of a file of this machine that is not on the hub, which has no repo and no revision then.
    """

    name: str
    repo: str
    revision: str
    file: str
    bytes: int | None = None
    sha256: str | None = None
    path: str | None = None

    @property
    def pinned(self) -> bool:
        """Whether its bytes can never change under us."""
        return self.sha256 is not None

    def __str__(self) -> str:
        return self.path or f"{self.repo}:{self.file}"


@dataclass(frozen=True, slots=True)
class SamplingDefaults:
    """What the model's authors recommend; None leaves the program's own default."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None

    def over(self, settings: SamplingSettings) -> SamplingSettings:
        """`settings` with every recommended value in place of its own."""
        return replace(settings, **{name: value for name, value in asdict(self).items() if value is not None})


@dataclass(frozen=True, slots=True)
class Pair:
    """A target, the draft that guesses for it, and how to run them.

    Attributes:
        name: what the person types.
        title: what the person reads.
        purpose: what it is good for, one line.
        licence: name of the licence of the weights; "" when it is not known.
        terms: where to read it; "" when it is not known.
        memory: decimal gigabytes of memory it is meant for.
        target: the model whose text it is.
        draft: the model that guesses.
        context: tokens both key-value caches hold.
        sampling: the authors' recommendation.
        notes: what else to know; "" for nothing.
        default: whether it is the first choice for its memory.
        source: "catalog", "own" (the person's models.toml) or "remembered" (made by an earlier pull or prune).
    """

    name: str
    title: str
    purpose: str
    licence: str
    terms: str
    memory: int
    target: ModelFile
    draft: ModelFile
    context: int
    sampling: SamplingDefaults = SamplingDefaults()
    notes: str = ""
    default: bool = False
    source: str = "catalog"

    @property
    def files(self) -> tuple[ModelFile, ModelFile]:
        """Target and draft, in this order."""
        return self.target, self.draft

    @property
    def is_pruned(self) -> bool:
        """Whether the draft was made here of the target's own layers, by `localspec prune`."""
        return self.draft.path is not None and locations.is_pruned_draft(Path(self.draft.path))

    @property
    def bytes(self) -> int | None:
        """Size of both files; None when one is not known."""
        if self.target.bytes is None or self.draft.bytes is None:
            return None
        return self.target.bytes + self.draft.bytes

    def is_meant_for(self, memory: int) -> bool:
        """Whether a machine that reports so many bytes of memory is of the size the pair is meant for."""
        return self.memory * 1e9 * _MEMORY_TOLERANCE <= memory
