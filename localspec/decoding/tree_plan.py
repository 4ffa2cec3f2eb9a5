"""One round's decisions about a tree: its spine is the chain that would be drafted, the rest is weighed beside it."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from localspec.decoding.calibration import (
    MODEL_PRIORS,
    Calibration,
    lookup_level,
    model_bin,
    model_level,
    source_beside,
)
from localspec.decoding.draft_length import STOP, Choice, CountedPlan, DraftPlan, Offers
from localspec.decoding.draft_plan import StoppingPlan
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Prediction
from localspec.decoding.stopping import StoppingTable
from localspec.decoding.tree_shape import best_count, best_newcomers, is_among_best


class Reach(NamedTuple):
    """A guess that the draft model could be made to go on from.

    Attributes:
        survival: the chance that it is kept.
        last: the bin of the q it would be drawn from; -1 when it is not the first for its place.
    """

    survival: float
    last: int = -1


class TreePlan(DraftPlan, Protocol):
    """The decisions of one round whose draft may be a tree.

    The spine is decided on as a `DraftPlan`'s chain is. Beside it the plan says how many of the possible guesses are
    worth while, best first, before they are drawn.
    """

    @property
    def predicts(self) -> bool:
        """Whether its figures are this pair's."""
        ...

    def expected(self, greatest: float) -> float:
        """The chance that the first guess for a place is kept, before it is drawn from a q of this `greatest`."""
        ...

    def predicted(self, source: str, level: int, rank: int) -> Prediction:
        """What is expected of a guess, `rank` others being tried before it."""
        ...

    def may_add(self, survival: float) -> bool:
        """Whether guesses that are kept no more surely than this might become worth adding in this round."""
        ...

    def reads(self, reaches: Sequence[Reach], unread: int) -> int:
        """How many guesses to add now and have the draft model go on from, all in its next pass.

        Args:
            reaches: those there could be; falling.
            unread: tokens that pass reads anyway, to guess the spine's next; 0 when the spine is over.
        """
        ...

    def adds(self, survivals: Sequence[float]) -> int:
        """How many guesses of these chances, falling, to add when the draft model is done."""
        ...

    def grew(self, survival: float) -> None:
        """A guess of this chance was added beside the spine."""
        ...

    def stays(self, survivals: Sequence[float]) -> int:
        """How many guesses, of these chances, falling, to have verified, where the acceptance rule lets some go."""
        ...


class StoppingTreePlan(StoppingPlan):
    """Adds what is worth more than its time: to the spine as `StoppingPlan` does, beside it by the same table.

    Args:
        table: as `StoppingPlan`'s, as are `costs`, `calibrations`, `may_probe` and `room`.
        leaves_out: whether guesses may be left out after they were drawn.
    """

    predicts = True

    def __init__(  # noqa: PLR0913 - the arguments of the chain's plan, and one
        self,
        table: StoppingTable,
        costs: PassCosts,
        calibrations: Mapping[str, Calibration],
        may_probe: Callable[[float], bool],
        room: int,
        *,
        leaves_out: bool,
    ) -> None:
        super().__init__(table, costs, calibrations, may_probe, room)
        self._leaves_out = leaves_out
        self._spine: list[float] = []
        self._others: list[float] = []

    def expected(self, greatest: float) -> float:
        """See `TreePlan`."""
        return self._table.acceptance[model_bin(greatest)]

    def predicted(self, source: str, level: int, rank: int) -> Prediction:
        """See `TreePlan`."""
        calibration = self._calibrations[source_beside(source) if rank else source]
        return Prediction(level, calibration.acceptance(level), rank)

    def may_add(self, survival: float) -> bool:
        """Whether they would pay where the target's pass is cheapest, of all sizes it may come to have."""
        present = len(self._spine) + len(self._others)
        return present < self._room and survival > self._table.least_price(present)

    def reads(self, reaches: Sequence[Reach], unread: int) -> int:
        """As many as promise most: each may lead to a chain that the table knows the worth of."""
        gains = self._gains(reaches, unread)
        if gains and max(gains) > 0:
            gains = self._gains(self._fitting(reaches), unread)
        if not gains or max(gains) <= 0:
            return 0
        before = self._costs.draft(unread) if unread else 0.0
        passes = [self._pass_seconds(unread, count) - before for count in range(1, len(gains) + 1)]
        return best_count(gains, [0.0, *(-self._table.rate * seconds for seconds in passes)])

    def _gains(self, reaches: Sequence[Reach], unread: int) -> list[float]:
        """Of adding and reading each, after those before it, the pass of the draft model itself not being counted."""
        step = self._table.rate * self._costs.draft(1)
        present = len(self._spine) + len(self._others) + bool(unread)
        gains: list[float] = []
        for survival, last in reaches:
            # Room for the guess itself and for one that follows it.
            if present + 2 > self._room:
                break
            alone = survival + self._stopping[present + 1] - self._stopping[present]
            going_on = self._table.going_on(present + 1, last, survival) + step - self._stopping[present + 1]
            # What is worth adding alone will be added anyway.
            gains.append(going_on + min(0.0, alone))
            present += 2
        return gains

    def _fitting(self, reaches: Sequence[Reach]) -> Sequence[Reach]:
        """Those for which there is room: what the spine will have more of is likelier to be kept than others.

        Where guesses may be left out later, there is room for all.
        """
        if self._leaves_out:
            return reaches
        usual = self._table.usual
        known = [*self._spine, *self._others]
        known += [self._survival * usual**i for i in range(1, self._room - len(known) + 1)]
        known.sort()
        return [each for each in reaches if is_among_best(each.survival * usual, known, self._room)]

    def _pass_seconds(self, unread: int, beside: int) -> float:
        """Of the draft model, to guess the spine's next unless that is over, and to go on from so many others."""
        several = beside + bool(unread) > 1
        return self._costs.branching(unread + beside) if several else self._costs.draft(unread + beside)

    def adds(self, survivals: Sequence[float]) -> int:
        """As many as are worth their place in the target's pass."""
        if self._leaves_out:
            present = sorted([*self._spine, *self._others], reverse=True)
            return best_newcomers(present, survivals, self._stopping[: self._room + 1], self._least)
        present_count = len(self._spine) + len(self._others)
        return best_count(survivals, self._stopping[present_count : self._room + 1])

    def grew(self, survival: float) -> None:
        """See `TreePlan`."""
        self._others.append(survival)

    def stays(self, survivals: Sequence[float]) -> int:
        """As many as are worth most; a probe is verified whatever it is worth."""
        return best_count(survivals, self._stopping[: self._room + 1], min(self._least, len(survivals)))

    def _beside(self) -> int:
        """Those that will be verified together with what the spine gets next, as far as can be told."""
        if self._leaves_out:
            return sum(each > self._survival for each in self._others)
        return len(self._others)

    def _add(self, source: str, level: int) -> None:
        super()._add(source, level)
        self._spine.append(self._survival)


