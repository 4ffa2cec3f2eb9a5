"""`match TARGET.gguf`: which drafts on this machine fit a target, and for each other one the exact reason why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from localspec.errors import ModelFileError
from localspec.pairs.compatibility import Mismatch, Reason, mismatch, too_large
from localspec.pairs.found import ggufs_on_this_machine
from localspec.pairs.gguf_bytes import LocalFile
from localspec.pairs.gguf_reading import read_header
from localspec.pairs.memory_fit import PairFit, Wanted, pair_fit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from localspec.pairs.gguf_header import GgufHeader
    from localspec.pairs.memory_fit import Memory


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model on this machine, seen as a draft.

    Attributes:
        path: where it is.
        name: what its file calls itself; "" when it does not.
        bytes: size of its weights.
        reason: why it cannot draft; None when it can.
        words: the reason as a sentence without a full stop; "" when it can.
        fit: of both into memory; None when it cannot draft.
    """

    path: Path
    name: str
    bytes: int
    reason: Reason | None
    words: str
    fit: PairFit | None

    @property
    def fits(self) -> bool:
        """Whether it can draft for the target on this machine."""
        return self.reason is None


def match_drafts(
    target: Path, memory: Memory, wanted: Wanted, candidates: Iterable[Path] | None = None
) -> list[Candidate]:
    """Judge every GGUF on this machine as a draft for `target`; those that fit come first, the smallest before.

    Args:
        target: the large model.
        memory: what both must fit into.
        wanted: context and type of keys and values.
        candidates: files to judge; None for all that are found.

    Raises:
        ModelFileError: the target is not a sound GGUF.
    """
    header = read_header(LocalFile(target))
    paths = ggufs_on_this_machine() if candidates is None else candidates
    judged = [_judge(header, path, memory, wanted) for path in paths if path.resolve() != target.resolve()]
    return sorted(judged, key=lambda candidate: (not candidate.fits, candidate.bytes, candidate.path))


def _judge(target: GgufHeader, path: Path, memory: Memory, wanted: Wanted) -> Candidate:
    try:
        draft = read_header(LocalFile(path))
    except ModelFileError as error:
        return Candidate(path, "", path.stat().st_size, Reason.NOT_SOUND, error.message.rstrip("."), None)
    name = draft.metadata.get("general.name", "")
    found = mismatch(target, draft) or too_large(target, draft)
    fit = None
    if found is None:
        fit = pair_fit(target, draft, wanted, memory)
        found = None if fit.fits else Mismatch(Reason.MEMORY, f"together with the target it {fit.words}")
    reason, words = (found.reason, found.words) if found else (None, "")
    return Candidate(path, name if isinstance(name, str) else "", draft.tensor_bytes, reason, words, fit)
