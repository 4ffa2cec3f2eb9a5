"""The lookahead window, and the account that says whether it rides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count, pairwise

import numpy as np
import pytest

from localspec.decoding.drafters.jacobi_window import JacobiWindow, WindowShape
from localspec.decoding.drafters.window_account import WINDOWS, WindowAccount, best_window, largest_window
from localspec.decoding.rounds import ancestry
from tests.decoding.processes import CPU_STEPS, CUDA_CLIFF, FLAT, LINEAR
from tests.decoding.table_model import TableModel, random_table

SHAPES = [WindowShape(3, 3), WindowShape(5, 3), WindowShape(1, 3), WindowShape(4, 4), WindowShape(5, 5)]


def counting() -> Callable[[], int]:
    return count(100).__next__


def filled(shape: WindowShape) -> JacobiWindow:
    """A window whose tokens are all different."""
    fresh = counting()
    window = JacobiWindow(shape, fresh)
    while not window.is_filled:
        assert window.advance(0, [fresh() for _ in range(window.comb().rows)], (), fresh) == []
    return window


@pytest.mark.parametrize("shape", SHAPES)
def test_a_filled_window_is_a_comb(shape: WindowShape) -> None:
    """As in figure 2 of the paper: column i sees the oldest tokens of the columns before it, and its own."""
    columns, size = shape
    comb = filled(shape).comb()

    assert len(comb.tokens) == shape.tokens == columns * (size - 1) - 1
    assert comb.rows == columns
    for column in range(columns):
        path = ancestry(comb.parents, len(comb.tokens) - columns + column)
        assert len(path) == column + size - 2
        assert path[:column] == list(range(column))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_first_pass_holds_one_iteration_and_the_next_ones_one_more(shape: WindowShape) -> None:
    fresh = counting()
    window = JacobiWindow(shape, fresh)

    assert window.comb().parents == tuple(range(-1, shape.columns + shape.size - 4))
    for held in range(1, shape.size - 1):
        assert not window.is_filled
        assert len(window.comb().tokens) == held * (shape.columns + shape.size - 1 - held) - 1
        window.advance(0, [fresh() for _ in range(window.comb().rows)], (), fresh)
    assert window.is_filled


@pytest.mark.parametrize("shape", SHAPES)
def test_the_columns_move_on_by_one_place(shape: WindowShape) -> None:
    window = filled(shape)
    before = window.comb()
    following = list(range(1, shape.columns + 1))

    ngrams = window.advance(7, following, (), counting())

    after = window.comb()
    assert after.tokens[-shape.columns :] == tuple(following)
    places = {token: len(ancestry(before.parents, i)) for i, token in enumerate(before.tokens)}
    for i, token in enumerate(after.tokens[: -shape.columns]):
        assert len(ancestry(after.parents, i)) == places[token] - 1
    assert [len(each) for each in ngrams] == [shape.size] * shape.columns
    assert [each[0] for each in ngrams] == [7, *before.tokens[: shape.columns - 1]]
    assert [each[-1] for each in ngrams] == following


@pytest.mark.parametrize("shape", SHAPES)
def test_its_ngrams_are_what_the_model_writes(shape: WindowShape) -> None:
    """Once the first tokens have left it, each token of an n-gram is the model's own after those before it."""
    table = random_table(3, 50)
    model, draw = TableModel(table), np.random.default_rng(0)
    window = JacobiWindow(shape, lambda: int(draw.integers(50)))
    text, seen = [1, 2], 0
    model.evaluate(text[:-1])
    for step in range(30):
        comb = window.comb()
        rows = model.evaluate_tree((text[-1], *comb.tokens), (-1, *(parent + 1 for parent in comb.parents)))
        ngrams = window.advance(text[-1], rows[-comb.rows :].argmax(axis=1).tolist(), (), lambda: 0)
        text.append(int(rows[0].argmax()))
        model.keep([0])
        if step >= shape.size:
            for ngram in ngrams:
                assert all(table[before].argmax() == after for before, after in pairwise(ngram[1:]))
                seen += 1
    assert seen


def test_end_tokens_do_not_stay_in_it() -> None:
    shape = WindowShape(3, 3)
    window = filled(shape)

    ngrams = window.advance(7, [1, 99, 3], {99}, lambda: 55)

    assert ngrams[1][-1] == 99
    assert window.comb().tokens[-3:] == (1, 55, 3)


def priced(curve: Sequence[float], rate: float = 1.0) -> list[float]:
    return [rate * seconds for seconds in curve]


def test_where_width_is_cheap_the_window_is_large() -> None:
    shape = best_window(priced(FLAT, rate=1.3))

    assert shape
    assert 5 <= shape.columns <= 7
    assert 3 <= shape.size <= 5


@pytest.mark.parametrize("curve", [CPU_STEPS, LINEAR, [1.0 + 0.06 * width for width in range(32)]])
def test_where_width_is_dear_there_is_none(curve: Sequence[float]) -> None:
    assert best_window(priced(curve)) is None


def test_behind_a_cliff_there_is_none() -> None:
    shape = best_window(priced(CUDA_CLIFF))

    assert shape
    assert shape.tokens < 8


def test_the_largest_window_leaves_the_guesses_their_room() -> None:
    for room in range(32):
        shape = largest_window(room)
        assert shape.tokens <= max(room, min(each.tokens for each in WINDOWS))
    assert WINDOWS[largest_window(31)] == max(WINDOWS.values())


def net(brings: Callable[[int], float], price: float, rounds: int) -> tuple[float, int]:
    """Tokens won over no window at all, and how often it rode."""
    account, won, rode = WindowAccount(), 0.0, 0
    for i in range(rounds):
        if account.affords(price):
            account.pay(price)
            account.earn(brings(i))
            won += brings(i) - price
            rode += 1
    return won, rode


@pytest.mark.parametrize("price", [0.02, 0.1, 0.3, 1.0, 3.0])
def test_a_window_that_brings_nothing_costs_little(price: float) -> None:
    won, _ = net(lambda _: 0.0, price, 1000)

    assert won >= -2.0 - price - 0.01 * 1000
    first, _ = net(lambda _: 0.0, price, 100)
    assert first >= -3.0


@pytest.mark.parametrize("price", [0.02, 0.1, 0.18])
def test_a_window_that_pays_rides_nearly_always(price: float) -> None:
    won, rode = net(lambda i: 1.0 if i % 4 == 3 else 0.0, price, 400)

    assert rode > 390
    assert won == pytest.approx(400 * (0.25 - price), rel=0.03)


def test_a_dear_window_never_rides() -> None:
    assert net(lambda _: 1.0, 2.0, 5000) == (0.0, 0)


def test_it_stops_where_it_brings_nothing_any_more_and_is_tried_again() -> None:
    won, rode = net(lambda i: 0.3 * (i < 300 or i >= 900), 0.05, 1200)

    assert 500 < rode < 1000
    assert won > 0.9 * 0.25 * 600 - 12