_USUALLY_KEPT = 0.8
"""Acceptance of a guess that the draft model has not made yet."""

_SIBLINGS_KEPT = (0.4, 0.25)
"""Of second and third guesses, when those before them are refused."""

_USUAL = Knowledge().calibrations
"""What is usual."""


class FixedTreePlan(CountedPlan):
    """A number of guesses, those that are likeliest to be kept, by what is usual.

    Args:
        tokens: their number.
        leaves_out: whether guesses may be left out after they were drawn.
    """

    predicts = False

    def __init__(self, tokens: int, *, leaves_out: bool) -> None:
        super().__init__(tokens)
        self._leaves_out = leaves_out
        self._survival = 1.0
        self._spine: list[float] = []
        self._others: list[float] = []
        # Chances of the guesses that there are on the spine, or could be beside it; rising.
        self._known: list[float] = []

    def expected(self, greatest: float) -> float:
        """See `TreePlan`."""
        return MODEL_PRIORS[model_bin(greatest)]

    def predicted(self, source: str, level: int, rank: int) -> Prediction:
        """See `TreePlan`."""
        calibration = _USUAL[source_beside(source) if rank else source]
        return Prediction(level, calibration.acceptance(level), rank)

    def choose(self, offers: Offers) -> Choice:
        """As for a chain, as long as the next guess of the spine is among the likeliest."""
        choice = super().choose(offers)
        if choice.step and not is_among_best(self._survival * _USUALLY_KEPT, self._known, self._wanted):
            return STOP
        return choice

    def drawn(self, greatest: float, *, likeliest: bool) -> None:
        """One more, on the spine."""
        super().drawn(greatest, likeliest=likeliest)
        self._lengthen("model", model_level(greatest, likeliest=likeliest))

    def looked_up(self, levels: Sequence[int]) -> None:
        """So many more, on the spine."""
        super().looked_up(levels)
        for place, level in enumerate(levels):
            self._lengthen("ngram", lookup_level(level, place))

    def _lengthen(self, source: str, level: int) -> None:
        acceptance = self.predicted(source, level, 0).acceptance
        left = self._survival * (1 - acceptance)
        for kept in _SIBLINGS_KEPT:
            insort(self._known, left * kept)
            left *= 1 - kept
        self._survival *= acceptance
        self._spine.append(self._survival)
        insort(self._known, self._survival)

    def may_add(self, survival: float) -> bool:  # noqa: ARG002 - the Protocol's argument
        """Whatever it takes to meet the number."""
        return True

    def reads(self, reaches: Sequence[Reach], unread: int) -> int:
        """Those of which a child is expected to be among the likeliest."""
        left = self._wanted - self._drafted - bool(unread)
        known = sorted([*self._known, *(each.survival for each in reaches)])
        fitting = [each for each in reaches if is_among_best(each.survival * _USUALLY_KEPT, known, self._wanted)]
        return max(0, min(len(fitting), left // 2))

    def adds(self, survivals: Sequence[float]) -> int:
        """As many as are missing, or take the place of others."""
        if not self._leaves_out:
            return min(len(survivals), self._wanted - self._drafted)
        present = sorted([*self._spine, *self._others], reverse=True)
        return best_newcomers(present, survivals, [0.0] * (self._wanted + 1))

    def grew(self, survival: float) -> None:
        """See `TreePlan`."""
        self._drafted += 1
        self._others.append(survival)

    def stays(self, survivals: Sequence[float]) -> int:
        """All there is room for."""
        return min(len(survivals), self._wanted)
