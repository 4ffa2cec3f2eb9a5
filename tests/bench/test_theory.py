"""The papers' formulas: their worked examples, their limits, and simulations of what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from localspec.bench.theory import (
    accepted_runs,
    arithmetic_increase,
    arithmetic_intensity,
    best_draft_length,
    expected_tokens,
    kv_bytes_per_token,
    measured_speed_up,
    overlap,
    residual,
    ridge_point,
    round_seconds,
    seconds_per_token_bound,
    speed_up,
    tokens_per_second_bound,
    total_variation,
)

FLAT = (1.0,) * 17
"""A machine on which a wide pass costs no more than a narrow one."""

CPU_STEPS = (1.0, 1.03, 1.22, 1.49, 2.16, 2.25, 2.02, 2.3, 2.5, 2.6, 2.7, 2.76, 2.9, 3.0, 3.1, 3.25)
"""As measured on two cores: neither flat nor smooth."""


@pytest.mark.parametrize(
    ("acceptance", "drafted", "tokens"), [(0.8, 4, 3.36), (0.5, 4, 1.94), (0.8, 8, 4.33), (0.642, 4, 2.49)]
)
def test_expected_tokens_of_the_literature(acceptance: float, drafted: int, tokens: float) -> None:
    assert expected_tokens(acceptance, drafted) == pytest.approx(tokens, abs=0.005)


def test_the_best_length_of_the_literature_is_3_at_1_78_times() -> None:
    best = best_draft_length(0.642, FLAT, 0.1)
    assert best.drafted == 3
    assert best.speed_up == pytest.approx(1.78, abs=0.005)
    assert speed_up(0.642, 3, 0.1) == best.speed_up


def test_a_free_draft_costs_half_as_much_arithmetic_again_and_nearly_doubles_the_speed() -> None:
    assert arithmetic_increase(0.6, 2) == pytest.approx(1.53, abs=0.005)
    assert speed_up(0.6, 2, 0.0) == pytest.approx(1.96, abs=0.005)


def test_the_draft_s_own_arithmetic_comes_on_top() -> None:
    assert arithmetic_increase(0.6, 2, 0.5) - arithmetic_increase(0.6, 2) == pytest.approx(2 * 0.5 / 1.96)


def test_llama_3_1_8b_in_16_bits_on_3_35_terabytes_a_second() -> None:
    size = 8.03e9 * 2
    assert seconds_per_token_bound(size, 3.35e12) == pytest.approx(4.8e-3, abs=0.05e-3)
    assert tokens_per_second_bound(size, 3.35e12) == pytest.approx(209, abs=0.5)


def test_a_7b_model_in_16_bits_on_2_terabytes_a_second() -> None:
    assert seconds_per_token_bound(14e9, 2e12) == pytest.approx(7e-3)
    assert tokens_per_second_bound(14e9, 2e12) == pytest.approx(143, abs=0.5)


def test_two_distributions_of_the_literature() -> None:
    p, q = (0.5, 0.3, 0.2), (0.8, 0.1, 0.1)
    assert overlap(p, q) == pytest.approx(0.7)
    assert residual(p, q) == pytest.approx((0, 2 / 3, 1 / 3))


@pytest.mark.parametrize("drafted", [0, 1, 4, 16])
def test_expected_tokens_at_the_ends(drafted: int) -> None:
    assert expected_tokens(0.0, drafted) == 1
    assert expected_tokens(1.0, drafted) == drafted + 1
    assert expected_tokens(1 - 1e-9, drafted) == pytest.approx(drafted + 1, rel=1e-6)


@pytest.mark.parametrize("acceptance", [0.1, 0.5, 0.9])
def test_expected_tokens_is_the_papers_fraction_and_grows_to_its_limit(acceptance: float) -> None:
    values = [expected_tokens(acceptance, drafted) for drafted in range(17)]
    assert values == pytest.approx([(1 - acceptance ** (k + 1)) / (1 - acceptance) for k in range(17)])
    assert values == sorted(values)
    assert expected_tokens(acceptance, 2000) == pytest.approx(1 / (1 - acceptance))


def test_more_acceptance_is_never_slower_nor_dearer() -> None:
    acceptances = np.linspace(0, 1, 41)
    for drafted in (1, 3, 8):
        gains = [measured_speed_up(a, drafted, CPU_STEPS, 0.3) for a in acceptances]
        work = [arithmetic_increase(a, drafted, 0.3) for a in acceptances]
        assert gains == sorted(gains)
        assert work == sorted(work, reverse=True)
        assert work[-1] == pytest.approx(1 + drafted / (drafted + 1) * 0.3)


@pytest.mark.parametrize(("acceptance", "drafted"), [(-0.1, 2), (1.1, 2), (math.nan, 2), (0.5, -1)])
def test_what_is_no_probability_or_no_length_is_refused(acceptance: float, drafted: int) -> None:
    with pytest.raises(ValueError, match="possible"):
        expected_tokens(acceptance, drafted)


@pytest.mark.parametrize(("acceptance", "drafted"), [(0.3, 2), (0.642, 4), (0.9, 8)])
def test_a_simulation_of_rounds_agrees(acceptance: float, drafted: int) -> None:
    # Six standard errors of the mean: wrong once in 500 million runs, and the seed is fixed.
    rounds = 200_000
    kept = np.random.default_rng(5).random((rounds, drafted)) < acceptance
    tokens = np.minimum.accumulate(kept, axis=1).sum(axis=1) + 1
    assert tokens.mean() == pytest.approx(expected_tokens(acceptance, drafted), abs=6 * tokens.std() / rounds**0.5)


def test_with_a_flat_curve_measured_and_theoretical_speed_up_are_one() -> None:
    for drafted in range(9):
        assert measured_speed_up(0.7, drafted, FLAT, 0.2) == pytest.approx(speed_up(0.7, drafted, 0.2))


def test_the_unit_of_the_costs_does_not_matter() -> None:
    in_other_unit = [seconds * 0.111 for seconds in CPU_STEPS]
    first, second = best_draft_length(0.7, CPU_STEPS, 0.3), best_draft_length(0.7, in_other_unit, 0.3 * 0.111)
    assert first.drafted == second.drafted
    assert first.speed_up == pytest.approx(second.speed_up)


def test_no_draft_is_the_best_length_when_none_pays() -> None:
    assert best_draft_length(0.0, FLAT, 0.0) == best_draft_length(0.5, CPU_STEPS, 2.0)
    assert best_draft_length(0.0, FLAT, 0.01).drafted == 0
    assert best_draft_length(0.0, FLAT, 0.01).speed_up == 1


@pytest.mark.parametrize("acceptance", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("draft_step", [0.0, 0.1, 0.5])
def test_no_other_length_beats_the_best_one(acceptance: float, draft_step: float) -> None:
    best = best_draft_length(acceptance, CPU_STEPS, draft_step)
    others = [measured_speed_up(acceptance, k, CPU_STEPS, draft_step) for k in range(len(CPU_STEPS))]
    assert best.speed_up == max(others) == others[best.drafted]


def test_a_draft_cheaper_than_its_acceptance_always_pays_as_corollary_3_9_says() -> None:
    for acceptance, cost in [(0.3, 0.29), (0.5, 0.1), (0.9, 0.8)]:
        assert best_draft_length(acceptance, FLAT, cost).speed_up >= (1 + acceptance) / (1 + cost)


def test_a_pass_that_was_not_measured_is_not_guessed() -> None:
    with pytest.raises(ValueError, match="5 tokens was not measured"):
        round_seconds(4, (1.0, 1.1, 1.2, 1.3), 0.1)


def test_overlap_is_one_less_the_total_variation_and_the_share_that_is_kept() -> None:
    generator = np.random.default_rng(7)
    p, q = generator.dirichlet(np.ones(50), size=2)
    assert overlap(p, q) == pytest.approx(1 - total_variation(p, q))
    assert overlap(p, p) == pytest.approx(1)
    assert overlap((1, 0), (0, 1)) == 0
    # Six standard errors, the seed is fixed.
    draws = 200_000
    guesses = generator.choice(50, size=draws, p=q)
    kept = generator.random(draws) * q[guesses] < p[guesses]
    assert kept.mean() == pytest.approx(overlap(p, q), abs=6 * 0.5 / draws**0.5)


def test_what_is_kept_and_what_is_corrected_make_up_the_target() -> None:
    generator = np.random.default_rng(8)
    p, q = generator.dirichlet(np.ones(50), size=2)
    assert np.minimum(p, q) + (1 - overlap(p, q)) * residual(p, q) == pytest.approx(p)


def test_equal_distributions_leave_nothing_to_correct() -> None:
    with pytest.raises(ValueError, match="nothing to correct"):
        residual((0.5, 0.5), (0.5, 0.5))


def test_keys_and_values_of_llama_3_1_8b() -> None:
    assert kv_bytes_per_token(layers=32, kv_heads=8, head_length=128) == 131072


def test_at_the_ridge_memory_and_arithmetic_take_equally_long() -> None:
    operations, bytes_read, bandwidth = 3e9, 1.5e9, 28e9
    speed = arithmetic_intensity(operations, bytes_read) * bandwidth
    assert ridge_point(speed, bandwidth) == pytest.approx(arithmetic_intensity(operations, bytes_read))
    assert operations / speed == pytest.approx(seconds_per_token_bound(bytes_read, bandwidth))


def test_runs_of_agreement_are_counted_to_their_end() -> None:
    assert accepted_runs([True, True, False, True]) == (2, 1, 0, 1)
    assert accepted_runs([]) == ()
