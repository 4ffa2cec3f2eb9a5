"""Whatever stops an answer, and whenever: both caches equal the text that came out, and it can go on from there."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import eq, le

import numpy as np
import pytest

from localspec.decoding.acceptance import AcceptanceRule, rule_for
from localspec.decoding.loop import speculate
from localspec.decoding.rounds import Finish
from tests.decoding.answers import GREEDY, Pair, Polls, pair_of, turn
from tests.decoding.scenarios import CLOSE, PLAIN, TARGET
from tests.decoding.table_model import Failure, TableError, TableModel

PROMPT = (3, 1, 2)
LENGTH = 14
SAMPLING = replace(PLAIN, seed=4)
RULES = ["coupled", "rejection", "block"]


def rule(name: str = "coupled") -> AcceptanceRule:
    return rule_for(name, SAMPLING)


def pair(target_failure: Failure | None = None, draft_failure: Failure | None = None) -> Pair[TableModel]:
    return pair_of(TableModel(TARGET, failure=target_failure), TableModel(CLOSE, failure=draft_failure), PROMPT)


def whole_answer(name: str = "coupled") -> list[int]:
    return pair().answer(turn(rule(name), SAMPLING, max_tokens=LENGTH))


def finish_after(stopped: Pair) -> list[int]:
    """Go on where it stopped, as the next request would, and return the whole answer."""
    stopped.target.failure = None
    if stopped.draft:
        stopped.draft.failure = None
    left = LENGTH - (len(stopped.text) - len(PROMPT))
    stopped.answer(turn(rule(), SAMPLING, max_tokens=left))
    return stopped.text[len(PROMPT) :]


@pytest.mark.parametrize("name", RULES)
def test_a_cancel_at_any_poll_leaves_both_caches_equal_to_the_text(name: str) -> None:
    asked = Polls()
    whole = pair()
    answer = whole.answer(turn(rule(name), SAMPLING, max_tokens=LENGTH, cancelled=asked))
    assert asked.count > LENGTH

    for first in range(asked.count):
        stopped = pair()
        polls = Polls(partial(le, first))
        given = stopped.answer(turn(rule(name), SAMPLING, max_tokens=LENGTH, cancelled=polls))
        assert given == answer[: len(given)]
        assert polls.count <= first + 2
        if name == "coupled":
            assert finish_after(stopped) == answer


def test_a_cancel_that_is_taken_back_shortens_a_draft_and_nothing_else() -> None:
    asked = Polls()
    whole = pair()
    answer = whole.answer(turn(rule(), SAMPLING, max_tokens=LENGTH, cancelled=asked))

    for only in range(asked.count):
        stopped = pair()
        polls = Polls(partial(eq, only))
        stopped.answer(turn(rule(), SAMPLING, max_tokens=LENGTH, cancelled=polls))
        assert finish_after(stopped) == answer


@pytest.mark.parametrize("kept", [0, 1, 3, None], ids=["nothing kept", "one kept", "three kept", "cache lost"])
@pytest.mark.parametrize("failing", ["target", "draft"])
def test_a_failure_of_any_evaluation_leaves_both_caches_equal_to_the_text(failing: str, kept: int | None) -> None:
    answer = whole_answer()
    evaluation, failed = 0, True
    while failed:
        failure = Failure(evaluation, kept)
        stopped = pair(**{f"{failing}_failure": failure})
        try:
            stopped.answer(turn(rule(), SAMPLING, max_tokens=LENGTH))
            failed = False
        except TableError:
            if kept is None and failing == "target":
                assert stopped.target.length == 0
                stopped.check_draft()
            elif evaluation > 0:
                stopped.check()
        given = stopped.text[len(PROMPT) :]
        assert given == answer[: len(given)]
        assert finish_after(stopped) == answer
        evaluation += 1
    assert evaluation > 5


@pytest.mark.parametrize("name", RULES)
def test_closing_after_any_round_leaves_both_caches_equal_to_the_text(name: str) -> None:
    whole = pair()
    answer = whole.answer(turn(rule(name), SAMPLING, max_tokens=LENGTH))

    for rounds in range(len(whole.rounds) + 1):
        stopped = pair()
        stopped.read_prompt()
        listening = speculate(stopped.target, stopped.drafter, PROMPT, turn(rule(name), SAMPLING, max_tokens=LENGTH))
        for _ in range(rounds):
            stopped.text.extend(next(listening).tokens)
        listening.close()
        stopped.check()
        if name == "coupled":
            assert finish_after(stopped) == answer


def test_an_error_of_the_reader_leaves_both_caches_equal_to_the_text() -> None:
    stopped = pair()
    stopped.read_prompt()
    listening = speculate(stopped.target, stopped.drafter, PROMPT, turn(rule(), SAMPLING))
    stopped.text.extend(next(listening).tokens)

    with pytest.raises(KeyboardInterrupt):
        listening.throw(KeyboardInterrupt)

    stopped.check()


@pytest.mark.parametrize("broken", ["target", "draft"])
def test_logits_that_are_no_numbers_end_in_words_with_both_caches_equal_to_the_text(broken: str) -> None:
    table = (TARGET if broken == "target" else CLOSE).copy()
    table[whole_answer()[5]] = np.nan
    models = {"target": TableModel(TARGET), "draft": TableModel(CLOSE), broken: TableModel(table)}
    stopped = pair_of(models["target"], models["draft"], PROMPT)

    with pytest.raises(ValueError, match="usable logit"):
        stopped.answer(turn(rule(), SAMPLING, max_tokens=LENGTH))

    stopped.check()


def test_a_cancelled_answer_has_no_finish() -> None:
    stopped = pair()
    stopped.answer(turn(rule(), SAMPLING, cancelled=Polls(lambda poll: poll > 12)))

    assert stopped.rounds
    assert {finished.finish for finished in stopped.rounds} == {None}


def test_a_cancel_before_the_first_round_emits_nothing() -> None:
    stopped = pair()

    assert stopped.answer(turn(sampling=GREEDY, cancelled=lambda: True)) == []
    assert len(stopped.target.calls) == 1


def test_nothing_is_emitted_in_a_turn_without_tokens() -> None:
    assert pair().answer(turn(rule(), SAMPLING, max_tokens=0)) == []


@pytest.mark.parametrize("held", [0, 1, 3])
def test_a_target_that_does_not_hold_the_text_is_refused(held: int) -> None:
    stopped = pair()
    stopped.target.evaluate(PROMPT[:held], 0)

    with pytest.raises(ValueError, match="must hold"):
        next(speculate(stopped.target, stopped.drafter, PROMPT, turn()))


def test_a_text_that_fills_the_context_is_refused() -> None:
    stopped = pair_of(TableModel(TARGET, capacity=2), TableModel(CLOSE), PROMPT)
    stopped.read_prompt()

    with pytest.raises(ValueError, match="no room"):
        next(speculate(stopped.target, stopped.drafter, PROMPT, turn()))


def test_the_end_is_said_once() -> None:
    whole = pair()
    whole.answer(turn(rule(), SAMPLING, max_tokens=LENGTH))

    assert [finished.finish for finished in whole.rounds] == [None] * (len(whole.rounds) - 1) + [Finish.LENGTH]
