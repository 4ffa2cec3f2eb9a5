"""Certain, sparse and dense distributions agree with plain float64 arithmetic, and never share memory while alive."""

from __future__ import annotations

import gc
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from localspec.decoding.distributions import (
    LANES,
    MOST_SPARE,
    Certain,
    Dense,
    Distribution,
    Sparse,
    padded_weights,
    probabilities_at,
    residual,
)

SIZES = [1, 2, 63, 64, 65, 127, 1000, 2003]
JUST_BELOW_1 = math.nextafter(1.0, 0.0)
FLOAT32 = 2e-6
"""Sums of float32 weights: a relative error of 6e-8 for each of the 64 additions of a column, at most."""


def dense(values: NDArray[np.float64]) -> Dense:
    weights = padded_weights(values.size)
    weights[: values.size] = values
    return Dense(weights)


def sparse(values: NDArray[np.float64], rng: np.random.Generator) -> Sparse:
    ids = rng.permutation(values.size)
    return Sparse(ids, values[ids].astype(np.float64))


def random_values(rng: np.random.Generator, size: int, zeros: float = 0.3) -> NDArray[np.float64]:
    """Weights over many powers of ten, some of them 0, exactly representable in float32."""
    values = np.exp(rng.normal(0, 4, size)) * (rng.random(size) >= zeros)
    values[rng.integers(size)] = 1.0
    return values.astype(np.float32).astype(np.float64)


def probabilities_of(distribution: Distribution, size: int) -> NDArray[np.float64]:
    return np.array([distribution.probability(token) for token in range(size)])


