"""The search for the layers to drop: greedy, within a time, for the greatest predicted speed-up.

Not for agreement: a draft that keeps nearly all layers agrees nearly always and costs as much as its target.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from localspec.bench import theory
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.engine.prunings import Cut, JudgedCut

WORTH_KEEPING = 1.03
"""A prediction below it is within what the measuring errs by."""

FINALISTS = 3

_FOR_SINGLES = 0.5
"""Of the time: layers are left out one by one, or group by group where the time is too short for that."""
_FOR_SETS = 0.8
"""Of the time, by which larger sets are tried; the rest goes to changing the best one."""
_FEWEST_GROUPS = 5
_GROWTH = 1.3
"""How much larger a set of groups is than the one before it."""
_NEIGHBOURS = 3


@dataclass(frozen=True, slots=True)
class Tried:
    """A draft that was judged.

    Attributes:
        judged: what was measured.
        best: the draft length of greatest predicted speed-up among those that guess at all, and that speed-up: below 1
            where it would be slower than no guesses.
    """

    judged: JudgedCut
    best: theory.BestLength

    @property
    def speed_up(self) -> float:
        """What the search is for."""
        return self.best.speed_up


@dataclass(frozen=True, slots=True)
class Space:
    """Where to search.

    Attributes:
        layers: numbers of the layers that may be dropped, rising.
        file_types: types to requantize to; None for the weights as they are.
        curve: T(1), T(2), ..., seconds of a pass of the target over so many tokens.
    """

    layers: Sequence[int]
    file_types: Sequence[str | None]
    curve: Sequence[float]

    def tried(self, judged: JudgedCut) -> Tried:
        """What a draft is worth here; one that llama.cpp cannot use is worth nothing."""
        if judged.trouble:
            return Tried(judged, theory.BestLength(0, 0.0))
        return Tried(judged, best_guessing(judged.agreement, self.curve, judged.step * self.curve[0]))


def best_guessing(agreement: float, curve: Sequence[float], step: float) -> theory.BestLength:
    """As `theory.best_draft_length`, but of one guess or more, so that drafts which all lose can be compared, too."""
    best = theory.best_draft_length(agreement, curve, step)
    if best.drafted:
        return best
    lengths = range(1, min(len(curve), LONGEST_DRAFT + 1))
    gains = {drafted: theory.measured_speed_up(agreement, drafted, curve, step) for drafted in lengths}
    drafted = max(gains, key=gains.__getitem__)
    return theory.BestLength(drafted, gains[drafted])


class Search:
    """One search.

    Attributes:
        tried: all that was judged, in order.
    """

    def __init__(
        self,
        space: Space,
        judge: Callable[[Cut], JudgedCut],
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin the time.

        Args:
            space: where.
            judge: measures a draft; what it raises ends the search.
            seconds: how long it may take; a measurement that has begun is not cut short.
            clock: in seconds.
        """
        self.tried: dict[Cut, Tried] = {}
        self._space = space
        self._judge = judge
        self._seconds = seconds
        self._clock = clock
        self._began = clock()

    def run(self) -> list[Tried]:
        """Search.

        Returns:
            The best ones that llama.cpp can use, best first.
        """
        for file_type in self._space.file_types:
            if file_type is not None:
                self._try(Cut((), file_type))
        ranked = self._least_harmful_first()
        for file_type in self._space.file_types:
            self._grow(ranked, file_type)
        self._improve(ranked)
        usable = [tried for tried in self.tried.values() if tried.best.drafted]
        return sorted(usable, key=_worth, reverse=True)[:FINALISTS]

    def _least_harmful_first(self) -> list[tuple[int, ...]]:
        """Each layer or group of neighbours left out by itself, and ranked by how much agreement that costs a layer."""
        layers = self._space.layers
        middle = layers[len(layers) // 2]
        before = self._clock()
        self._try(Cut((middle,)))
        each = max(self._clock() - before, 1e-3)
        affordable = max(_FEWEST_GROUPS, int((self._seconds * _FOR_SINGLES - self._spent) / each))
        size = math.ceil(len(layers) / affordable)
        groups = [tuple(layers[start : start + size]) for start in range(0, len(layers), size)]
        harms = {group: (1 - self._try(Cut(group)).judged.agreement) / len(group) for group in groups}
        return sorted(groups, key=harms.__getitem__)

    def _grow(self, ranked: Sequence[tuple[int, ...]], file_type: str | None) -> None:
        """Leave out ever more of the least harmful ones, until guesses so often wrong would not win at no cost."""
        for count in _sizes(len(ranked)):
            if self._spent > self._seconds * _FOR_SETS:
                return
            agreement = self._try(_without(ranked[:count], file_type)).judged.agreement
            if best_guessing(agreement, self._space.curve, 0.0).speed_up <= max(1.0, self._best.speed_up):
                return

    def _improve(self, ranked: Sequence[tuple[int, ...]]) -> None:
        """Change the best one by one group or two, as long as that helps and there is time."""
        improved = True
        while improved:
            improved = False
            best = self._best
            for cut in _neighbours(best.judged.cut, ranked):
                if self._spent > self._seconds:
                    return
                if self._try(cut).speed_up > best.speed_up:
                    improved = True
                    break

    def _try(self, cut: Cut) -> Tried:
        if cut not in self.tried:
            self.tried[cut] = self._space.tried(self._judge(cut))
        return self.tried[cut]

    @property
    def _best(self) -> Tried:
        return max(self.tried.values(), key=_worth)

    @property
    def _spent(self) -> float:
        return self._clock() - self._began


def _worth(tried: Tried) -> float:
    return tried.speed_up


def _sizes(groups: int) -> Iterator[int]:
    """1, 2, 3, 4, 6, 8, 11, 15, ...: all groups but one at most."""
    count = 1
    while count < groups:
        yield count
        count = max(count + 1, math.ceil(count * _GROWTH))


def _without(groups: Sequence[tuple[int, ...]], file_type: str | None) -> Cut:
    return Cut(tuple(sorted(layer for group in groups for layer in group)), file_type)


def _neighbours(cut: Cut, ranked: Sequence[tuple[int, ...]]) -> Iterator[Cut]:
    """One group more, one group less, one in place of another; the likeliest to help first."""
    inside = [group for group in ranked if set(group) <= set(cut.dropped)]
    outside = [group for group in ranked if group not in inside][:_NEIGHBOURS]
    if len(inside) + 1 < len(ranked):
        yield from (_without([*inside, group], cut.file_type) for group in outside)
    for worst in inside[: -_NEIGHBOURS - 1 : -1]:
        others = [group for group in inside if group != worst]
        if others or cut.file_type is not None:
            yield _without(others, cut.file_type)
        yield from (_without([*others, group], cut.file_type) for group in outside)
