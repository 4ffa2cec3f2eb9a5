"""The lookup goes on with what the text has said before, says how sure it is, and keeps nothing of what is cut."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import cycle, islice

import pytest

from localspec.decoding.drafters.drafting import Found
from localspec.decoding.drafters.ngram import NEARBY, NgramLookup
from localspec.decoding.drafters.ngram_index import NgramIndex
from localspec.decoding.drafters.ngram_levels import NGRAM_PRIORS, Standing, levels

PASSAGE = list(range(100, 140))


def lookup_of(prompt: Sequence[int]) -> NgramLookup:
    lookup = NgramLookup()
    lookup.prepare(prompt)
    return lookup


def find(prompt: Sequence[int], answer: Sequence[int], limit: int = 8, drafted: Sequence[int] = ()) -> Found:
    return lookup_of(prompt).find([*prompt, *answer], drafted, limit)


def find_in_steps(lookup: NgramLookup, prompt: Sequence[int], answer: Sequence[int], limit: int = 8) -> Found:
    """What is found at last, when it is asked before each token of the answer as in a conversation."""
    found = Found()
    for length in range(len(answer) + 1):
        found = lookup.find([*prompt, *answer[:length]], (), limit)
    return found


def test_it_goes_on_with_the_passage_that_is_repeated() -> None:
    assert find([1, *PASSAGE, 2], PASSAGE[5:8], limit=4).tokens == PASSAGE[8:12]


def test_guesses_that_are_not_part_of_the_text_count_as_if_they_were() -> None:
    assert find([1, *PASSAGE, 2], PASSAGE[5:7], 4, drafted=PASSAGE[7:9]).tokens == PASSAGE[9:13]


def test_what_the_answer_itself_says_is_found() -> None:
    assert find([1, 2], [*PASSAGE, 3, *PASSAGE[:3]], limit=2).tokens == PASSAGE[3:5]


@pytest.mark.parametrize("period", [1, 2, 3, 7])
def test_what_recurs_is_expected_to_recur_on(period: int) -> None:
    answer = [i % period for i in range(3 * period)]

    assert find([50], answer, limit=31).tokens == [i % period for i in range(3 * period, 3 * period + 31)]


def test_without_a_match_nothing_is_found() -> None:
    assert find(PASSAGE, [1, 2, 3]) == Found()
    assert find([], []) == Found()
    assert find([1, 2, 1], [2], limit=0) == Found()


def test_a_match_does_not_reach_back_over_the_beginning_of_the_answer() -> None:
    """The markers before each answer say nothing about it."""
    marker = [90, 91, 92]
    conversation = [1, 2, *marker, 5, 6, 7, 3, 4, *marker]

    assert find(conversation, []) == Found()
    assert find(conversation, [8]) == Found()
    assert find(conversation, [5]).levels[0] < find(conversation, [5, 6]).levels[0]


def test_the_more_frequent_continuation_wins_and_the_more_recent_of_equals() -> None:
    a, b = [1, 2, 7], [1, 2, 8]

    assert find([*a, 50, *b, 51, *a, 52, *b, 53, *b], [1, 2], limit=1).tokens == [8]
    assert find([*b, 50, *b, 51, *b, 52, *a], [1, 2], limit=1).tokens == [8]
    assert find([*b, 50, *a], [1, 2], limit=1).tokens == [7]


def test_a_longer_match_outweighs_a_more_recent_one() -> None:
    assert find([1, 2, 3, 7, 50, 9, 2, 3, 8], [1, 2, 3], limit=1).tokens == [7]


def test_a_disputed_token_is_less_sure_and_an_agreed_one_surer() -> None:
    once = find([1, 2, 7, 8, 9], [1, 2], 3).levels
    agreed = find([1, 2, 7, 8, 9, 50, 1, 2, 7, 8, 9], [1, 2], 3).levels
    disputed = find([1, 2, 7, 5, 6, 50, 1, 2, 7, 8, 9], [1, 2], 3).levels

    assert agreed[0] > once[0]
    assert disputed[0] == agreed[0]
    assert disputed[1] < once[1]
    # Beyond the token in dispute only one place is left.
    assert disputed[2] == once[2]


def test_a_longer_match_is_surer() -> None:
    prompt = [1, *PASSAGE, 2]
    first = [find(prompt, PASSAGE[10 - n : 10], 1).levels[0] for n in (1, 2, 3, 5, 9)]

    assert first == sorted(first)
    assert len(set(first)) == len(first)


EDITS = {"nothing": ([], 0), "a substitute": ([1], 1), "an insertion": ([1, 2, 3], 0), "an omission": ([], 4)}


@pytest.mark.parametrize("name", EDITS)
def test_after_an_edit_the_passage_goes_on_where_the_answer_takes_it_up(name: str) -> None:
    """The token after the edit stands at many more recent places, each followed by something else."""
    put_in, left_out = EDITS[name]
    taken_up = 10 + left_out
    prompt = [*PASSAGE, *decoys(PASSAGE[taken_up])]
    answer = [*PASSAGE[5:10], *put_in, PASSAGE[taken_up]]

    found = find_in_steps(lookup_of(prompt), prompt, answer, limit=4)

    assert found.tokens == PASSAGE[taken_up + 1 : taken_up + 5]


def test_of_two_places_in_the_passage_the_one_nearer_to_where_the_answer_was_is_taken() -> None:
    prompt = [1, 2, 3, 4, 5, 60, 6, 7, 8, 60, 9, 10, 11]

    assert find_in_steps(lookup_of(prompt), prompt, [2, 3, 4, 5, 77, 60], limit=1).tokens == [6]


def test_directly_after_a_substitute_the_next_of_the_passage_is_a_cautious_guess() -> None:
    prompt = [1, *PASSAGE, 2]
    found = find_in_steps(lookup_of(prompt), prompt, [*PASSAGE[5:10], 3], limit=2)

    assert found.tokens == PASSAGE[11:13]
    assert found.levels[0] <= 2
    assert find_in_steps(lookup_of(prompt), prompt, [*PASSAGE[5:10], 3, 4]) == Found()


def decoys(token: int) -> list[int]:
    """Many places of a token, each followed by something else."""
    return [each for i in range(20) for each in (token, 200 + i)]


def test_a_passage_left_long_ago_is_forgotten() -> None:
    prompt = [*PASSAGE, 1, PASSAGE[25], 2]
    elsewhere = list(range(300, 315))

    found = find_in_steps(lookup_of(prompt), prompt, [*PASSAGE[5:10], *elsewhere, PASSAGE[25]], limit=1)

    assert found.tokens == [2]


def test_a_few_words_said_elsewhere_too_do_not_call_away_from_the_passage() -> None:
    prompt = [*PASSAGE, 60, 61, 62, 63, *decoys(PASSAGE[10])]

    found = find_in_steps(lookup_of(prompt), prompt, [*PASSAGE[5:10], 60, 61, 62, PASSAGE[10]], limit=1)

    assert found.tokens == [PASSAGE[11]]


def test_a_long_round_is_followed_through_the_passage() -> None:
    prompt = [*PASSAGE, *decoys(PASSAGE[30])]
    lookup = lookup_of(prompt)
    lookup.find([*prompt, *PASSAGE[5:9]], (), 31)

    assert lookup.find([*prompt, *PASSAGE[5:30], 1, PASSAGE[30]], (), 1).tokens == [PASSAGE[31]]


def test_the_passage_wins_against_the_vote() -> None:
    same = [70, 71, 72, 73]
    prompt = [*PASSAGE[:10], *same, 1, 90, *same, 2, 91, *same, 2, 92]

    assert find(prompt, same, limit=1).tokens == [2]
    assert find_in_steps(lookup_of(prompt), prompt, [*PASSAGE[5:10], 8, *same], limit=1).tokens == [1]


def test_lookups_that_were_right_make_the_next_of_the_passage_surer() -> None:
    prompt = [*PASSAGE, 1]
    astray = [*PASSAGE[:3], 2, *PASSAGE[8:11], 3, *PASSAGE[15:18], 4]
    following = [*PASSAGE[8:18], 4]
    after_wrong = find_in_steps(lookup_of(prompt), prompt, [*astray, *PASSAGE[20:23]], limit=1)
    after_right = find_in_steps(lookup_of(prompt), prompt, [*following, *PASSAGE[20:23]], limit=1)

    assert after_right.tokens == after_wrong.tokens == [PASSAGE[23]]
    assert after_right.levels[0] > after_wrong.levels[0]


def test_every_token_found_has_a_level_with_a_prior() -> None:
    rng = random.Random(0)
    prompt = rng.choices(range(4), k=60)
    lookup = lookup_of(prompt)
    text = list(prompt)
    for _ in range(400):
        found = lookup.find(text, rng.choices(range(4), k=rng.randrange(3)), limit := rng.randint(0, 31))
        assert len(found.tokens) == len(found.levels) <= limit
        assert all(0 <= level < len(NGRAM_PRIORS) for level in found.levels)
        text.extend(rng.choices(range(4), k=rng.randint(1, 4)))


def test_levels_are_in_the_order_of_their_acceptance() -> None:
    assert list(NGRAM_PRIORS) == sorted(NGRAM_PRIORS)


@pytest.mark.parametrize("standing", Standing)
def test_the_levels_of_a_row_of_tokens_are_those_of_each_alone(standing: Standing) -> None:
    row = levels(standing, 0, 100)

    assert list(row) == [levels(standing, length, 1)[0] for length in range(100)]
    assert list(levels(standing, 50, 50)) == list(row[50:])


def an_answer(lookup: NgramLookup, prompt: Sequence[int], seed: int, *, rounds: int = 30) -> list[Found]:
    """All that is found in one answer, whose rounds are of random lengths."""
    rng = random.Random(seed)
    text, found = list(prompt), []
    for _ in range(rounds):
        found.append(lookup.find(text, (), 8))
        text.extend(rng.choices(range(3), k=rng.randint(1, 5)))
        lookup.agree(len(text) - 1)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_an_answer_leaves_no_trace_in_the_next_but_its_text(seed: int) -> None:
    """Next turns, regenerated answers, edited messages, other conversations: all is as if the lookup were new."""
    rng = random.Random(seed)
    lookup = NgramLookup()
    text: list[int] = []
    for step in range(8):
        kept = rng.choice((len(text), rng.randint(0, len(text))))
        prompt = [*text[:kept], *rng.choices(range(3), k=rng.randint(1, 4))]
        lookup.prepare(prompt)
        assert an_answer(lookup, prompt, step) == an_answer(lookup_of(prompt), prompt, step)
        text = list(lookup._index.tokens)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_cut_off_in_the_middle_of_an_answer_leaves_no_trace(seed: int) -> None:
    rng = random.Random(seed)
    prompt = rng.choices(range(3), k=20)
    lookup = lookup_of(prompt)
    an_answer(lookup, prompt, seed)
    kept = rng.randint(1, len(lookup._index.tokens) - 1)
    text = list(lookup._index.tokens[:kept])
    lookup.agree(kept)

    assert lookup._index.tokens == text
    assert an_answer(lookup, text, seed) == an_answer(lookup_of(prompt[:kept]), text, seed)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_learnt_from_guesses(seed: int) -> None:
    rng = random.Random(seed)
    text = rng.choices(range(3), k=20)
    asked_once, asked_often = lookup_of(text), lookup_of(text)
    for _ in range(100):
        assert asked_once.find(text, (), 8) == asked_often.find(text, (), 8)
        for length in range(1, 6):
            asked_often.find(text, rng.choices(range(3), k=length), 8)
        text.extend(rng.choices(range(3), k=rng.randint(1, 3)))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_found_goes_on_from_an_earlier_place(seed: int) -> None:
    rng = random.Random(seed)
    text = rng.choices(range(3), k=20)
    lookup = lookup_of(text)
    for _ in range(100):
        drafted = rng.choices(range(3), k=rng.randrange(4))
        tokens = list(lookup.find(text, drafted, 6).tokens)
        whole = [*text, *drafted, *tokens]
        assert not tokens or any(whole[end : end + len(tokens)] == tokens for end in range(1, len(whole) - len(tokens)))
        text.extend(rng.choices(range(3), k=rng.randint(1, 6)))


@pytest.mark.parametrize("piece", [[5], [1, 2], random.Random(3).choices(range(3), k=20_000)])
def test_a_round_measures_few_places_however_long_the_text(piece: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []
    measure = NgramIndex.measure
    monkeypatch.setattr(NgramIndex, "measure", lambda *args: measured.append(args[1]) or measure(*args))
    text = list(islice(cycle(piece), 20_000))
    lookup = lookup_of(text[:19_000])
    for length in range(19_001, 19_200, 7):
        measured.clear()
        lookup.find(text[:length], (), 31)
        assert len(measured) <= 8 + 2 * NEARBY + 1
