"""Which passes are timed, in what order, and when it is enough."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from localspec.decoding import costs
from localspec.decoding.language_model import LogitRows
from localspec.decoding.measuring import (
    EVERY_WIDTH,
    QUICK,
    READ_WIDTHS,
    STEADY,
    VERIFIED_WIDTHS,
    Effort,
    Timed,
    measure,
)
from localspec.decoding.rounds import never
from localspec.llama.context import Context
from tests.decoding.table_model import TableModel, random_table

TEXT = (3, 1, 4, 1, 5)
SHORT = Effort(sweeps=3, seconds=4.0, slow_passes=20, text=0)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class SlowModel(TableModel):
    """A table model whose passes take as long as a function of their number and width says."""

    def __init__(self, clock: Clock, seconds: Callable[[int, int], float], capacity: int = 1000) -> None:
        super().__init__(random_table(1, 8), capacity)
        self._clock = clock
        self._seconds = seconds
        self.lengths: list[int] = []

    def evaluate(self, tokens: Sequence[int], rows: int | None = None) -> LogitRows:
        before = self.length
        found = super().evaluate(tokens, rows)
        if rows != 0:
            self.lengths.append(before)
            self._clock.now += self._seconds(len(self.timed), len(tokens))
        return found

    @property
    def timed(self) -> list[int]:
        return [len(tokens) for tokens, rows in self.calls if rows]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(costs.time, "perf_counter", made)
    return made


def told(_: float) -> None:
    """Nobody wants to know."""


def measured(timed: list[Timed], effort: Effort) -> tuple[dict[int, float], ...]:
    found = measure(timed, effort, never, told)
    assert found is not None
    return found.seconds


def test_every_width_is_timed_in_each_sweep_the_important_ones_first(clock: Clock) -> None:
    model = SlowModel(clock, lambda _, width: width / 1000)
    (found,) = measured([Timed(model, VERIFIED_WIDTHS)], SHORT)
    assert found == pytest.approx({width: width / 1000 for width in VERIFIED_WIDTHS})
    assert model.timed == list(VERIFIED_WIDTHS) * 3


def test_two_models_take_turns_and_put_out_the_rows_they_do_in_use(clock: Clock) -> None:
    target, draft = (SlowModel(clock, lambda *_: 0.001) for _ in range(2))
    measure([Timed(target, (1, 4)), Timed(draft, (2, 1, 8), rows=1)], SHORT, never, told)
    assert [(len(tokens), rows) for tokens, rows in target.calls if tokens] == [(1, 1), (4, 4)] * 3
    assert [(len(tokens), rows) for tokens, rows in draft.calls if tokens] == [(2, 1), (1, 1), (8, 1)] * 3


def test_a_pause_does_not_count(clock: Clock) -> None:
    paused = {1, 14}
    model = SlowModel(clock, lambda number, _: 10.0 if number in paused else 0.001)
    (found,) = measured([Timed(model, VERIFIED_WIDTHS)], Effort(3, 100.0, 20, 0))
    assert list(found.values()) == pytest.approx([0.001] * len(VERIFIED_WIDTHS))


def test_a_slow_model_is_timed_at_fewer_widths_and_all_in_all_not_much_longer(clock: Clock) -> None:
    model = SlowModel(clock, lambda _, width: 0.4 + 0.1 * width)
    (found,) = measured([Timed(model, VERIFIED_WIDTHS)], SHORT)
    assert list(found) == [1, 2, 4, 8, 3]
    assert 8 < clock.now < 12.5


def test_of_the_slowest_model_three_widths_are_timed_twice_or_less(clock: Clock) -> None:
    model = SlowModel(clock, lambda *_: 3.0)
    (found,) = measured([Timed(model, VERIFIED_WIDTHS)], SHORT)
    assert list(found) == [1, 2, 4]
    assert model.timed == [1, 2, 4] * 2
    slower = SlowModel(clock, lambda *_: 30.0)
    measured([Timed(slower, VERIFIED_WIDTHS)], SHORT)
    assert slower.timed == [1, 2, 4]


def test_a_model_that_slows_down_meanwhile_is_left_when_twice_the_time_is_over(clock: Clock) -> None:
    model = SlowModel(clock, lambda number, _: 0.01 if number <= 11 else 1.0)
    measured([Timed(model, VERIFIED_WIDTHS)], SHORT)
    assert len(model.timed) == 11 + 8


def test_a_machine_with_other_work_is_told_by_the_spread_and_a_single_pause_is_none(clock: Clock) -> None:
    def spread(seconds: Callable[[int, int], float]) -> float:
        found = measure([Timed(SlowModel(clock, seconds), VERIFIED_WIDTHS)], Effort(3, 100.0, 20, 0), never, told)
        assert found is not None
        return found.spread

    assert spread(lambda number, _: 5.0 if number == 5 else 1.0) == 0.0
    assert spread(lambda number, _: 1.0 + number % 2) > STEADY


def test_passes_are_made_behind_a_text_and_the_cache_is_left_as_it_was(clock: Clock) -> None:
    model = SlowModel(clock, lambda *_: 0.001)
    model.evaluate(TEXT, rows=0)
    measure([Timed(model, EVERY_WIDTH)], Effort(2, 100.0, 20, 200), never, told)
    assert min(model.lengths) == 200
    assert max(model.lengths) < 264
    assert tuple(model.tokens) == TEXT


@pytest.mark.parametrize("capacity", [5, 6, 20, 33])
def test_a_cache_that_holds_little_is_timed_with_what_fits_and_keeps_its_text(clock: Clock, capacity: int) -> None:
    model = SlowModel(clock, lambda *_: 0.001, capacity)
    model.evaluate(TEXT, rows=0)
    (found,) = measured([Timed(model, VERIFIED_WIDTHS)], QUICK)
    assert set(found) == {width for width in VERIFIED_WIDTHS if width <= capacity}
    assert tuple(model.tokens) == TEXT


@pytest.mark.parametrize("asked", [0, 1, 3, 20])
def test_a_cancel_ends_it_between_two_passes_and_the_cache_is_left_as_it_was(clock: Clock, asked: int) -> None:
    model = SlowModel(clock, lambda *_: 0.001)
    model.evaluate(TEXT, rows=0)
    count = itertools.count()
    assert measure([Timed(model, VERIFIED_WIDTHS)], QUICK, lambda: next(count) >= asked, told) is None
    assert tuple(model.tokens) == TEXT


def test_progress_rises_to_the_end(clock: Clock) -> None:
    model = SlowModel(clock, lambda _, width: 0.4 + 0.1 * width)
    heard: list[float] = []
    measure([Timed(model, VERIFIED_WIDTHS)], SHORT, never, heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


def test_real_models_are_measured_and_go_on_as_if_nothing_had_been(
    smollm2_target: Context, smollm2_draft: Context
) -> None:
    smollm2_target.evaluate((1, 2, 3), rows=0)
    before = smollm2_target.snapshot()
    effort = Effort(sweeps=2, seconds=0.2, slow_passes=1, text=16)
    found = measure([Timed(smollm2_target, (1, 4)), Timed(smollm2_draft, READ_WIDTHS[:2], 1)], effort, never, told)
    assert found is not None
    assert [list(each) for each in found.seconds] == [[1, 4], [1, 2]]
    assert all(seconds > 0 for each in found.seconds for seconds in each.values())
    assert smollm2_target.snapshot() == before
    assert smollm2_draft.length == 0
