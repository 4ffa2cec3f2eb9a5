"""Timing passes: what is counted, and that the text in the cache stays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from localspec.decoding import costs
from localspec.decoding.costs import pass_seconds
from localspec.decoding.language_model import LogitRows
from localspec.decoding.rounds import never
from localspec.llama.context import Context
from localspec.llama.tokenizer import Tokenizer
from tests.decoding.table_model import Failure, TableError, TableModel, random_table

TEXT = (3, 1, 4, 1, 5)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class SlowModel(TableModel):
    """A table model whose passes take the seconds that a test says, one after the other."""

    def __init__(self, clock: Clock, seconds: Iterator[float]) -> None:
        super().__init__(random_table(1, 8))
        self._clock = clock
        self._seconds = seconds

    def evaluate(self, tokens: Sequence[int], rows: int | None = None) -> LogitRows:
        self._clock.now += next(self._seconds)
        return super().evaluate(tokens, rows)


def model_with(text: tuple[int, ...], capacity: int = 1000) -> TableModel:
    model = TableModel(random_table(1, 8), capacity)
    model.evaluate(text, rows=0)
    model.calls.clear()
    return model


def test_the_time_is_the_median_and_the_first_pass_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(costs.time, "perf_counter", clock)
    model = SlowModel(clock, iter([100.0, 7.0, 1.0, 3.0]))
    assert pass_seconds(model, 2, 3, never) == 3.0


@pytest.mark.parametrize("width", [1, 4])
def test_every_pass_has_the_width_and_gives_all_rows_and_the_text_stays(width: int) -> None:
    model = model_with(TEXT)
    assert pass_seconds(model, width, 3, never) is not None
    assert [(len(tokens), rows) for tokens, rows in model.calls] == [(width, width)] * 4
    assert tuple(model.tokens) == TEXT


def test_a_pass_may_put_out_fewer_rows_as_when_drafting() -> None:
    model = model_with(TEXT)
    assert pass_seconds(model, 4, 2, never, rows=1) is not None
    assert [(len(tokens), rows) for tokens, rows in model.calls] == [(4, 1)] * 3


@pytest.mark.parametrize("capacity", [5, 6, 7, 9])
def test_a_full_cache_is_measured_over_its_own_end_and_holds_the_same_text_again(capacity: int) -> None:
    model = model_with(TEXT, capacity)
    assert pass_seconds(model, 3, 2, never) is not None
    assert tuple(model.tokens) == TEXT
    assert [len(tokens) for tokens, rows in model.calls if rows] == [3] * 3


def test_an_empty_cache_is_measured_and_stays_empty() -> None:
    model = model_with(())
    assert pass_seconds(model, 12, 2, never) is not None
    assert model.length == 0
    first = model.calls[0][0]
    assert len(set(first)) == model.vocabulary_size


def test_a_cancel_ends_it_between_two_passes_and_the_text_stays() -> None:
    model = model_with(TEXT, capacity=6)
    asked = itertools.count()
    assert pass_seconds(model, 3, 5, lambda: next(asked) == 2) is None
    assert [len(tokens) for tokens, rows in model.calls if rows] == [3] * 2
    assert tuple(model.tokens) == TEXT


def test_a_pass_that_fails_leaves_a_prefix_of_the_text() -> None:
    model = model_with(TEXT, capacity=6)
    model.failure = Failure(evaluation=1, kept=1)
    with pytest.raises(TableError):
        pass_seconds(model, 3, 5, never)
    assert tuple(model.tokens) == TEXT[:3]


@pytest.mark.parametrize("width", [0, 7])
def test_a_width_that_the_model_cannot_hold_is_refused_and_the_text_stays(width: int) -> None:
    model = model_with(TEXT, capacity=6)
    with pytest.raises(ValueError, match=f"a pass of {width} tokens"):
        pass_seconds(model, width, 1, never)
    assert tuple(model.tokens) == TEXT


def test_a_real_model_goes_on_as_if_nothing_had_been_measured(
    smollm2_target: Context, smollm2_tokenizer: Tokenizer
) -> None:
    text = smollm2_tokenizer.encode("Once upon a time there was a", parse_special=False, add_special=True)
    smollm2_target.evaluate(text[:-1], rows=0)
    before = smollm2_target.snapshot()
    for width in (1, 4, 17):
        seconds = pass_seconds(smollm2_target, width, 2, never)
        assert seconds is not None
        assert seconds > 0
    assert smollm2_target.snapshot() == before
