"""Emitted tokens have the target's own distribution, and a rule with any known error is found out by the same check.

Every token of many answers, given through the real loop, is compared with the exact distribution of a slow reference,
apart for each place in the round (first, second, ..., last drafted, bonus) and last token. A correct program fails with
a probability below 1e-6 over all seeds; the seeds are fixed, so the verdict is always the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from localspec.bench.losslessness.planted import OpenBlock, OpenRejection
from localspec.decoding.acceptance import AcceptanceRule, Rejection, Typical, rule_for
from localspec.decoding.distributions import Dense, Distribution, Sparse, padded_weights, residual
from localspec.decoding.rounds import Draft
from localspec.decoding.sampling_settings import SamplingSettings
from tests.decoding.exactness import find_error
from tests.decoding.planted_errors import PLANTED, Claims
from tests.decoding.scenarios import (
    PLAIN,
    SCENARIOS,
    RuleMaker,
    Scenario,
    gather,
    seeds_whose_text_drafts_change,
)

ANSWERS = 400
"""Enough to find every planted error but the weakest."""

MORE_ANSWERS = {
    ("dense", "rejection"): 600,
    ("far draft", "rejection"): 1300,
    ("few tokens, two blocks", "block"): 2400,
    ("few tokens, two longer blocks", "block"): 1200,
    ("dense", "coupled"): 900,
}
"""As many as the weakest planted error of the rule takes there."""

ONE_RULE_WILL_DO = frozenset({
    "cold", "hot", "top-k beyond the vocabulary", "min-p", "top-k and top-p", "top-p and min-p", "repetition penalty",
    "presence penalty", "frequency penalty", "penalties over the whole text", "logit bias",
    "smaller draft vocabulary, top-k", "larger draft vocabulary, top-p", "deterministic draft, top-k",
    "sparse q, top-p", "dense q, top-p", "wide, top-p",
})  # fmt: skip
"""They differ from others in settings alone: a rule sees distributions, and no more of the settings."""

FOR_NOISE = ("dense", "top-k", "everything", "order 2", "few tokens, two blocks", "wide", "wide, top-k", "wide, top-p")
"""Under the coupled rule drafts change no text (see below), so what is to be seen is how the noise chooses."""

CASES = [
    *((name, "block") for name in SCENARIOS),
    *((name, "rejection") for name in SCENARIOS if name not in ONE_RULE_WILL_DO),
    *((name, "coupled") for name in FOR_NOISE),
]


def error_in(scenario: Scenario, rule: str, answers: int, rule_maker: RuleMaker = rule_for) -> str | None:
    """The check: what is wrong with the tokens that come out, or None."""
    tally = gather(scenario, rule, answers, rule_maker)
    return find_error(tally.tests(), tally)


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_emitted_tokens_have_the_targets_distribution(name: str, rule: str) -> None:
    assert error_in(SCENARIOS[name], rule, MORE_ANSWERS.get((name, rule), ANSWERS)) is None


@pytest.mark.parametrize("name", SCENARIOS)
def test_under_the_coupled_rule_drafts_change_no_text(name: str) -> None:
    assert seeds_whose_text_drafts_change(SCENARIOS[name], answers=40) == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_at_temperature_0_every_token_is_the_targets_likeliest(name: str) -> None:
    scenario = SCENARIOS[name]
    cold = replace(scenario, sampling=replace(scenario.sampling, temperature=0.0))

    for rule in ("auto", "greedy", "rejection", "block", "coupled", "typical"):
        assert error_in(cold, rule, answers=1) is None


@pytest.mark.parametrize("name", PLANTED)
def test_a_rule_with_an_error_is_found_out(name: str) -> None:
    planted = PLANTED[name]

    assert error_in(planted.scenario, planted.rule, planted.answers, planted.rule_maker) is not None


@pytest.mark.parametrize(("rule", "frame"), [("rejection", OpenRejection), ("block", OpenBlock)])
def test_the_frame_of_the_planted_errors_is_itself_right(rule: str, frame: Callable[[int], AcceptanceRule]) -> None:
    scenario = SCENARIOS["far draft"]

    assert error_in(scenario, rule, ANSWERS, lambda _, sampling: frame(sampling.seed or 0)) is None


def test_typical_acceptance_is_called_lossy_and_is() -> None:
    assert not Typical(0).lossless
    assert error_in(SCENARIOS["dense"], "typical", ANSWERS) is not None


@pytest.mark.parametrize("name", ["greedy", "rejection", "block", "coupled"])
def test_the_exact_rules_are_called_lossless(name: str) -> None:
    assert rule_for(name, replace(PLAIN, temperature=0.0 if name == "greedy" else 1.0)).lossless


def test_a_drawn_guess_may_be_declared_deterministic() -> None:
    """A guess given with q None is exact however it was found: only the other way round is an error."""
    error = error_in(SCENARIOS["far draft"], "rejection", ANSWERS, lambda _, sampling: Claims(None, sampling.seed))

    assert error is None


def sparse(*probabilities: float) -> Sparse:
    return Sparse(np.arange(len(probabilities)), np.array(probabilities))


def dense(*probabilities: float) -> Dense:
    weights = padded_weights(len(probabilities))
    weights[: len(probabilities)] = probabilities
    return Dense(weights)


@pytest.mark.parametrize("of_p", [sparse, dense])
@pytest.mark.parametrize("of_q", [sparse, dense])
def test_the_example_worked_by_hand(of_p: Callable[..., Distribution], of_q: Callable[..., Distribution]) -> None:
    """p = (.5, .3, .2), q = (.8, .1, .1): sum min(p, q) = .5 + .1 + .1; max(0, p - q) = (0, .2, .1)."""
    p, q = of_p(0.5, 0.3, 0.2), of_q(0.8, 0.1, 0.1)

    left = residual(p, q, rejected=0)

    assert [left.probability(token) for token in range(3)] == pytest.approx([0, 2 / 3, 1 / 3], abs=1e-6)
    assert accepted_share(p, q, 20_000) == pytest.approx(0.7, abs=5.5 * np.sqrt(0.7 * 0.3 / 20_000))


@pytest.mark.parametrize("seed", range(4))
def test_acceptance_is_one_minus_the_total_variation_distance(seed: int) -> None:
    """Leviathan 2023, theorem 3.5. 5.5 standard deviations: wrong with a probability of 4e-8 a case."""
    p, q = np.random.default_rng(seed).dirichlet(np.ones(9), 2)
    overlap = np.minimum(p, q).sum()
    assert overlap == pytest.approx(1 - np.abs(p - q).sum() / 2)

    share = accepted_share(dense(*p), sparse(*q), 20_000)

    assert share == pytest.approx(overlap, abs=5.5 * np.sqrt(overlap * (1 - overlap) / 20_000))


def accepted_share(p: Distribution, q: Distribution, rounds: int) -> float:
    rule = Rejection(seed=5)
    kept = 0
    for _ in range(rounds):
        draft = Draft((rule.propose(q, 0),), (q,))
        kept += rule.verify(draft, lambda _: p, 0).accepted
    return kept / rounds


def test_with_q_equal_to_p_nothing_is_rejected() -> None:
    rng = np.random.default_rng(0)
    for seed in range(50):
        weights = rng.dirichlet(np.full(100, 0.1))
        assert accepted_share(dense(*weights), dense(*weights), 40) == 1, seed


@pytest.mark.parametrize("u", [0.0, 0.5, math.nextafter(1.0, 0.0)])
def test_a_guess_that_p_forbids_is_never_kept(u: float) -> None:
    rule = Rejection(0)
    rule._uniform = lambda: u
    for q in (sparse(0.5, 0.5), dense(0.5, 0.5), None):
        verdict = rule.verify(Draft((1,), (q,)), lambda _: sparse(1.0, 0.0), 0)
        assert (verdict.accepted, verdict.token) == (0, 0)


@pytest.mark.parametrize("u", [0.0, 0.5, math.nextafter(1.0, 0.0)])
def test_a_guess_that_p_likes_better_than_q_is_always_kept(u: float) -> None:
    rule = Rejection(0)
    rule._uniform = lambda: u
    for p in (sparse(0.3, 0.7), dense(0.3, 0.7)):
        assert rule.verify(Draft((1,), (sparse(0.5, 0.5),)), lambda _, p=p: p, 0).accepted == 1


def test_auto_is_greedy_at_temperature_0_and_block_above() -> None:
    assert rule_for("auto", SamplingSettings(temperature=0.0)).name == "greedy"
    assert rule_for("auto", SamplingSettings(temperature=0.1)).name == "block"


def test_a_rule_that_does_not_fit_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="greedy acceptance needs temperature 0"):
        rule_for("greedy", SamplingSettings(temperature=0.5))
    with pytest.raises(ValueError, match="must be one of"):
        rule_for("hopeful", SamplingSettings())


@pytest.mark.parametrize(
    ("probabilities", "kept"),
    [
        # H = ln 4: the threshold is min(.09, .3 / 4 = .075), which every token of a flat p passes.
        ((0.25, 0.25, 0.25, 0.25), (True, True, True, True)),
        # H = .1679, exp(-H) = .8454: the threshold is min(.09, .2536).
        ((0.97, 0.01, 0.01, 0.01), (True, False, False, False)),
        # H = .9404, exp(-H) = .3905: min(.09, .1171); a probability of .09 itself is not above it.
        ((0.6, 0.24, 0.09, 0.07), (True, True, False, False)),
        # 40 tokens of .02 and one of .2: H = 3.4515, exp(-H) = .0317, threshold .0095.
        ((0.2, *(0.02,) * 40), (True,) * 41),
    ],
)
def test_typical_acceptance_follows_its_formula(probabilities: tuple[float, ...], kept: tuple[bool, ...]) -> None:
    p = sparse(*probabilities)
    for token, wanted in enumerate(kept):
        verdict = Typical(seed=0).verify(Draft((token,), (None,)), lambda _: p, 0)
        assert verdict.accepted == wanted, token
