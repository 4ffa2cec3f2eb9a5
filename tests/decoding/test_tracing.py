"""Watching how guesses are judged changes nothing, and what was noted explains every choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from localspec.decoding.acceptance import Rejection
from localspec.decoding.distributions import Distribution
from localspec.decoding.rounds import Origin
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.tracing import JudgedRound, WatchedRejection
from tests.decoding.answers import GREEDY, Pair, pair_of, turn
from tests.decoding.scenarios import CLOSE, FAR, OTHER_DRAFTS, PLAIN, TARGET, VOCABULARY, GuessingDrafter
from tests.decoding.table_model import Table, TableModel

PROMPT = (3, 1, 2)
SAMPLED = replace(PLAIN, temperature=0.9)
DRAFTS = pytest.mark.parametrize("draft", [CLOSE, FAR, TARGET], ids=["close", "far", "equal"])


def watched_rounds(
    draft: Table, sampling: SamplingSettings, seed: int = 4, length: int = 4, tokens: int = 200
) -> tuple[Pair, list[JudgedRound]]:
    rule = WatchedRejection(seed)
    pair = pair_of(TableModel(TARGET), TableModel(draft), PROMPT)
    pair.read_prompt()
    seen = []
    for _ in pair.listen(turn(rule, sampling, length, max_tokens=tokens)):
        assert rule.last is not None
        seen.append(rule.last)
    return pair, seen


@DRAFTS
@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED, replace(SAMPLED, top_k=3)], ids=["greedy", "dense", "sparse"])
def test_the_watched_rule_writes_the_same_text(draft: Table, sampling: SamplingSettings) -> None:
    pair, _ = watched_rounds(draft, sampling)
    unwatched = pair_of(TableModel(TARGET), TableModel(draft), PROMPT)
    unwatched.answer(turn(Rejection(4), sampling, 4, max_tokens=200))
    assert [each.tokens for each in pair.rounds] == [each.tokens for each in unwatched.rounds]


@DRAFTS
def test_every_choice_follows_from_what_was_noted(draft: Table) -> None:
    pair, seen = watched_rounds(draft, SAMPLED)
    for finished, judged in zip(pair.rounds, seen, strict=True):
        assert tuple(guess.token for guess in judged.guesses) == finished.drafted[: len(judged.guesses)]
        assert judged.drafted == finished.drafted
        assert [guess.kept for guess in judged.guesses].count(True) == finished.accepted
        for guess in judged.guesses:
            assert guess.kept == (guess.u * guess.q_of_token < guess.p_of_token)
        assert judged.token == finished.tokens[-1] == judged.source.draw(judged.u)


def test_a_correction_comes_from_what_the_draft_left_over() -> None:
    _, seen = watched_rounds(FAR, SAMPLED)
    corrections = [judged for judged in seen if judged.guesses and not judged.guesses[-1].kept]
    assert corrections
    for judged in corrections:
        refused = judged.guesses[-1]
        assert refused.q is not None
        ids = np.arange(VOCABULARY)
        excess = np.maximum(probabilities(refused.p) - probabilities(refused.q), 0)
        assert [judged.source.probability(int(i)) for i in ids] == pytest.approx(excess / excess.sum(), abs=1e-6)
        assert judged.token != refused.token


def test_a_bonus_comes_from_the_target_itself() -> None:
    pair, seen = watched_rounds(TARGET, SAMPLED)
    assert {finished.origins[-1] for finished in pair.rounds} == {Origin.BONUS}
    assert all(guess.kept for judged in seen for guess in judged.guesses)


@pytest.mark.parametrize("draft", [CLOSE, FAR], ids=["close", "far"])
def test_the_chance_of_a_guess_is_the_share_that_is_kept(draft: Table) -> None:
    _, seen = watched_rounds(draft, SAMPLED, tokens=900, length=1)
    guesses = [guess for judged in seen for guess in judged.guesses]
    kept = np.mean([guess.kept for guess in guesses])
    # Five standard errors, the seed is fixed.
    assert kept == pytest.approx(np.mean([guess.chance for guess in guesses]), abs=5 * 0.5 / len(guesses) ** 0.5)


def test_the_chance_of_a_sure_guess_is_the_targets_own_probability() -> None:
    rule = WatchedRejection(1)
    pair = Pair(TableModel(TARGET), GuessingDrafter(VOCABULARY, OTHER_DRAFTS["deterministic"]), list(PROMPT))
    pair.read_prompt()
    for _ in pair.listen(turn(rule, SAMPLED, 2, max_tokens=50)):
        assert rule.last is not None
        for guess in rule.last.guesses:
            assert (guess.q_of_token, guess.chance) == (1.0, guess.p_of_token)


def test_a_round_without_a_draft_notes_only_the_targets_own_token() -> None:
    _, seen = watched_rounds(CLOSE, SAMPLED, length=0, tokens=5)
    assert all(judged.guesses == judged.drafted == () for judged in seen)
    assert all(judged.token == judged.source.draw(judged.u) for judged in seen)


def probabilities(distribution: Distribution) -> np.ndarray:
    return np.array([distribution.probability(token) for token in range(VOCABULARY)])
