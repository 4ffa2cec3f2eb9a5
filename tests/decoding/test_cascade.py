"""Two levels of drafting hold the same text, and never outgrow a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from localspec.decoding.acceptance import AcceptanceRule, rule_for
from localspec.decoding.draft_length import FixedLength
from localspec.decoding.drafters.cascade import CascadeDrafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.rounds import Draft, Turn, never
from tests.decoding.answers import GREEDY, Pair, Polls, ScriptedDrafter, turn
from tests.decoding.cascades import CASCADES, CLOSER, REPEATING, cascade_of
from tests.decoding.scenarios import CLOSE, PLAIN, TARGET
from tests.decoding.table_model import Failure, TableError, TableModel

SAMPLING = replace(PLAIN, seed=3)
LENGTH = 24
LEVELS = {"lookup": ([CLOSE], "ngram"), "model": ([CLOSE, CLOSER], ""), "both": ([CLOSE, CLOSER], "ngram")}


class Cascaded:
    """A target and a cascade, each of whose models is looked at after every round."""

    def __init__(self, levels: str, failure: Failure | None = None, capacity: int = 1000) -> None:
        tables, last = LEVELS[levels]
        self.models = [TableModel(table, capacity) for table in tables]
        self.models[0].failure = failure
        drafter = cascade_of(self.models, 7, last)
        self.pair = Pair(TableModel(TARGET), drafter, list(REPEATING), self.models[0])

    def answer(self, settings: Turn) -> list[int]:
        start = len(self.pair.text)
        self.pair.read_prompt()
        for _ in self.pair.listen(settings):
            self.check()
        self.check()
        return self.pair.text[start:]

    def check(self) -> None:
        self.pair.check()
        for model in self.models:
            assert list(model.tokens) == self.pair.text[:-1][: model.length]


def settings(rule: str = "coupled", **changes: object) -> Turn:
    return turn(rule_for(rule, SAMPLING), SAMPLING, draft_length=6, max_tokens=LENGTH, **changes)  # type: ignore[arg-type] # fields of a turn


@pytest.mark.parametrize("rule", ["rejection", "block", "coupled"])
@pytest.mark.parametrize("levels", LEVELS)
def test_every_cache_holds_a_prefix_of_the_text_after_each_round(levels: str, rule: str) -> None:
    cascaded = Cascaded(levels)

    assert len(cascaded.answer(settings(rule))) == LENGTH
    assert any(0 < finished.accepted < len(finished.drafted) for finished in cascaded.pair.rounds)


@pytest.mark.parametrize("levels", LEVELS)
def test_a_cancel_at_any_poll_leaves_every_cache_equal_to_the_text(levels: str) -> None:
    asked = Polls()
    answer = Cascaded(levels).answer(settings(cancelled=asked))

    for first in range(0, asked.count, 3):
        stopped = Cascaded(levels)
        given = stopped.answer(settings(cancelled=Polls(partial(int.__le__, first))))
        assert given == answer[: len(given)]
        stopped.answer(replace(settings(), max_tokens=LENGTH - len(given)))
        assert stopped.pair.text[len(REPEATING) :] == answer


@pytest.mark.parametrize("kept", [0, 1, None], ids=["nothing kept", "one kept", "cache lost"])
@pytest.mark.parametrize("levels", LEVELS)
def test_a_failure_of_any_pass_of_the_draft_model_leaves_every_cache_equal_to_the_text(
    levels: str, kept: int | None
) -> None:
    whole = Cascaded(levels)
    answer = whole.answer(settings())
    for evaluation in range(1, len(whole.models[0].calls)):
        stopped = Cascaded(levels, Failure(evaluation, kept))
        with pytest.raises(TableError):
            stopped.answer(settings())
        stopped.check()
        stopped.models[0].failure = None
        stopped.answer(replace(settings(), max_tokens=LENGTH - (len(stopped.pair.text) - len(REPEATING))))
        assert stopped.pair.text[len(REPEATING) :] == answer


@pytest.mark.parametrize("name", CASCADES)
@pytest.mark.parametrize("rule", ["greedy", "coupled"])
def test_where_the_draft_model_chooses_its_draft_is_the_same_whoever_guesses_for_it(name: str, rule: str) -> None:
    scenario = replace(CASCADES[name], one_round=False)
    alone = ModelDrafter(TableModel(scenario.tables[0]), scenario.target.shape[-1])
    cascaded = scenario.drafter()
    sampling = replace(scenario.sampling, temperature=0.0 if rule == "greedy" else 1.0, seed=5)
    now = Turn(sampling, rule_for(rule, sampling), scenario.length())
    for text in (scenario.prompt, scenario.prompt[:-2], (*scenario.prompt[:-3], 2, 1)):
        drafts = []
        for drafter in (alone, cascaded):
            drafter.prepare(text, never)
            drafts.append(drafter.draft(text, scenario.draft_length, now))
            drafter.agree(text, len(text) - 1)
        one, other = drafts
        assert one.tokens == other.tokens
        for ours, theirs in zip(one.distributions, other.distributions, strict=True):
            assert ours is not None
            assert theirs is not None
            assert [ours.probability(i) for i in range(7)] == pytest.approx([theirs.probability(i) for i in range(7)])


class Perfect(ScriptedDrafter):
    """Knows what the draft model will say."""


def loop_text(table: np.ndarray, prompt: Sequence[int], count: int) -> list[int]:
    text = list(prompt)
    while len(text) < count:
        text.append(int(table[text[-1]].argmax()))
    return text


def test_with_a_perfect_lookup_the_draft_model_makes_one_pass_for_each_draft() -> None:
    script = loop_text(TARGET, REPEATING, 80)
    model = TableModel(TARGET)
    drafter = CascadeDrafter(model, Perfect(script, 7), 7)
    pair = Pair(TableModel(TARGET), drafter, list(REPEATING), model)

    pair.answer(turn(sampling=GREEDY, draft_length=6, max_tokens=35))

    assert pair.text == script[: len(REPEATING) + 35]
    assert [len(finished.passes) for finished in pair.rounds] == [1] * 5
    # After a draft that was kept whole, it reads two tokens it has not seen, and five guesses.
    assert [finished.passes[0].width for finished in pair.rounds] == [6, 7, 7, 7, 7]
    assert [(len(tokens), rows) for tokens, rows in model.calls[1:]] == [(6, 6), *[(7, 6)] * 4]


def test_with_guesses_that_are_always_wrong_it_makes_one_pass_for_each_token() -> None:
    script = loop_text(TARGET, REPEATING, 80)
    model = TableModel(TARGET)
    pair = Pair(TableModel(TARGET), CascadeDrafter(model, Perfect(script, 7, shift=1), 7), list(REPEATING), model)

    pair.answer(turn(sampling=GREEDY, draft_length=6, max_tokens=35))

    assert pair.text == script[: len(REPEATING) + 35]
    assert all(len(finished.passes) == len(finished.drafted) == 6 for finished in pair.rounds)


@pytest.mark.parametrize("limit", [-1, 0, 1, 2, 5, 31])
@pytest.mark.parametrize("levels", LEVELS)
def test_a_draft_is_never_longer_than_the_limit(levels: str, limit: int) -> None:
    drafter = Cascaded(levels).pair.drafter
    for rule in ("greedy", "rejection"):
        sampling = GREEDY if rule == "greedy" else SAMPLING
        now = Turn(sampling, rule_for(rule, sampling), FixedLength(31))
        drafter.prepare(REPEATING, never)
        assert len(drafter.draft(REPEATING, limit, now).tokens) == max(limit, 0)
        drafter.agree(REPEATING, len(REPEATING) - 1)


@pytest.mark.parametrize("capacity", range(len(REPEATING) - 2, len(REPEATING) + 9))
@pytest.mark.parametrize("levels", LEVELS)
def test_a_draft_model_of_less_context_drafts_as_far_as_it_reaches(levels: str, capacity: int) -> None:
    cascaded = Cascaded(levels, capacity=capacity)

    answer = cascaded.answer(settings())

    assert answer == Cascaded(levels).answer(settings())
    drafted = [len(finished.drafted) for finished in cascaded.pair.rounds]
    assert (sum(drafted) > 0) == (capacity >= len(REPEATING))
    assert drafted[-3:] == [0, 0, 0]


def test_nothing_follows_an_end_token_that_was_guessed_for_the_draft_model() -> None:
    script = loop_text(TARGET, REPEATING, 40)
    end = script[len(REPEATING) + 2]
    drafter = CascadeDrafter(TableModel(TARGET), Perfect(script, 7), 7)
    drafter.prepare(REPEATING, never)

    draft = drafter.draft(REPEATING, 8, turn(draft_length=8, end_tokens=[end]))

    expected = script[len(REPEATING) :]
    assert list(draft.tokens) == expected[: expected.index(end) + 1]


def test_a_text_far_ahead_of_the_draft_model_is_read_in_one_pass_with_what_fits_of_the_guesses() -> None:
    for behind in (1, 2, 30, 31, 32, 33, 80):
        script = loop_text(TARGET, REPEATING, 200)
        text = script[: len(REPEATING) + behind]
        model = TableModel(TARGET)
        drafter = CascadeDrafter(model, Perfect(script, 7), 7)
        drafter.prepare(REPEATING, never)
        draft = drafter.draft(text, 6, turn(draft_length=6))
        drafter.agree(text, len(text) - 1)
        assert list(draft.tokens) == script[len(text) : len(text) + 6]
        assert draft.passes[0].width == max(behind + 1, min(32, behind + 1 + 5))


def test_passes_of_deeper_models_are_told_apart() -> None:
    cascaded = Cascaded("both")
    cascaded.answer(settings())

    depths = {each.depth for finished in cascaded.pair.rounds for each in finished.passes}
    calls = [len(model.calls) for model in cascaded.models]
    assert depths == {0, 1}
    # One call more than passes: the prompt.
    told = [sum(p.depth == depth for f in cascaded.pair.rounds for p in f.passes) for depth in (0, 1)]
    assert told == [count - 1 for count in calls]


def test_trees_are_refused_inside() -> None:
    class Branching(ScriptedDrafter):
        def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:  # noqa: ARG002 # as the Protocol's
            return Draft((1, 2), (None, None), ("tree",) * 2, parents=(-1, -1))

    drafter = CascadeDrafter(TableModel(TARGET), Branching([], 7), 7)
    with pytest.raises(TypeError, match="chains"):
        drafter.draft(REPEATING, 4, turn())


@pytest.mark.parametrize("rule", ["rejection", "block"])
def test_random_numbers_go_on_when_a_turn_does_and_begin_anew_with_the_next(rule: str) -> None:
    """A turn may be made anew within an answer, as where the source is chosen; the rule is what an answer has."""

    def drafts(same_rule: bool, same_turn: bool, seed: int = 3) -> list[tuple[int, ...]]:
        drafter = cascade_of([TableModel(CLOSE)], 7)
        drafter.prepare(REPEATING, never)
        sampling = replace(SAMPLING, seed=seed, temperature=2.0)
        own: AcceptanceRule = rule_for(rule, sampling)
        now = Turn(sampling, own, FixedLength(8))
        found = []
        for _ in range(3):
            if not same_rule:
                now = replace(now, rule=rule_for(rule, sampling))
            elif not same_turn:
                now = replace(now)
            found.append(drafter.draft(REPEATING, 8, now).tokens)
            drafter.agree(REPEATING, len(REPEATING) - 1)
        return found

    assert drafts(same_rule=True, same_turn=True) == drafts(same_rule=True, same_turn=False)
    assert len(set(drafts(same_rule=True, same_turn=True))) == 3
    # The first is made with another memory of the lookup.
    assert len(set(drafts(same_rule=False, same_turn=False)[1:])) == 1
    assert drafts(same_rule=True, same_turn=True, seed=4) != drafts(same_rule=True, same_turn=True)
