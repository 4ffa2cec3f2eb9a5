"""Which pair to run: the one a person names, the best one that is here, or one to propose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from localspec.errors import LocalspecError
from localspec.pairs.found import locate, search
from localspec.pairs.listing import PairState, list_pairs
from localspec.pairs.sizes import gigabytes

if TYPE_CHECKING:
    from pathlib import Path

    from localspec.pairs.catalog import Catalog
    from localspec.pairs.memory_fit import Memory
    from localspec.pairs.pair import ModelFile, Pair
    from localspec.pairs.progress import Meter


@dataclass(frozen=True, slots=True)
class FirstChoice:
    """What to run when no pair is named.

    Attributes:
        best: the best pair that is here and fits; None when there is none.
        proposal: the pair to propose instead, for this machine's memory.
    """

    best: PairState | None
    proposal: Pair

    @property
    def proposal_words(self) -> str:
        """The proposal, told to a person who may say yes: what, how much, on which terms."""
        size = gigabytes(self.proposal.bytes) if self.proposal.bytes else "a size that the hub will tell"
        purpose = f" ({self.proposal.purpose.lower()})" if self.proposal.purpose else ""
        known = filter(None, (self.proposal.licence, self.proposal.terms))
        terms = ", ".join(known) if self.proposal.licence else "see its page on the hub"
        return f"{self.proposal.title}{purpose}: {size} to download. Licence: {terms}"


def first_choice(catalog: Catalog, memory: Memory) -> FirstChoice:
    """The best pulled pair and the one to propose. The hub is not asked.

    Best is the pair meant for the most memory among those that fit, as it has the most capable target; of equals the
    one that the catalog marks as the default. A pair that `localspec prune` made runs where it is named.
    """
    here = [state for state in list_pairs(catalog, memory) if state.pulled and state.fits and not state.pair.is_pruned]
    best = max(here, key=lambda state: (state.pair.memory, state.pair.default), default=None)
    return FirstChoice(best, catalog.default_pair(memory.total))


def paths_of(pair: Pair, meter: Meter) -> tuple[Path, Path]:
    """Where target and draft of a pulled pair are; contents that were never checked are checked now, once.

    Raises:
        LocalspecError: one is not here, or is damaged.
    """
    target, draft = (_path_of(pair, file, meter) for file in pair.files)
    return target, draft


def _path_of(pair: Pair, file: ModelFile, meter: Meter) -> Path:
    path = search(file, meter)
    if path is None:
        if file.path is not None:
            raise LocalspecError(
                f"The pair {pair.name} is not on this machine",
                f"{file.path} is gone, or is another file now.",
                f"`localspec prune` makes such a pair, `localspec rm {pair.name}` forgets it.",
            )
        damaged = locate(file) is not None
        raise LocalspecError(
            f"The pair {pair.name} is {'damaged' if damaged else 'not on this machine'}",
            f"{file} {'has other contents than the catalog names' if damaged else 'was not pulled, or only in part'}.",
            f"Fetch it: localspec pull {pair.name}",
        )
    return path
