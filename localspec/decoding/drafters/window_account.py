"""Whether a lookahead window pays, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from localspec.decoding.drafters.jacobi_window import WindowShape

WINDOWS: Mapping[WindowShape, float] = MappingProxyType(
    {
        WindowShape(3, 3): 0.12,
        WindowShape(5, 3): 0.17,
        WindowShape(7, 3): 0.20,
        WindowShape(5, 4): 0.19,
        WindowShape(7, 4): 0.21,
        WindowShape(5, 5): 0.18,
    }
)
"""Windows to choose from, and the tokens a round that each is expected to bring beyond what the text itself brings.

Measured on SmolLM2-135M (see `lookahead_levels`); the smallest is estimated. With (7, 3) and ten guesses a round there
were 1.78 tokens a round at temperature 0 and 1.33 at 0.8; without a window, with the n-grams of the text alone, there
were 1.31 and 1.13.
"""

_AT_FIRST = 2.0
"""Tokens' time that windows may lose before they have brought anything."""

_MOST = 3.0
"""The most that is in the account: what a window brought in one passage is not spent on a long one where it brings
nothing. So no answer is delayed by more than this."""

_SAVED = 0.01
"""What is put into the account in a round without a window: a hundredth of its time, for a trial now and then."""

_TRIAL = 10
"""Rounds that there must be enough for to begin: the first two or three only fill the window."""


def best_window(pass_costs: Sequence[float]) -> WindowShape | None:
    """The window that promises most beyond its cost, if any is cheap enough to be tried.

    Args:
        pass_costs: what a pass of 1, 2, ... tokens takes, in tokens.
    """

    def promise(shape: WindowShape) -> float:
        return WINDOWS[shape] - (pass_costs[shape.tokens] - pass_costs[0])

    best = max(WINDOWS, key=promise)
    return best if pass_costs[best.tokens] - pass_costs[0] <= _MOST / _TRIAL else None


def largest_window(room: int) -> WindowShape:
    """The window that promises most of those of at most so many tokens; the smallest where none is so small."""
    fitting = [shape for shape in WINDOWS if shape.tokens <= room]
    return max(fitting, key=WINDOWS.__getitem__) if fitting else min(WINDOWS, key=lambda shape: shape.tokens)


class WindowAccount:
    """Pays what a window costs from what windows brought; in tokens, time being worth what it usually brings.

    However wrong the expectation may be, no more is lost than was put in: something at first, a little for trials, and
    what windows brought before.
    """

    def __init__(self) -> None:
        self._balance = _AT_FIRST
        self._open = False

    def affords(self, price: float) -> bool:
        """Whether the window of this round, which takes so much more time, is to ride; asked once a round."""
        self._open = self._balance > (0.0 if self._open else _TRIAL * price)
        if not self._open:
            self._add(_SAVED)
        return self._open

    def pay(self, price: float) -> None:
        """It rode."""
        self._balance -= price

    def earn(self, tokens: float) -> None:
        """Guesses that it had found were kept; less what it took to verify all of them, so it may be negative."""
        self._add(tokens)

    def _add(self, tokens: float) -> None:
        self._balance = min(_MOST, self._balance + tokens)
