"""`list` and `show`: what pairs there are, what of them is here, and whether they fit this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from localspec.errors import LocalspecError
from localspec.pairs.compatibility import Mismatch, PairHeaders, mismatch, too_large
from localspec.pairs.found import locate
from localspec.pairs.gguf_bytes import LocalFile
from localspec.pairs.gguf_reading import read_header
from localspec.pairs.hub_cache import partial_bytes
from localspec.pairs.memory_fit import PairFit, Wanted, pair_fit
from localspec.pairs.sizes import gigabytes

if TYPE_CHECKING:
    from pathlib import Path

    from localspec.pairs.catalog import Catalog
    from localspec.pairs.memory_fit import Memory
    from localspec.pairs.pair import Pair


@dataclass(frozen=True, slots=True)
class PairState:
    """A pair as it stands on this machine.

    Attributes:
        pair: the pair.
        target: where its target is; None when it is not here.
        draft: where its draft is; None when it is not here.
        kept: bytes of a pull that is not complete.
        fits: whether it fits this machine's memory.
        fit_words: how, or why not.
    """

    pair: Pair
    target: Path | None
    draft: Path | None
    kept: int
    fits: bool
    fit_words: str

    @property
    def pulled(self) -> bool:
        """Whether both files are here."""
        return self.target is not None and self.draft is not None


@dataclass(frozen=True, slots=True)
class PairDetails:
    """All that is known of a pair.

    Attributes:
        state: as `list` shows it.
        headers: of both files, when they are here.
        fit: into memory, when they are here.
        problem: why they cannot run together, though they are here; None when they can.
    """

    state: PairState
    headers: PairHeaders | None
    fit: PairFit | None
    problem: Mismatch | None


def list_pairs(catalog: Catalog, memory: Memory) -> list[PairState]:
    """Every pair of the catalog, smallest memory first. Nobody is asked, and no gigabytes are read."""
    return [state_of(pair, memory) for pair in catalog.pairs.values()]


def state_of(pair: Pair, memory: Memory) -> PairState:
    """One pair as it stands on this machine: exactly, by its headers, when it is here; by its catalog entry else."""
    return show_pair(pair, memory).state


def show_pair(pair: Pair, memory: Memory) -> PairDetails:
    """All that is known of a pair without asking the hub."""
    target, draft = (locate(file) for file in pair.files)
    kept = sum(partial_bytes(file.repo, file.sha256) for file in pair.files if file.sha256)
    if target is None or draft is None:
        fits = pair.is_meant_for(memory.total)
        has = f"this machine has {gigabytes(memory.total)}"
        words = f"meant for {pair.memory} GB of {memory.name}; {has}"
        return PairDetails(PairState(pair, target, draft, kept, fits, words), None, None, None)
    try:
        headers = PairHeaders(read_header(LocalFile(target)), read_header(LocalFile(draft)))
    except LocalspecError as error:
        state = PairState(pair, target, draft, kept, False, f"{error.title}: {error.message}")
        return PairDetails(state, None, None, None)
    fit = pair_fit(headers.target, headers.draft, Wanted(pair.context), memory)
    problem = mismatch(headers.target, headers.draft)
    if problem is None and not pair.is_pruned:  # what a pruned draft costs was measured, and stands in the notes
        problem = too_large(headers.target, headers.draft)
    return PairDetails(PairState(pair, target, draft, kept, fit.fits, fit.words), headers, fit, problem)
