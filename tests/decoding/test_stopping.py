"""The table of values is the exact recursion, interpolated; its decisions are those of brute force."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

from localspec.decoding.stopping import Chances, StoppingTable
from tests.decoding.processes import CPU_STEPS, CUDA_CLIFF, FLAT, LINEAR

CURVES = {"steps": CPU_STEPS, "cliff": CUDA_CLIFF, "flat": FLAT, "linear": LINEAR, "falling": [1.0, 2.0, 1.1, 1.9, 1.2]}
THREE_BINS = Chances(
    np.array([0.3, 0.7, 0.97]), np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
)
ONE_BIN = Chances(np.array([0.8]), np.ones((2, 1)))


def brute_force(
    curve: Sequence[float], step: float, rate: float, chances: Chances, longest: int
) -> Callable[[int, int, float], float]:
    """The recursion of the docstring on S itself: the value of one more step, of all drafts that may come of it."""

    @cache
    def going_on(drafted: int, last: int, survival: float) -> float:
        if drafted >= longest:
            return -math.inf
        value = -rate * step
        for found, chance in enumerate(chances.moves[last]):
            kept = survival * chances.acceptance[found]
            stop = -rate * curve[drafted]
            keep = kept + max(-rate * curve[drafted + 1], going_on(drafted + 1, found, kept))
            value += chance * max(stop, keep)
        return float(value)

    return going_on


@pytest.mark.parametrize("chances", [THREE_BINS, ONE_BIN], ids=["three bins", "one bin"])
@pytest.mark.parametrize("rate", [1.0, 1.6])
@pytest.mark.parametrize("name", CURVES)
def test_values_are_those_of_the_exact_recursion(name: str, rate: float, chances: Chances) -> None:
    curve, longest = CURVES[name], 4
    table = StoppingTable(curve, 0.15, rate, chances, longest)
    exact = brute_force(curve, 0.15, rate, chances, longest)

    for drafted in range(longest):
        for last in range(-1, len(chances.acceptance)):
            for survival in (1.0, 0.85, 0.5, 0.2, 0.05):
                wanted = exact(drafted, last, survival)
                assert table.going_on(drafted, last, survival) == pytest.approx(wanted, abs=0.04)


@pytest.mark.parametrize("name", CURVES)
def test_a_first_step_is_made_exactly_where_brute_force_makes_it(name: str) -> None:
    for rate in np.linspace(0.8, 3.0, 12).tolist():
        table = StoppingTable(CURVES[name], 0.15, rate, THREE_BINS, 4)
        gain = brute_force(CURVES[name], 0.15, rate, THREE_BINS, 4)(0, -1, 1.0) + rate * CURVES[name][0]
        if abs(gain) > 0.04:
            assert (table.going_on(0, -1, 1.0) > table.stopping[0]) == (gain > 0)


def test_it_looks_over_a_step_of_the_curve_to_the_cheap_lengths_behind() -> None:
    """Two guesses cost too much and the third is almost free: neither is worth it but both are."""
    curve = [1.0, 1.75, 1.8, 1.85]
    sure = Chances(np.array([0.95]), np.ones((2, 1)))
    nearsighted = StoppingTable(curve, 0.2, 1.2, sure, 1)
    farsighted = StoppingTable(curve, 0.2, 1.2, sure, 3)

    assert nearsighted.going_on(0, -1, 1.0) < nearsighted.stopping[0]
    assert farsighted.going_on(0, -1, 1.0) > farsighted.stopping[0]


def test_nothing_goes_on_beyond_the_longest_draft_or_below_the_least_survival() -> None:
    table = StoppingTable(FLAT, 0.01, 1.0, ONE_BIN, 3)

    assert table.going_on(2, 0, 1.0) > -math.inf
    assert table.going_on(3, 0, 1.0) == -math.inf
    assert table.going_on(31, 0, 1.0) == -math.inf
    assert table.going_on(1, 0, 0.011) > -math.inf
    assert table.going_on(1, 0, 0.01) == -math.inf
    assert table.going_on(1, 0, 1e-30) == -math.inf


def test_a_table_for_no_steps_has_none() -> None:
    table = StoppingTable(FLAT, math.inf, 1.0, ONE_BIN, 0)

    assert table.going_on(0, -1, 1.0) == -math.inf
    assert table.stopping[0] == -1.0


def test_guesses_that_are_never_kept_are_worth_less_than_stopping() -> None:
    table = StoppingTable(FLAT, 0.1, 1.0, Chances(np.array([0.0]), np.ones((2, 1))), 5)

    assert table.going_on(0, -1, 1.0) == pytest.approx(table.stopping[0] - 0.1)


def test_a_longer_draft_may_only_add_worth() -> None:
    for longest in range(1, 31):
        shorter, longer = (StoppingTable(CPU_STEPS, 0.1, 1.3, THREE_BINS, each) for each in (longest, longest + 1))
        assert longer.going_on(0, -1, 1.0) >= shorter.going_on(0, -1, 1.0) - 1e-9
