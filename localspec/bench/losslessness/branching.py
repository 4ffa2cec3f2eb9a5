"""Trees that branch whatever that is worth, so that what is compared are trees."""

from __future__ import annotations

from dataclasses import dataclass

from localspec.decoding.draft_length import STOP, Choice, FixedLength, Offers
from localspec.decoding.tree_plan import FixedTreePlan, TreePlan


@dataclass(frozen=True, slots=True)
class Branching(FixedLength):
    """Drafts of `tokens` guesses, 2 or more; of a tree no more than half of them are the first for their place.

    By what passes cost, a tree is often a chain on a CPU, and where no guess pays it is nothing.
    """

    def tree_plan(self, room: int, *, leaves_out: bool) -> TreePlan:
        """See `DraftLength`."""
        return BranchingPlan(min(room, self.tokens), leaves_out=leaves_out)


class BranchingPlan(FixedTreePlan):
    """As many guesses, the half of them beside the spine or behind those that are."""

    def choose(self, offers: Offers) -> Choice:
        """As `FixedTreePlan`, up to half of the guesses."""
        left = (self._wanted + 1) // 2 - len(self._spine)
        choice = super().choose(offers) if left > 0 else STOP
        return choice._replace(looked_up=min(choice.looked_up, left))
