"""Lookahead decoding in the loop: it finds what the model will write, and changes nothing but time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import le

import numpy as np
import pytest

from localspec.decoding.acceptance import rule_for
from localspec.decoding.drafters.jacobi_window import WindowShape
from localspec.decoding.drafters.lookahead import LookaheadDrafter
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.loop import speculate
from localspec.decoding.rounds import Finish
from tests.decoding.answers import Pair, Polls, turn
from tests.decoding.scenarios import PLAIN
from tests.decoding.table_model import Failure, Table, TableError, TableModel, random_table

PROMPT = (3, 1, 2, 3, 1, 4, 3, 1)
SHAPE = WindowShape(4, 3)


def cycle(length: int, seed: int = 0) -> Table:
    """A model that writes the same long row of tokens over and over, each of them once in a row."""
    draw = np.random.default_rng(seed)
    table = draw.normal(0, 1, (length, length)).astype(np.float32)
    row = draw.permutation(length)
    table[row, np.roll(row, -1)] = 12
    return table


CYCLE = cycle(300)
NOISY = random_table(5, 30)

ALL_ALONG = tuple(random.Random(1).sample(range(300), 40))
"""A prompt of tokens from all along the cycle: whichever a window begins with, some of them are near what is coming."""


class Drafter(LookaheadDrafter):
    """Open to be looked into."""

    @property
    def pool_texts(self) -> list[tuple[int, ...]]:
        return sorted(each.tokens for first in range(300) for each in self._pool.after(first))


def pair(
    table: Table = NOISY,
    shape: WindowShape | None = SHAPE,
    capacity: int = 1000,
    failure: Failure | None = None,
    prompt: Sequence[int] = PROMPT,
) -> Pair[TableModel]:
    return Pair(TableModel(table, capacity, failure), Drafter(shape), list(prompt))


def plain_answer(table: Table, tokens: int, prompt: Sequence[int] = PROMPT) -> list[int]:
    return Pair(TableModel(table), NoDrafter(), list(prompt)).answer(turn(draft_length=0, max_tokens=tokens))


@pytest.mark.parametrize("shape", [WindowShape(5, 3), WindowShape(7, 4), WindowShape(5, 5), None])
def test_jacobi_iteration_finds_what_the_model_will_write(shape: WindowShape | None) -> None:
    """In the first row nothing repeats: every guess that is kept was found by the window."""
    watched = pair(CYCLE, shape, prompt=ALL_ALONG)

    answer = watched.answer(turn(draft_length=8, max_tokens=250))

    assert answer == plain_answer(CYCLE, 250, ALL_ALONG)
    assert len(set(answer)) == 250
    assert 250 / len(watched.rounds) > 1.5


def test_what_the_text_repeats_is_found_without_a_window() -> None:
    table = cycle(20)
    watched = pair(table)
    watched.text = [each % 20 for each in PROMPT]
    answer = watched.answer(turn(draft_length=8, max_tokens=200))

    assert answer == plain_answer(table, 200, [each % 20 for each in PROMPT])
    assert 160 / sum(len(each.tokens) == 3 for each in watched.rounds[20:]) > 2.5


def test_no_pass_is_wider_than_the_rows_there_are() -> None:
    for tokens in (1, 8, 25, 31):
        for shape in (WindowShape(5, 3), WindowShape(7, 5), None):
            watched = pair(random_table(9, 8, spread=0.3), shape)
            watched.answer(turn(draft_length=tokens, max_tokens=150))
            assert max(each.width for each in watched.rounds) <= 32
            assert max(len(each.drafted) for each in watched.rounds) <= tokens
            assert any(each.lookahead for each in watched.rounds)


def test_with_speculation_off_nothing_rides() -> None:
    watched = pair()
    watched.answer(turn(draft_length=0, max_tokens=20))

    assert {each.width for each in watched.rounds} == {1}


def test_an_answer_can_be_repeated_exactly() -> None:
    def rounds(drafter: LookaheadDrafter) -> list[tuple[tuple[int, ...], int]]:
        watched = Pair(TableModel(NOISY), drafter, list(PROMPT))
        watched.answer(turn(max_tokens=60))
        return [(each.drafted, each.lookahead) for each in watched.rounds]

    used = LookaheadDrafter(SHAPE)
    assert rounds(used) == rounds(LookaheadDrafter(SHAPE)) == rounds(used), "what it held of the answer is cut away"


def test_the_pool_stays_within_its_bounds() -> None:
    drafter = Drafter(SHAPE, candidates=2, pool_size=25)
    watched = Pair(TableModel(NOISY, 3000), drafter, list(PROMPT))
    watched.answer(turn(max_tokens=400))

    assert len(drafter.pool_texts) <= 25
    firsts = [each[0] for each in drafter.pool_texts]
    assert max(map(firsts.count, firsts)) <= 2


def test_after_an_edit_it_holds_nothing_of_what_was_taken_back() -> None:
    drafter = Drafter(SHAPE)
    watched = Pair(TableModel(CYCLE), drafter, list(PROMPT))
    watched.answer(turn(max_tokens=40))
    assert len(drafter.pool_texts) > 40

    drafter.agree(watched.text, 5)
    assert drafter.pool_texts == [(1, 2, 3), (2, 3, 1), (3, 1, 2)]

    edited = [*PROMPT[:5], 9, 9]
    drafter.prepare(edited, lambda: False)
    fresh = Drafter(SHAPE)
    fresh.prepare(edited, lambda: False)
    assert drafter.pool_texts == fresh.pool_texts


def test_agreeing_on_another_text_of_the_same_length_forgets_what_differs() -> None:
    drafter = Drafter(SHAPE)
    drafter.prepare([1, 2, 3, 4, 5, 6], lambda: False)

    drafter.agree([1, 2, 3, 7, 8, 9], 5)

    assert drafter.pool_texts == [(1, 2, 3)]


def test_it_goes_on_after_the_next_prompt() -> None:
    watched = pair(CYCLE)
    watched.answer(turn(draft_length=8, max_tokens=60))
    watched.text += [5, 6, 7]
    begun = len(watched.rounds)

    answer = watched.answer(turn(draft_length=8, max_tokens=60))

    assert answer == plain_answer(CYCLE, 60, watched.text[:-60])
    assert any(each.accepted for each in watched.rounds[begun:])


@pytest.mark.parametrize("rule", ["coupled", "rejection", "block"])
def test_a_cancel_at_any_poll_leaves_the_cache_equal_to_the_text(rule: str) -> None:
    settings = replace(PLAIN, temperature=0.4, seed=4)
    asked = Polls()
    whole = pair()
    answer = whole.answer(turn(rule_for(rule, settings), settings, max_tokens=30, cancelled=asked))
    for first in range(asked.count):
        stopped = pair()
        given = stopped.answer(
            turn(rule_for(rule, settings), settings, max_tokens=30, cancelled=Polls(partial(le, first)))
        )
        assert given == answer[: len(given)]
        stopped.answer(turn(rule_for(rule, settings), settings, max_tokens=5))


@pytest.mark.parametrize("kept", [0, 3, None])
def test_a_failure_of_any_pass_leaves_the_cache_equal_to_the_text(kept: int | None) -> None:
    answer = plain_answer(NOISY, 25)
    for evaluation in range(1, 20):
        stopped = pair(failure=Failure(evaluation, kept))
        try:
            stopped.answer(turn(max_tokens=25))
        except TableError:
            assert stopped.target.length == (0 if kept is None else len(stopped.text) - 1)
            stopped.target.failure = None
            stopped.answer(turn(max_tokens=25 - (len(stopped.text) - len(PROMPT))))
        assert stopped.text[len(PROMPT) :] == answer


def test_closing_it_between_rounds_leaves_the_cache_equal_to_the_text() -> None:
    for rounds in range(6):
        stopped = pair(CYCLE)
        stopped.read_prompt()
        listening = speculate(stopped.target, stopped.drafter, PROMPT, turn())
        for _ in range(rounds):
            stopped.text.extend(next(listening).tokens)
        listening.close()
        stopped.check()


@pytest.mark.parametrize("limit", range(1, 30, 4))
def test_the_token_limit_may_fall_anywhere(limit: int) -> None:
    watched = pair(CYCLE)

    assert watched.answer(turn(draft_length=8, max_tokens=limit)) == plain_answer(CYCLE, limit)
    assert watched.rounds[-1].finish is Finish.LENGTH


@pytest.mark.parametrize("place", range(0, 40, 3))
def test_an_end_token_may_fall_anywhere(place: int) -> None:
    answer = plain_answer(CYCLE, 60)
    watched = pair(CYCLE)

    given = watched.answer(turn(draft_length=8, max_tokens=60, end_tokens=[answer[place]]))

    assert given == answer[: place + 1]
    assert watched.rounds[-1].finish is Finish.END


def test_nothing_is_guessed_behind_an_end_token() -> None:
    end = plain_answer(CYCLE, 30)[20]
    watched = pair(CYCLE, WindowShape(7, 4))
    watched.answer(turn(draft_length=8, max_tokens=60, end_tokens=[end]))

    for each in watched.rounds:
        behind = {parent for parent in each.parents if parent >= 0}
        assert not any(each.drafted[parent] == end for parent in behind)
        if not each.parents:
            assert end not in each.drafted[:-1]


@pytest.mark.parametrize("capacity", range(len(PROMPT), len(PROMPT) + 40, 3))
def test_a_context_that_is_nearly_full_is_filled_to_the_end(capacity: int) -> None:
    watched = pair(CYCLE, capacity=capacity)

    answer = watched.answer(turn(draft_length=8, max_tokens=None))

    assert answer == plain_answer(CYCLE, capacity + 1 - len(PROMPT))
    assert watched.rounds[-1].finish is Finish.CONTEXT
    assert watched.rounds[-1].lookahead == 0