@pytest.mark.parametrize("size", SIZES)
def test_probability_support_and_likeliest_agree_with_float64(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(5):
        values = random_values(rng, size)
        exact = values / math.fsum(values)
        for distribution in (dense(values), sparse(values, rng)):
            ids, probabilities = distribution.support()
            order = np.argsort(ids)
            assert ids[order].tolist() == np.flatnonzero(values).tolist()
            assert probabilities[order] == pytest.approx(exact[values > 0], rel=FLOAT32)
            assert probabilities_of(distribution, size) == pytest.approx(exact, rel=FLOAT32)
            assert distribution.likeliest() == int(values.argmax())
            asked = rng.integers(0, size + 200, 50)
            wanted = [exact[token] if token < size else 0.0 for token in asked]
            assert probabilities_at(distribution, asked) == pytest.approx(wanted, rel=FLOAT32)


def test_a_certain_distribution_has_one_token() -> None:
    certain = Certain(5)

    assert [certain.probability(token) for token in (4, 5)] == [0.0, 1.0]
    assert {certain.draw(u) for u in (0.0, 0.5, JUST_BELOW_1)} == {certain.likeliest()} == {5}
    assert [part.tolist() for part in certain.support()] == [[5], [1.0]]
    assert probabilities_at(certain, np.array([5, 4, 5, 900])).tolist() == [1.0, 0.0, 1.0, 0.0]


def test_nothing_has_a_probability_beyond_the_vocabulary() -> None:
    for token in (3, 63, 64, 10_000):
        assert dense(np.ones(3)).probability(token) == 0.0
        assert Sparse(np.arange(3), np.ones(3)).probability(token) == 0.0


def test_the_smallest_of_equally_likely_ids_is_the_likeliest() -> None:
    assert dense(np.array([0.0, 2.0, 1.0, 2.0])).likeliest() == 1
    assert Sparse(np.array([9, 3, 7]), np.array([2.0, 2.0, 1.0])).likeliest() == 3


@pytest.mark.parametrize("size", SIZES)
def test_every_token_owns_a_share_of_the_quantiles_equal_to_its_probability(size: int) -> None:
    """Each token's quantiles are one interval, so on a grid of n its count is within 1 of n times its probability."""
    rng = np.random.default_rng(size)
    values = random_values(rng, size)
    exact = values / math.fsum(values)
    steps = 4000
    for distribution in (dense(values), sparse(values, rng)):
        drawn = [distribution.draw((step + 0.5) / steps) for step in range(steps)]
        counts = np.bincount(drawn, minlength=size)
        assert np.abs(counts - steps * exact).max() <= 1 + steps * FLOAT32


@pytest.mark.parametrize("size", SIZES)
def test_a_token_of_weight_0_is_never_drawn(size: int) -> None:
    rng = np.random.default_rng(size)
    quantiles = [0.0, 5e-324, 2.0**-53, 0.5, JUST_BELOW_1, *rng.random(50)]
    for zeros in (0.5, 0.98, 1.0):
        values = random_values(rng, size, zeros)
        for distribution in (dense(values), sparse(values, rng)):
            assert all(values[distribution.draw(u)] > 0 for u in quantiles)


@pytest.mark.parametrize("only", [0, 1, 63, 64, 99])
def test_the_ends_of_the_quantiles_reach_the_only_token_there_is(only: int) -> None:
    values = np.zeros(100)
    values[only] = 1e-30
    for distribution in (dense(values), Sparse(np.arange(100), values)):
        assert {distribution.draw(u) for u in (0.0, 0.5, JUST_BELOW_1)} == {only}


def test_the_last_quantile_is_the_last_token_that_adds_anything() -> None:
    """With weights so small that the cumulative sum does not feel them, rounding must not run over the end."""
    values = np.array([1.0, *[1e-20] * 9, 0.0])

    assert Sparse(np.arange(11), values).draw(JUST_BELOW_1) == 0
    assert dense(values).draw(JUST_BELOW_1) in range(10)


@pytest.mark.parametrize("kinds", ["dd", "ds", "sd", "ss"])
@pytest.mark.parametrize(("size", "draft_size"), [(5, 5), (65, 65), (200, 130), (130, 200), (1000, 1064)])
def test_the_residual_is_the_positive_part_of_p_minus_q(kinds: str, size: int, draft_size: int) -> None:
    rng = np.random.default_rng(size + draft_size)
    make = {"d": dense, "s": lambda values: sparse(values, rng)}
    for _ in range(10):
        p_values, q_values = random_values(rng, size), random_values(rng, draft_size)
        # q is 0 beyond the target's vocabulary, as `ModelDrafter` makes sure.
        q_values[size:] = 0.0
        q_values[0] += 1.0
        p, q = make[kinds[0]](p_values), make[kinds[1]](q_values)
        claimed = np.zeros(size)
        claimed[: min(size, draft_size)] = (q_values / math.fsum(q_values))[:size]
        excess = np.maximum(p_values / math.fsum(p_values) - claimed, 0)

        left = residual(p, q, rejected=0)

        assert probabilities_of(left, size) == pytest.approx(excess / excess.sum(), abs=2 * FLOAT32 / excess.sum())
        assert np.count_nonzero(probabilities_of(left, size)) <= np.count_nonzero(p_values)


@pytest.mark.parametrize("make", [dense, lambda values: Sparse(np.arange(values.size), values)])
def test_after_a_deterministic_guess_the_residual_is_p_without_it(make) -> None:
    values = np.array([0.0, 3.0, 1.0, 4.0])
    for q in (None, Certain(3)):
        left = residual(make(values), q, rejected=3)
        assert [left.probability(token) for token in range(4)] == pytest.approx([0, 0.75, 0.25, 0])


def test_the_residual_of_a_certain_p_is_p() -> None:
    p = Certain(2)

    assert residual(p, None, rejected=1) is p
    assert residual(p, dense(np.ones(5)), rejected=1) is p


def test_when_nothing_is_left_of_the_residual_it_is_p_itself() -> None:
    values = np.array([0.1, 0.2, 0.7])
    for p, q in (
        (dense(values), dense(values)),
        (Sparse(np.arange(3), values), Sparse(np.arange(3), values)),
        (dense(np.array([0.0, 1.0])), None),
        (Sparse(np.array([1]), np.ones(1)), Certain(1)),
    ):
        assert residual(p, q, rejected=1) is p


def test_the_residual_never_holds_what_q_gives_enough_of() -> None:
    """In exact arithmetic on the very float32 weights: rounding may not turn a token with p < q into a possible one."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        p_values, q_values = np.exp(rng.normal(0, 1, (2, 40))).astype(np.float32).astype(np.float64)
        left = probabilities_of(residual(dense(p_values), dense(q_values), 0), 40)
        p_total, q_total = sum(map(Fraction, p_values)), sum(map(Fraction, q_values))
        for token in np.flatnonzero(left):
            ratio = Fraction(p_values[token]) / p_total / (Fraction(q_values[token]) / q_total)
            assert ratio > 1 - Fraction(1, 10**6)


def test_arrays_are_used_again_but_never_while_a_distribution_lives() -> None:
    """Distributions come and go in random order, residuals among them; the living keep their values to the bit."""
    rng = np.random.default_rng(0)
    sizes = (50, 64, 300)
    alive: list[tuple[Dense, NDArray[np.float32]]] = []
    for _ in range(2000):
        while len(alive) > rng.integers(2, 20):
            alive.pop(rng.integers(len(alive)))
        if len(alive) > 1 and rng.random() < 0.4:
            p, q = (alive[rng.integers(len(alive))][0] for _ in range(2))
            made = residual(p, q, rejected=0)
        else:
            made = dense(random_values(rng, int(rng.choice(sizes))))
        if isinstance(made, Dense) and all(made is not old for old, _ in alive):
            alive.append((made, made.weights.copy()))
        del made
        assert all(np.array_equal(distribution.weights, weights) for distribution, weights in alive)
        assert len({distribution.weights.ctypes.data for distribution, _ in alive}) == len(alive)


def test_what_a_distribution_handed_out_outlives_it() -> None:
    distribution = dense(np.array([1.0, 0.0, 3.0]))
    ids, probabilities = distribution.support()
    del distribution
    gc.collect()
    for _ in range(MOST_SPARE + 1):
        padded_weights(3)[:] = 9.0

    assert ids.tolist() == [0, 2]
    assert probabilities.tolist() == [0.25, 0.75]


def test_spare_arrays_carry_nothing_over_into_the_padding() -> None:
    full = padded_weights(2 * LANES)
    full[:] = 7.0
    Dense(full)

    again = padded_weights(LANES + 1)

    assert again.size == 2 * LANES
    assert not again[LANES + 1 :].any()
    again[: LANES + 1] = 1.0
    assert Dense(again).total == LANES + 1


def test_no_more_arrays_are_kept_than_a_round_needs() -> None:
    before = [dense(np.ones(777)) for _ in range(MOST_SPARE * 2)]
    before.clear()
    fresh = [padded_weights(777) for _ in range(MOST_SPARE * 2)]

    assert len({weights.ctypes.data for weights in fresh}) == len(fresh)
