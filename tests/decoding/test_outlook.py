"""The outlook agrees with the theory it simplifies to, and says what a person wants to know: whether guesses pay."""

from __future__ import annotations

import pytest

from localspec.bench.theory import measured_speed_up
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.outlook import outlook
from localspec.decoding.pass_costs import PassCosts
from tests.decoding.processes import CPU_STEPS, CUDA_CLIFF, FLAT, LINEAR

CURVES = {"steps": CPU_STEPS, "cliff": CUDA_CLIFF, "flat": FLAT, "linear": LINEAR}


def costs(curve: list[float], step: float) -> PassCosts:
    return PassCosts(dict(enumerate(curve, 1)), {1: step})


@pytest.mark.parametrize("acceptance", [0.0, 0.4, 0.8, 1.0])
@pytest.mark.parametrize("step", [0.02, 0.2, 0.9])
@pytest.mark.parametrize("name", CURVES)
def test_the_best_draft_is_the_one_of_leviathans_theory_with_measured_costs(
    name: str, step: float, acceptance: float
) -> None:
    found = outlook(acceptance, costs(CURVES[name], step))

    speed_ups = [measured_speed_up(acceptance, length, CURVES[name], step) for length in range(LONGEST_DRAFT + 1)]
    assert found.speed_up == pytest.approx(max(speed_ups))
    assert speed_ups[found.draft_length] == pytest.approx(max(speed_ups))


@pytest.mark.parametrize("name", ["steps", "cliff", "flat"])
def test_guesses_pay_from_the_break_even_on_and_not_below(name: str) -> None:
    measured = costs(CURVES[name], 0.2)
    break_even = outlook(0.5, measured).break_even
    assert break_even is not None

    assert outlook(break_even + 1e-4, measured).draft_length > 0
    assert outlook(break_even - 1e-4, measured).draft_length == 0


def test_without_a_draft_model_or_with_one_as_slow_as_the_target_no_acceptance_pays() -> None:
    for measured in (PassCosts({1: 1.0, 32: 1.0}, {}), costs(FLAT, 1.0), costs(LINEAR, 0.2)):
        assert outlook(0.9, measured).break_even is None
        assert outlook(0.9, measured).draft_length == 0
        assert outlook(0.9, measured).speed_up == 1.0


def test_a_rule_expects_less_after_guesses_that_were_refused() -> None:
    knowledge = Knowledge()
    rule = AdaptiveLength(costs(CPU_STEPS, 0.2), knowledge, greedy=True)
    before = rule.outlook()
    for level in range(11):
        for _ in range(30):
            knowledge.calibrations["model"].observe(level, kept=False)

    assert before.draft_length > 0
    assert rule.outlook().acceptance < before.acceptance / 2
    assert rule.outlook().draft_length == 0
    assert rule.outlook().break_even == before.break_even
