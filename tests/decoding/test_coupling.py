"""The coupled choice: fair noise, one winner however the distribution is stored, one text whatever is drafted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from localspec.decoding.acceptance import AcceptanceRule, rule_for
from localspec.decoding.coupling import exponentials, hashed, shared_choice
from localspec.decoding.distributions import Certain, Dense, Sparse, padded_weights
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.rounds import Origin
from localspec.decoding.sampling import to_distribution
from localspec.decoding.sampling_settings import SamplingSettings
from tests.decoding.exactness import TEST_ERROR
from tests.decoding.scenarios import FAR, PLAIN, SCENARIOS, TARGET, Scenario, answer_once
from tests.decoding.table_model import Table, TableModel, near

IDS = np.arange(64, dtype=np.uint32)
PENALISED = replace(PLAIN, repetition_penalty=1.4, frequency_penalty=0.4, penalty_window=3, logit_bias=((2, 1.0),))


def noise(seeds: range, positions: range, first_id: int = 0) -> np.ndarray:
    """Words of 64 ids: shape (seeds, positions, 64)."""
    ids = IDS + np.uint32(first_id)
    return np.array([[hashed(ids, seed, position) for position in positions] for seed in seeds])


def p_value_of_uniform(outcomes: np.ndarray, count: int) -> float:
    """Pearson's test that `outcomes` are uniform over 0..count-1."""
    expected = outcomes.size / count
    observed = np.bincount(outcomes.ravel(), minlength=count)
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), count - 1))


@pytest.mark.parametrize("bits", [range(24, 32), range(12, 20), range(8)], ids=["high", "middle", "low"])
@pytest.mark.parametrize(
    ("seeds", "positions", "first_id"),
    [
        (range(100), range(30), 0),
        (range(2), range(1500), 0),
        (range(2**63, 2**63 + 60), range(100_000, 100_050), 151_900),
        # Seeds and positions that differ in one bit only, and cancel each other in an exclusive or.
        (range(0, 64 * 2**32, 2**32), range(0, 64 * 2**20, 2**20), 0),
    ],
)
def test_the_noise_is_uniform(bits: range, seeds: range, positions: range, first_id: int) -> None:
    words = (noise(seeds, positions, first_id) >> bits[0]) & (2 ** len(bits) - 1)

    assert p_value_of_uniform(words, 256) > TEST_ERROR


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["seeds", "positions", "tokens"])
@pytest.mark.parametrize("step", [1, 2, 7, 16])
def test_neighbours_in_seed_position_and_token_are_independent(axis: int, step: int) -> None:
    """The high four bits of two words, one step apart: each of the 256 combinations as often as the others."""
    words = noise(range(48), range(48)) >> 28
    one, other = np.split(words, [step], axis)[1], np.split(words, [words.shape[axis] - step], axis)[0]

    assert p_value_of_uniform(one * 16 + other, 256) > TEST_ERROR


def test_seed_and_position_do_not_stand_for_each_other() -> None:
    words = noise(range(40), range(40)) >> 28
    across = words.transpose(1, 0, 2)
    different = ~np.eye(40, dtype=bool)

    assert p_value_of_uniform(words[different] * 16 + across[different], 256) > TEST_ERROR


def test_one_flipped_bit_of_seed_or_position_flips_half_the_bits() -> None:
    base = hashed(IDS, 12345, 678)
    for bit in range(64):
        for other in (hashed(IDS, 12345 ^ (1 << bit), 678), hashed(IDS, 12345, 678 ^ (1 << bit))):
            flipped = int(np.bitwise_count(base ^ other).sum())
            assert flipped == pytest.approx(1024, abs=6.5 * np.sqrt(2048) / 2)


def test_exponentials_follow_their_formula_and_are_never_0_or_infinite() -> None:
    words = np.array([0, 1, 2**31, 2**32 - 1], np.uint32)

    finishes = exponentials(words)

    assert finishes == pytest.approx([-np.log1p(-(int(word) + 0.5) / 2**32) for word in words])
    assert finishes.min() > 0
    assert finishes.max() == pytest.approx(33 * np.log(2))


def slow_winner(ids: np.ndarray, weights: np.ndarray, seed: int, position: int) -> tuple[int, float]:
    """The winner of the race with every runner's finish worked out, and by how much (relative) it won."""
    with np.errstate(divide="ignore"):
        finishes = exponentials(hashed(ids.astype(np.uint32), seed, position)) / (weights / weights.sum())
    order = np.argsort(finishes, kind="stable")
    return int(ids[order[0]]), float(finishes[order[1]] / finishes[order[0]] - 1)


