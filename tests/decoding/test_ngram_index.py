"""The index finds what a search from scratch finds, at any size for the same effort, and forgets without a trace."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from itertools import cycle, islice

import pytest

from localspec.decoding.drafters import ngram_index
from localspec.decoding.drafters.ngram_index import LENGTHS, LONGEST_MATCH, MOST_OCCURRENCES, NgramIndex, Occurrence


def index_of(text: Sequence[int]) -> NgramIndex:
    index = NgramIndex()
    index.extend(text)
    return index


def from_scratch(text: list[int], ending: list[int], until: int) -> list[Occurrence]:
    """The definition: walk the whole text for each length."""
    for n in reversed(LENGTHS):
        ends = [end for end in range(n, min(len(text) + 1, until)) if text[end - n : end] == ending[-n:]]
        if n <= len(ending) and ends:
            return [Occurrence(end, matched(text[:end], ending)) for end in ends[: -MOST_OCCURRENCES - 1 : -1]]
    return []


def matched(before: list[int], ending: list[int]) -> int:
    return max(n for n in range(1, len(ending) + 1) if before[-n:] == ending[-n:])


def assert_same(index: NgramIndex, other: NgramIndex) -> None:
    assert index.tokens == other.tokens
    assert index._last == other._last
    assert index._before == other._before


@pytest.mark.parametrize("vocabulary", [1, 2, 3, 20])
def test_it_finds_what_a_search_from_scratch_finds(vocabulary: int) -> None:
    rng = random.Random(vocabulary)
    index = NgramIndex()
    for _ in range(150):
        if rng.random() < 0.3:
            index.truncate(rng.randint(0, len(index.tokens)))
        index.extend(rng.choices(range(vocabulary), k=rng.randint(0, 12)))
        drafted = rng.choices(range(vocabulary), k=rng.choice((0, 0, 1, 5)))
        ending = [*index.tokens, *drafted][-rng.randint(1, LONGEST_MATCH) :]
        until = len(index.tokens) + len(drafted)

        assert index.occurrences(ending, until) == from_scratch(index.tokens, ending, until)


@pytest.mark.parametrize("vocabulary", [1, 2, 3, 20])
def test_it_forgets_without_a_trace(vocabulary: int) -> None:
    rng = random.Random(vocabulary)
    index = NgramIndex()
    for _ in range(80):
        kept = rng.randint(0, len(index.tokens))
        index.truncate(kept)
        assert_same(index, index_of(index.tokens[:kept]))
        index.extend(rng.choices(range(vocabulary), k=rng.randint(0, 25)))
        assert_same(index, index_of(index.tokens))


@pytest.mark.parametrize("piece", [1, 2, 7, 100])
def test_it_is_the_same_however_the_text_came(piece: int) -> None:
    text = random.Random(piece).choices(range(4), k=100)
    index = NgramIndex()
    for start in range(0, len(text), piece):
        index.extend(text[start : start + piece])

    assert_same(index, index_of(text))


def test_colliding_hashes_find_nothing_false(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngram_index, "hash", lambda _key: 0, raising=False)
    text = random.Random(0).choices(range(5), k=200)
    index = index_of(text)
    found = [
        (end, each) for end in range(1, 200) for each in index.occurrences(text[max(0, end - LONGEST_MATCH) : end], 200)
    ]

    assert found
    for end, each in found:
        assert text[each.end - each.length : each.end] == text[end - each.length : end]
    index.truncate(0)
    assert_same(index, NgramIndex())


class Counting(array):
    """Counts how often it is read."""

    reads = 0

    def __getitem__(self, key: int) -> int:
        Counting.reads += 1
        return super().__getitem__(key)


TEXTS = {
    "one token": [5],
    "period 2": [1, 2],
    "random over 3": random.Random(3).choices(range(3), k=30_000),
    "random": random.Random(4).choices(range(100_000), k=30_000),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("length", [100, 30_000])
def test_a_search_looks_at_few_positions_however_long_the_text(name: str, length: int) -> None:
    text = list(islice(cycle(TEXTS[name]), length))
    index = index_of(text)
    index._before = tuple(Counting("q", each) for each in index._before)
    Counting.reads = 0

    index.occurrences(text[-LONGEST_MATCH:], length)

    assert Counting.reads <= (MOST_OCCURRENCES + 1) * len(LENGTHS)


def test_a_token_is_found_around_a_position() -> None:
    index = index_of([7, 1, 7, 2, 7, 3, 7])

    assert index.around(3, 2, token=7) == [1, 3, 5]
    assert index.around(1, 8, token=7) == [1, 3, 5, 7]
    assert index.around(7, 1, token=7) == [7]
    assert index.around(30, 4, token=7) == []
    assert index.around(3, 2, token=9) == []
