"""How sure the n-gram pool is of a token, in classes whose acceptance was measured."""

from __future__ import annotations

from enum import IntEnum


class Standing(IntEnum):
    """What speaks for the n-grams that a token of a candidate belongs to."""

    FOUND = 0
    """The window found one once."""
    FOUND_AGAIN = 1
    """The window found it, or another that begins so, more than once."""
    WRITTEN = 2
    """It stands in the text."""
    WRITTEN_AGAIN = 3
    """It stands there more than once."""


class Order(IntEnum):
    """Whether the pool knows anything else for the same place."""

    ALONE = 0
    FIRST = 1
    """The first of several."""
    LATER = 2
    """Tried when those before it were refused."""


LOOKAHEAD_PRIORS = (
    *(0.25, 0.20, 0.08, 0.35, 0.28, 0.10, 0.35, 0.25, 0.10, 0.60, 0.35, 0.12),
    *(0.55, 0.40, 0.12, 0.65, 0.45, 0.15, 0.60, 0.40, 0.15, 0.80, 0.55, 0.15),
)
"""The acceptance to expect of each level: first of a first token, then of one behind a kept one."""


def level(standing: Standing, order: Order, depth: int) -> int:
    """The level of a token at `depth` (0 is the first) of the candidates."""
    return (0 if depth == 0 else len(Standing) * len(Order)) + len(Order) * standing + order
