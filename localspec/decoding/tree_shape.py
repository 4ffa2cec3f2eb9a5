"""Which guesses a tree is to hold: arithmetic on what each is worth and what a pass of so many tokens costs.

A round that has n guesses verified, guess i being kept with chance S(i), emits 1 + S(1) + ... + S(n) tokens on average
and takes T(n + 1) seconds, whatever the shape of the tree. With r the tokens a second that are reached anyway, the best
tree has the greatest sum of S - r T(n + 1) (see `stopping`): for each size the guesses of greatest S, and of all sizes
the best. A guess is never surer than the one it follows, so the guesses of greatest S are a tree. (Sequoia, arXiv
2402.12374, and EAGLE-2, arXiv 2406.16858, choose so for a given size.) T is not smooth, so all sizes are looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def best_count(gains: Sequence[float], values: Sequence[float], least: int = 0) -> int:
    """How many of the first `gains` to take, so that their sum and the value of having so many is greatest.

    Args:
        gains: of each, the best first.
        values: of having 0, 1, 2, ... of them; as many are considered as there are values.
        least: take no fewer.

    Returns:
        The smallest of the best counts.
    """
    total, best, best_value = 0.0, 0, float("-inf")
    for count, value in enumerate(values[: len(gains) + 1]):
        if count:
            total += gains[count - 1]
        if count <= least or total + value > best_value:
            best, best_value = count, total + value
    return best


def best_newcomers(
    present: Sequence[float], candidates: Sequence[float], values: Sequence[float], least: int = 0
) -> int:
    """How many of the candidates are among the best guesses, when those that are there may be left out again.

    Args:
        present: chances S of the guesses that are there; falling.
        candidates: of those that could be added; falling.
        values: of having 0, 1, 2, ... guesses verified.
        least: guesses there must be.
    """
    # Of equal chances, what is there stays.
    merged = sorted([*((-each, 0) for each in present), *((-each, 1) for each in candidates)])
    count = best_count([-negative for negative, _ in merged], values, least)
    return sum(new for _, new in merged[:count])


def is_among_best(chance: float, others: Sequence[float], tokens: int) -> bool:
    """Whether a guess of this chance is among the `tokens` best, beside these others; `others` is rising."""
    return len(others) - bisect_left(others, chance) < tokens