@pytest.mark.parametrize("size", [1, 5, 64, 1000, 20_011])
@pytest.mark.parametrize("spread", [0.0, 2.0, 30.0])
def test_dense_and_sparse_distributions_choose_the_same_token(size: int, spread: float) -> None:
    rng = np.random.default_rng(size)
    ties = 0
    for position in range(60):
        weights = padded_weights(size)
        logits = rng.normal(0, spread, size)
        weights[:size] = np.exp(logits - logits.max())
        shuffled = rng.permutation(size)
        exact = weights[:size].astype(np.float64)
        listed = Sparse(shuffled, exact[shuffled])
        winner, lead = slow_winner(np.arange(size), exact, 3, position) if size > 1 else (0, 1.0)
        ties += lead < 1e-6
        if lead >= 1e-6:
            assert shared_choice(Dense(weights), 3, position) == winner
            assert shared_choice(listed, 3, position) == winner
    assert ties <= 1


def test_a_certain_distribution_leaves_nothing_to_chance() -> None:
    assert {shared_choice(Certain(9), seed, 0) for seed in range(50)} == {9}


def drafts_of(vocabulary: int) -> dict[str, Table | str]:
    return {
        "close": near(TARGET, 20, 0.3),
        "far": FAR,
        "smaller": FAR[: vocabulary - 2, : vocabulary - 2],
        "itself": TARGET,
        "deterministic": "deterministic",
        "sparse q": "sparse q",
    }


@pytest.mark.parametrize(
    "sampling",
    [
        PLAIN,
        replace(PLAIN, temperature=0.8, top_k=4),
        replace(PLAIN, temperature=1.3, top_p=0.9, min_p=0.05),
        PENALISED,
    ],
    ids=["plain", "top-k", "top-p and min-p", "penalties"],
)
@pytest.mark.parametrize("draft", drafts_of(7))
def test_the_text_is_the_same_with_speculation_on_and_off(draft: str, sampling: SamplingSettings) -> None:
    scenario = Scenario(sampling, draft=drafts_of(7)[draft], answer=24)
    target = TableModel(scenario.target)
    for seed in range(12):
        rule = rule_for("coupled", replace(sampling, seed=seed))
        off = coupled_text(scenario, target, NoDrafter(), rule)
        for length in (1, 4, 16):
            assert coupled_text(replace(scenario, draft_length=length), target, scenario.drafter(), rule) == off


def coupled_text(scenario: Scenario, target: TableModel, drafter: Drafter, rule: AcceptanceRule) -> list[int]:
    return [token for finished in answer_once(scenario, target, drafter, rule) for token in finished.tokens]


def test_different_seeds_give_different_texts() -> None:
    scenario = SCENARIOS["dense"]
    target = TableModel(scenario.target)
    texts = {
        tuple(coupled_text(scenario, target, NoDrafter(), rule_for("coupled", replace(PLAIN, seed=seed))))
        for seed in range(100)
    }

    assert len(texts) > 95


@pytest.mark.parametrize("sampling", [PLAIN, PENALISED, SamplingSettings()], ids=["plain", "penalties", "usual"])
@pytest.mark.parametrize("rule", ["coupled", "rejection", "block"])
def test_a_draft_equal_to_the_target_is_always_accepted(rule: str, sampling: SamplingSettings) -> None:
    scenario = Scenario(sampling, draft=TARGET, answer=40, draft_length=4)
    target = TableModel(TARGET)
    for seed in range(10):
        rounds = answer_once(scenario, target, scenario.drafter(), rule_for(rule, replace(sampling, seed=seed)))
        assert all(finished.accepted == len(finished.drafted) for finished in rounds)
        assert Origin.CORRECTION not in {origin for finished in rounds for origin in finished.origins}


def test_coupled_drafts_are_accepted_as_often_as_the_theory_says() -> None:
    """Daliri 2024, theorem 2: P(accept) >= (1 - TV) / (1 + TV), and the optimum is 1 - TV."""
    rng = np.random.default_rng(1)
    for _ in range(4):
        p, q = rng.dirichlet(np.ones(6), 2)
        of_p, of_q = Sparse(np.arange(6), p), Sparse(np.arange(6), q)
        distance = np.abs(p - q).sum() / 2
        rounds = 2500
        share = np.mean([shared_choice(of_p, 7, i) == shared_choice(of_q, 7, i) for i in range(rounds)])
        slack = 5.5 * 0.5 / np.sqrt(rounds)
        assert (1 - distance) / (1 + distance) - slack <= share <= 1 - distance + slack


def test_p_from_logits_and_its_sparse_twin_agree_through_the_settings() -> None:
    """min-p of nearly 0 keeps everything but goes the sparse way."""
    rng = np.random.default_rng(2)
    dense_settings, sparse_settings = PLAIN, replace(PLAIN, min_p=1e-30)
    for position in range(200):
        logits = rng.normal(0, 3, 500).astype(np.float32)
        one = to_distribution(logits, dense_settings)
        other = to_distribution(logits, sparse_settings)
        assert isinstance(one, Dense)
        assert isinstance(other, Sparse)
        assert shared_choice(one, 11, position) == shared_choice(other, 11, position)
