"""All that can come of random numbers, each outcome with its exact probability: no chance, no sampling error.

A program that draws uniform numbers and only compares linear functions of them with constants is run again and again,
once for each way in which these comparisons can go. `Sparse.draw` and the acceptance rules are such programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

Outcome = TypeVar("Outcome")

_NEVER = 1e-15
"""A branch that rounding alone leads into."""


class Explorer:
    """Source of the uniform numbers of one run: it follows a script of how comparisons went, then takes the first way.

    Attributes:
        probability: of all that happened in this run.
    """

    def __init__(self, script: list[bool]) -> None:
        self._script = script
        self._taken: list[bool] = []
        self.probability = 1.0

    def uniform(self) -> _Linear:
        """A number uniform in [0, 1), as far as is known."""
        return _Linear(_Number(self), 1.0, 0.0)

    def decide(self, chance: float) -> bool:
        """Whether something of this chance happens, in this run."""
        if chance <= _NEVER or chance >= 1 - _NEVER:
            return chance > 0.5
        place = len(self._taken)
        happens = self._script[place] if place < len(self._script) else True
        self._taken.append(happens)
        self.probability *= chance if happens else 1 - chance
        return happens

    def next_script(self) -> list[bool] | None:
        """The script of the next run; None when this was the last."""
        taken = list(self._taken)
        while taken and not taken[-1]:
            taken.pop()
        return [*taken[:-1], False] if taken else None


class _Number:
    """A uniform number, known to lie in [low, high)."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        self._low, self._high = 0.0, 1.0

    def is_below(self, bound: float) -> bool:
        chance = (bound - self._low) / (self._high - self._low)
        if self._explorer.decide(min(1.0, max(0.0, chance))):
            self._high = min(self._high, max(bound, self._low))
            return True
        self._low = max(self._low, min(bound, self._high))
        return False


class _Linear:
    """factor x number + offset."""

    def __init__(self, number: _Number, factor: float, offset: float) -> None:
        self._number, self._factor, self._offset = number, factor, offset

    def __mul__(self, factor: float) -> _Linear:
        return _Linear(self._number, self._factor * float(factor), self._offset * float(factor))

    def __sub__(self, amount: float) -> _Linear:
        return _Linear(self._number, self._factor, self._offset - float(amount))

    def __lt__(self, bound: float) -> bool:
        if self._factor == 0:
            return self._offset < bound
        return self._number.is_below((float(bound) - self._offset) / self._factor)


def outcomes(run: Callable[[Explorer], Outcome]) -> Iterator[tuple[Outcome, float]]:
    """Every outcome of `run`, once for each way it can come about, with the probability of that way."""
    script: list[bool] | None = []
    while script is not None:
        explorer = Explorer(script)
        outcome = run(explorer)
        yield outcome, explorer.probability
        script = explorer.next_script()
