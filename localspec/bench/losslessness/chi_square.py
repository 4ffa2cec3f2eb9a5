"""Pearson's chi-square test, its tail, and Holm's correction for many tests at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEAST_EXPECTED = 25.0
"""Outcomes expected less often are counted together: the limit distribution does not hold for rare ones."""

_MOST_TERMS = 10_000
_TINY = 1e-300
_PRECISION = 1e-15


def upper_tail(statistic: float, degrees: int) -> float:
    """The probability of a chi-square of so many degrees of freedom at or above `statistic`: Q(degrees/2, statistic/2).

    The regularised incomplete gamma function, by its series below a + 1 and by its continued fraction above (Lentz's
    method; Press et al., "Numerical Recipes", section 6.2). In plain Python: scipy would be 100 MB for one function.
    """
    a, x = degrees / 2, statistic / 2
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    return 1.0 - front * _series(a, x) if x < a + 1 else front * _fraction(a, x)


def _series(a: float, x: float) -> float:
    term = total = 1 / a
    for n in range(1, _MOST_TERMS):
        term *= x / (a + n)
        total += term
        if term < total * _PRECISION:
            break
    return total


def _fraction(a: float, x: float) -> float:
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    h = d
    for n in range(1, _MOST_TERMS):
        step = n * (a - n)
        b += 2
        d = 1 / (step * d + b or _TINY)
        c = b + step / c or _TINY
        h *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return h


def cells(expected: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """A cell for each outcome, and how many cells: its own when it is expected often enough, else one for the rare."""
    often = expected >= LEAST_EXPECTED
    cell = np.where(often, np.cumsum(often) - 1, often.sum())
    rare = expected[~often].sum()
    if 0 < rare < LEAST_EXPECTED and often.any():
        # The rare ones together are still rare: they join the least of the frequent.
        frequent = np.where(often, expected, np.inf)
        cell = np.where(often, cell, cell[frequent.argmin()])
    return cell, int(cell.max()) + 1


def pearson(probabilities: NDArray[np.float64], observed: NDArray[np.int64]) -> float:
    """The p-value of independent draws, counted in `observed`, from these probabilities; 1 with nothing to test."""
    drawn = int(observed.sum())
    cell, count = cells(probabilities * drawn)
    expected = np.bincount(cell, probabilities * drawn, count)
    counted = np.bincount(cell, observed, count)
    present = expected > 0
    if present.sum() < 2:
        return 1.0
    statistic = float(((counted - expected)[present] ** 2 / expected[present]).sum())
    return upper_tail(statistic, int(present.sum()) - 1)


def share_test(successes: int, trials: int, probability: float) -> float | None:
    """The two-sided p-value of a count, by the normal limit; None where the limit does not hold."""
    variance = trials * probability * (1 - probability)
    if variance < LEAST_EXPECTED:
        return None
    deviation = abs(successes - trials * probability) / math.sqrt(variance)
    return math.erfc(deviation / math.sqrt(2))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected by Holm 1979: rejecting those at or below e makes any false rejection at most e likely."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [1.0] * len(p_values)
    greatest = 0.0
    for rank, index in enumerate(order):
        greatest = max(greatest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = greatest
    return corrected
