"""The cheapest schedule in hindsight, against every schedule there is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from localspec.bench.theory import Schedule, accepted_runs, clairvoyant, round_seconds

CPU_STEPS = (1.0, 1.03, 1.22, 1.49, 2.16, 2.25, 2.02, 2.3, 2.5)
STEEP = (1.0, 2.0, 3.0, 4.0, 5.0)
CLIFF = (1.0, 1.0, 1.0, 1.0, 4.0, 4.0, 1.2)


def every_schedule(accepted: Sequence[int], costs: Sequence[float], step: float, longest: int, at: int = 0) -> float:
    """The cheapest of all schedules from position `at` on, by trying each."""
    left = len(accepted) - at
    if left == 0:
        return 0.0
    return min(
        round_seconds(k, costs, step) + every_schedule(accepted, costs, step, longest, at + min(k, accepted[at]) + 1)
        for k in range(min(longest, len(costs) - 1, left - 1) + 1)
    )


@pytest.mark.parametrize("costs", [CPU_STEPS, STEEP, CLIFF])
@pytest.mark.parametrize("step", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("acceptance", [0.2, 0.7, 0.95])
def test_no_schedule_is_cheaper(costs: Sequence[float], step: float, acceptance: float) -> None:
    generator = np.random.default_rng(11)
    for _ in range(4):
        accepted = accepted_runs(list(generator.random(7) < acceptance))
        found = clairvoyant(accepted, costs, step)
        assert found.seconds == pytest.approx(every_schedule(accepted, costs, step, 16))


def test_the_schedule_writes_the_whole_text_in_the_seconds_it_claims() -> None:
    accepted = accepted_runs(list(np.random.default_rng(12).random(200) < 0.7))
    found = clairvoyant(accepted, CPU_STEPS, 0.2)
    at, seconds = 0, 0.0
    for drafted in found.lengths:
        seconds += round_seconds(drafted, CPU_STEPS, 0.2)
        at += min(drafted, accepted[at]) + 1
    assert at == 200
    assert seconds == pytest.approx(found.seconds)


def test_no_fixed_length_is_faster_and_neither_is_none() -> None:
    accepted = accepted_runs(list(np.random.default_rng(13).random(300) < 0.6))
    best = clairvoyant(accepted, CPU_STEPS, 0.2).seconds
    for length in range(9):
        at, seconds = 0, 0.0
        while at < 300:
            drafted = min(length, 300 - at - 1)
            seconds += round_seconds(drafted, CPU_STEPS, 0.2)
            at += min(drafted, accepted[at]) + 1
        assert best <= seconds + 1e-9


def test_a_useless_draft_is_never_asked() -> None:
    assert clairvoyant((0,) * 5, CPU_STEPS, 0.1) == Schedule((0,) * 5, 5.0)


def test_a_perfect_free_draft_is_asked_for_all_that_fits() -> None:
    assert clairvoyant(tuple(range(8, -1, -1)), (1.0,) * 9, 0.0).lengths == (8,)


def test_the_longest_draft_is_respected() -> None:
    assert max(clairvoyant(tuple(range(8, -1, -1)), (1.0,) * 9, 0.0, longest=3).lengths) == 3


def test_an_empty_text_costs_nothing() -> None:
    assert clairvoyant((), CPU_STEPS, 0.1) == Schedule((), 0.0)
