"""An end token, the token limit and the context limit may each fall anywhere in a draft, or on the token after it."""

from __future__ import annotations

import numpy as np
import pytest

from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.rounds import Finish, Origin
from tests.decoding.answers import Pair, ScriptedDrafter, turn
from tests.decoding.table_model import Table, TableModel

VOCABULARY = 40
PROMPT = [0, 1, 2]
SCRIPT = list(range(VOCABULARY))
DRAFT_LENGTH = 4


def successors() -> Table:
    """A table that counts: after t comes t + 1."""
    return np.roll(np.eye(VOCABULARY, dtype=np.float32) * 9, 1, axis=1)


def drafter(kind: str) -> Drafter:
    """A draft model that is right, a script that is right and runs on beyond any end, or one always wrong."""
    if kind == "model":
        return ModelDrafter(TableModel(successors()), VOCABULARY)
    return ScriptedDrafter(SCRIPT, VOCABULARY, shift=1 if kind == "wrong" else 0) if kind != "none" else NoDrafter()


def counting_pair(kind: str, capacity: int = 1000) -> Pair[TableModel]:
    return Pair(TableModel(successors(), capacity), drafter(kind), list(PROMPT))


KINDS = pytest.mark.parametrize("kind", ["model", "script", "wrong", "none"])


@KINDS
@pytest.mark.parametrize("place", range(12))
def test_an_end_token_anywhere_ends_the_answer_there(kind: str, place: int) -> None:
    """Rounds of 5 tokens: places 0, 5, 10 are first in a draft, 3 and 8 last, 4 and 9 the bonus."""
    end = len(PROMPT) + place
    pair = counting_pair(kind)

    answer = pair.answer(turn(end_tokens=[end, 39], max_tokens=30))

    assert answer == list(range(len(PROMPT), end + 1))
    last = pair.rounds[-1]
    assert [finished.finish for finished in pair.rounds[:-1]] == [None] * (len(pair.rounds) - 1)
    assert last.finish is Finish.END
    assert len(last.origins) == len(last.tokens)
    if kind in {"model", "script"}:
        inside = place % (DRAFT_LENGTH + 1)
        assert len(last.tokens) == inside + 1
        assert last.accepted == min(inside + 1, DRAFT_LENGTH)
        assert last.origins[-1] is (Origin.BONUS if inside == DRAFT_LENGTH else Origin.DRAFT)
        # A draft model stops at an end token; a script does not know of it, and the rest is not counted as kept.
        drafted = inside + 1 if kind == "model" and inside < DRAFT_LENGTH else DRAFT_LENGTH
        assert len(last.drafted) == drafted


@KINDS
@pytest.mark.parametrize("limit", range(13))
def test_the_token_limit_is_met_exactly(kind: str, limit: int) -> None:
    pair = counting_pair(kind)

    answer = pair.answer(turn(max_tokens=limit))

    assert answer == list(range(len(PROMPT), len(PROMPT) + limit))
    assert [finished.finish for finished in pair.rounds][-1:] == [Finish.LENGTH][:limit]
    # Nothing is drafted that the limit would cut.
    assert all(len(finished.drafted) < limit for finished in pair.rounds)


@KINDS
@pytest.mark.parametrize("capacity", range(3, 16))
def test_the_context_is_filled_to_the_last_token_and_never_beyond(kind: str, capacity: int) -> None:
    pair = counting_pair(kind, capacity)

    answer = pair.answer(turn(max_tokens=None))

    # The cache is full, and one token more was still written: it would have to be evaluated to go on.
    assert answer == list(range(len(PROMPT), capacity + 1))
    assert pair.target.length == capacity
    assert pair.rounds[-1].finish is Finish.CONTEXT


@KINDS
@pytest.mark.parametrize("offset", [-1, 0, 1])
@pytest.mark.parametrize("place", [0, 3, 4, 5])
def test_limits_that_meet_end_the_answer_once(kind: str, place: int, offset: int) -> None:
    """End token, token limit and context limit on one token, or one apart: the first of them ends the answer."""
    end = len(PROMPT) + place
    pair = counting_pair(kind, capacity=end)

    answer = pair.answer(turn(end_tokens=[end], max_tokens=place + 1 + offset))

    limit = min(place + 1, place + 1 + offset)
    assert len(answer) == limit
    finishes = [finished.finish for finished in pair.rounds]
    assert finishes.count(None) == max(len(finishes) - 1, 0)
    if limit:
        assert finishes[-1] is (Finish.LENGTH if offset < 0 else Finish.END)


def test_an_end_token_that_the_target_refuses_ends_nothing() -> None:
    pair = counting_pair("wrong")

    # The wrong script guesses 4, an end token, where the target writes 3.
    answer = pair.answer(turn(end_tokens=[7], max_tokens=3))

    assert answer == [3, 4, 5]
