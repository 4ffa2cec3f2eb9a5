"""A draft changes the time an answer takes, never its text; every token is accounted for."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from localspec.decoding.acceptance import AcceptanceRule, rule_for
from localspec.decoding.draft_length import LONGEST_DRAFT, STOP, Choice, DraftPlan, FixedLength, Offers
from localspec.decoding.drafters.ngram_levels import NGRAM_PRIORS
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.rounds import DraftPass, Finish, Origin, Round
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.statistics import DecodingStatistics
from tests.decoding.answers import GREEDY, Pair, ScriptedDrafter, pair_of, turn
from tests.decoding.scenarios import CLOSE, FAR, PLAIN, TARGET
from tests.decoding.table_model import Table, TableModel

PROMPT = (3, 1, 2)
SAMPLING = replace(PLAIN, seed=9)
LENGTH = 40
TEMPERATURES = pytest.mark.parametrize("sampling", [replace(GREEDY, seed=9), SAMPLING], ids=["greedy", "coupled"])


def rule(sampling: SamplingSettings) -> AcceptanceRule:
    return rule_for("coupled", sampling)


def text_without_speculation(sampling: SamplingSettings) -> list[int]:
    alone = Pair(TableModel(TARGET), NoDrafter(), list(PROMPT))
    return alone.answer(turn(rule(sampling), sampling, 0, max_tokens=LENGTH))


@TEMPERATURES
def test_speculation_off_is_one_plain_token_a_pass(sampling: SamplingSettings) -> None:
    alone = Pair(TableModel(TARGET), NoDrafter(), list(PROMPT))
    text = alone.answer(turn(rule(sampling), sampling, max_tokens=LENGTH))

    assert len(text) == len(alone.rounds) == LENGTH
    assert {finished.origins for finished in alone.rounds} == {(Origin.PLAIN,)}
    assert {finished.source for finished in alone.rounds} == {"none"}


@TEMPERATURES
@pytest.mark.parametrize("draft_length", range(LONGEST_DRAFT + 1))
def test_a_draft_of_any_length_never_changes_the_text(draft_length: int, sampling: SamplingSettings) -> None:
    pair = pair_of(TableModel(TARGET), TableModel(CLOSE), PROMPT)

    text = pair.answer(turn(rule(sampling), sampling, draft_length, max_tokens=LENGTH))

    assert text == text_without_speculation(sampling)
    assert max(len(finished.drafted) for finished in pair.rounds) == draft_length


@TEMPERATURES
def test_a_draft_equal_to_the_target_is_accepted_whole(sampling: SamplingSettings) -> None:
    pair = pair_of(TableModel(TARGET), TableModel(TARGET), PROMPT)

    text = pair.answer(turn(rule(sampling), sampling, 4, max_tokens=LENGTH))

    assert text == text_without_speculation(sampling)
    assert [finished.accepted for finished in pair.rounds] == [4] * (LENGTH // 5)
    assert {finished.origins for finished in pair.rounds} == {(Origin.DRAFT,) * 4 + (Origin.BONUS,)}


@TEMPERATURES
def test_a_drafter_that_is_always_wrong_changes_nothing_but_time(sampling: SamplingSettings) -> None:
    text = text_without_speculation(sampling)
    wrong = ScriptedDrafter((*PROMPT, *text), len(TARGET), shift=1)
    pair = Pair(TableModel(TARGET), wrong, list(PROMPT))

    assert pair.answer(turn(rule(sampling), sampling, max_tokens=LENGTH)) == text
    assert len(pair.rounds) == LENGTH
    assert sum(finished.accepted for finished in pair.rounds) == 0
    assert Counter(origin for finished in pair.rounds for origin in finished.origins) == {
        Origin.CORRECTION: LENGTH - 1,
        Origin.PLAIN: 1,
    }


def test_a_draft_model_that_is_always_wrong_changes_nothing_but_time() -> None:
    pair = pair_of(TableModel(TARGET), TableModel(-TARGET), PROMPT)

    assert pair.answer(turn(max_tokens=LENGTH)) == text_without_speculation(GREEDY)
    assert sum(finished.accepted for finished in pair.rounds) == 0


@TEMPERATURES
@pytest.mark.parametrize("draft_capacity", [1, 2, 3, 8, 20])
def test_a_draft_model_of_a_smaller_context_drafts_while_it_can(
    draft_capacity: int, sampling: SamplingSettings
) -> None:
    pair = pair_of(TableModel(TARGET), TableModel(CLOSE, draft_capacity), PROMPT)

    assert pair.answer(turn(rule(sampling), sampling, max_tokens=LENGTH)) == text_without_speculation(sampling)
    assert pair.draft is not None
    assert pair.draft.length <= draft_capacity
    assert (sum(len(finished.drafted) for finished in pair.rounds) > 0) == (draft_capacity >= len(PROMPT))
    assert all((finished.source == "model") == bool(finished.drafted) for finished in pair.rounds)


@pytest.mark.parametrize("sampling", [SAMPLING, replace(SAMPLING, penalty_window=2, presence_penalty=1.0)])
def test_every_pass_evaluates_the_last_token_and_the_draft_and_nothing_twice(sampling: SamplingSettings) -> None:
    pair = pair_of(TableModel(TARGET), TableModel(CLOSE), PROMPT)
    pair.answer(turn(rule(sampling), sampling, 3, max_tokens=LENGTH))

    text, passes = list(PROMPT), []
    for finished in pair.rounds:
        passes.append(((text[-1], *finished.drafted), len(finished.drafted) + 1))
        text.extend(finished.tokens)
    assert pair.target.calls == [(PROMPT[:-1], 0), *passes]
    assert pair.draft is not None
    # The draft model evaluates one token at a time, two where the last draft was accepted whole.
    assert {len(tokens) for tokens, rows in pair.draft.calls[1:]} == {1, 2}
    assert sum(len(tokens) == 2 for tokens, _ in pair.draft.calls[1:]) == sum(
        finished.accepted == len(finished.drafted) for finished in pair.rounds[:-1] if finished.drafted
    )


def test_a_round_tells_what_was_drafted_kept_and_by_whom() -> None:
    script = (*PROMPT, *text_without_speculation(GREEDY))
    first, second, third, *_ = script[len(PROMPT) :]
    guesses = (*PROMPT, first, second, (third + 1) % 7, 0)
    pair = Pair(TableModel(TARGET), ScriptedDrafter(guesses, 7), list(PROMPT))

    pair.answer(turn(max_tokens=8))

    told = pair.rounds[0]
    assert told.drafted == guesses[3:]
    assert told.accepted == 2
    assert told.tokens == (first, second, third)
    assert told.origins == (Origin.DRAFT, Origin.DRAFT, Origin.CORRECTION)
    assert told.source == "scripted"
    assert told.seconds >= told.target_seconds + told.draft_seconds > 0


def test_the_draft_length_rule_learns_from_every_round() -> None:
    class Learning(FixedLength):
        def observe(self, finished: Round) -> None:
            observed.append(finished)

    observed: list[Round] = []
    pair = pair_of(TableModel(TARGET), TableModel(CLOSE), PROMPT)
    pair.answer(replace(turn(max_tokens=LENGTH), draft_length=Learning(3)))

    assert observed == pair.rounds


@pytest.mark.parametrize("sampling", [SAMPLING, GREEDY], ids=["drawn", "greedy"])
def test_a_plan_is_told_how_sure_the_draft_model_is_before_its_token_is_drawn(sampling: SamplingSettings) -> None:
    class Curious(FixedLength):
        needs_confidence = True

        def plan(self, room: int) -> DraftPlan:
            plan = super().plan(room)
            plan.keeps = lambda greatest: told.append(greatest) or True  # type: ignore[method-assign, func-returns-value]
            return plan

    told: list[float] = []
    pair = pair_of(TableModel(TARGET), TableModel(FAR), PROMPT)
    pair.answer(replace(turn(rule(sampling), sampling, max_tokens=3), draft_length=Curious(2)))

    drafted = pair.rounds[0].drafted
    softmax = [np.exp(row) / np.exp(row).sum() for row in FAR.astype(np.float64)]
    assert told[:2] == pytest.approx([softmax[last].max() for last in (PROMPT[-1], drafted[0])])


def test_a_guess_the_plan_does_not_keep_is_never_drawn_and_ends_the_draft() -> None:
    class Doubting(FixedLength):
        needs_confidence = True

        def plan(self, room: int) -> DraftPlan:
            plan, seen = super().plan(room), itertools.count()
            plan.keeps = lambda _greatest: next(seen) < 2  # type: ignore[method-assign]
            return plan

    pair = pair_of(TableModel(TARGET), TableModel(CLOSE), PROMPT)
    pair.answer(replace(turn(rule(SAMPLING), SAMPLING, max_tokens=LENGTH), draft_length=Doubting(5)))

    assert {len(finished.drafted) for finished in pair.rounds[:-2]} == {2}
    assert all(len(finished.passes) == len(finished.drafted) + 1 for finished in pair.rounds[:-2])


@pytest.mark.parametrize("tokens", [0, 1, 5, LONGEST_DRAFT])
def test_a_fixed_draft_length_asks_for_so_many_and_no_more(tokens: int) -> None:
    plan = FixedLength(tokens).plan(LONGEST_DRAFT)
    asked = 0
    while plan.choose(Offers(unread=1)).step:
        plan.drawn(0.5, likeliest=True)
        asked += 1

    assert asked == tokens == plan.verified()
    assert FixedLength(tokens).longest == tokens


def test_a_fixed_draft_length_takes_what_a_lookup_is_sure_of_before_it_asks_the_model() -> None:
    sure, unsure = max(range(len(NGRAM_PRIORS)), key=NGRAM_PRIORS.__getitem__), 0
    plan = FixedLength(5).plan(LONGEST_DRAFT)

    assert plan.choose(Offers(unread=1, looked_up=(sure, sure, sure, unsure))) == Choice(looked_up=3)
    plan.looked_up((sure, sure, sure))
    assert plan.choose(Offers(unread=4, looked_up=(sure, sure, sure))) == Choice(looked_up=2)
    assert plan.choose(Offers(unread=4, looked_up=(unsure, sure))) == Choice(step=True)
    assert plan.choose(Offers(unread=4)) == Choice(step=True)
    assert plan.choose(Offers(looked_up=(unsure, unsure, unsure))) == Choice(looked_up=2)
    assert plan.choose(Offers()) == STOP


@pytest.mark.parametrize("tokens", [-1, LONGEST_DRAFT + 1])
def test_a_draft_length_out_of_range_is_refused_in_words(tokens: int) -> None:
    with pytest.raises(ValueError, match="between 0 and 31"):
        FixedLength(tokens)


@pytest.mark.parametrize("draft", [TARGET, CLOSE, FAR], ids=["itself", "close", "far"])
def test_statistics_are_the_sums_over_the_rounds(draft: Table) -> None:
    pair = pair_of(TableModel(TARGET), TableModel(draft), PROMPT)
    pair.answer(turn(rule(SAMPLING), SAMPLING, 5, max_tokens=60))
    rounds = pair.rounds

    counted = DecodingStatistics()
    for finished in rounds:
        counted = counted.plus(finished)

    drafted, accepted = [len(r.drafted) for r in rounds], [r.accepted for r in rounds]
    assert (counted.rounds, counted.emitted) == (len(rounds), 60)
    assert (counted.drafted, counted.accepted) == (sum(drafted), sum(accepted))
    assert counted.acceptance == sum(accepted) / sum(drafted)
    assert counted.tau == 60 / len(rounds)
    for place in range(5):
        assert counted.drafted_at[place] == sum(count > place for count in drafted)
        assert (*counted.accepted_at, 0, 0, 0, 0, 0)[place] == sum(count > place for count in accepted)
        assert counted.acceptance_by_position[place] == sum(n > place for n in accepted) / counted.drafted_at[place]
    origins = dict(counted.origins)
    assert sum(origins.values()) == 60
    assert origins["draft"] == sum(accepted)
    assert origins.get("bonus", 0) == sum(
        r.accepted == len(r.drafted) == len(r.tokens) - 1 for r in rounds if r.drafted
    )
    assert counted.seconds == pytest.approx(sum(r.seconds for r in rounds))
    assert counted.other_seconds == pytest.approx(
        sum(r.seconds - r.target_seconds - r.draft_seconds for r in rounds), abs=1e-9
    )
    assert counted.tokens_per_second == pytest.approx(60 / counted.seconds)


def test_statistics_of_rounds_worked_by_hand() -> None:
    def a_round(drafted: int, accepted: int, *origins: Origin) -> Round:
        tokens = tuple(range(len(origins)))
        passes = (DraftPass(1, 0.06), DraftPass(1, 0.04))
        guesses, path = tuple(range(drafted)), tuple(range(accepted))
        return Round(guesses, path, tokens, origins, ("model",) * drafted, (), passes, 0.2, 0.4)

    counted = DecodingStatistics()
    for finished in (
        a_round(3, 1, Origin.DRAFT, Origin.CORRECTION),
        a_round(2, 2, Origin.DRAFT, Origin.DRAFT, Origin.BONUS),
        a_round(0, 0, Origin.PLAIN),
        # The answer ended inside this draft, with a guess that was kept.
        a_round(4, 1, Origin.DRAFT),
    ):
        counted = counted.plus(finished)

    assert (counted.rounds, counted.emitted, counted.drafted, counted.accepted) == (4, 7, 9, 4)
    assert counted.drafted_at == (3, 3, 2, 1)
    assert counted.accepted_at == (3, 1)
    assert counted.acceptance_by_position == pytest.approx((1, 1 / 3, 0, 0))
    assert dict(counted.origins) == {"draft": 4, "correction": 1, "bonus": 1, "plain": 1}
    assert counted.tau == 7 / 4
    assert counted.other_seconds == pytest.approx(0.4)
    assert counted.tokens_per_second == pytest.approx(7 / 1.6)


def test_statistics_of_nothing_have_no_ratios() -> None:
    nothing = DecodingStatistics()

    assert (nothing.acceptance, nothing.tau, nothing.tokens_per_second) == (None, None, None)
    assert nothing.acceptance_by_position == ()


def test_the_answer_goes_on_without_a_limit_until_the_context_is_full() -> None:
    pair = pair_of(TableModel(TARGET, capacity=40), TableModel(CLOSE), PROMPT)
    pair.answer(turn(rule(SAMPLING), SAMPLING, max_tokens=None))

    assert pair.rounds[-1].finish is Finish.CONTEXT
    assert len(pair.text) == 41
