"""The lookup goes on with what the text has said before, says how sure it is, and changes no distribution."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice

import pytest

from localspec.decoding.acceptance import Typical, entropy
from localspec.decoding.drafters.drafting import Found
from localspec.decoding.drafters.ngram import NEARBY, NgramDrafter, NgramLookup
from localspec.decoding.drafters.ngram_index import NgramIndex
from localspec.decoding.drafters.ngram_levels import NGRAM_PRIORS, Standing, levels
from localspec.decoding.rounds import never
from localspec.decoding.sampling import to_distribution
from tests.decoding.answers import Pair, Polls, turn
from tests.decoding.exactness import find_error
from tests.decoding.scenarios import PLAIN, SCENARIOS, TARGET, Scenario, answer_once, gather
from tests.decoding.table_model import TableModel, random_table

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
    decoys = [token for i in range(20) for token in (PASSAGE[taken_up], 200 + i)]
    prompt = [*PASSAGE, *decoys]
    answer = [*PASSAGE[5:10], *put_in, PASSAGE[taken_up]]

    found = find_in_steps(lookup_of(prompt), prompt, answer, limit=4)

    assert found.tokens == PASSAGE[taken_up + 1 : taken_up + 5]


def test_directly_after_a_substitute_the_next_of_the_passage_is_a_cautious_guess() -> None:
    prompt = [1, *PASSAGE, 2]
    found = find_in_steps(lookup_of(prompt), prompt, [*PASSAGE[5:10], 3], limit=2)

    assert found.tokens == PASSAGE[11:13]
    assert found.levels[0] <= 2


def test_a_passage_left_long_ago_is_forgotten() -> None:
    prompt = [*PASSAGE, 1, PASSAGE[20], 2]
    elsewhere = list(range(300, 330))

    found = find_in_steps(lookup_of(prompt), prompt, [*PASSAGE[5:10], *elsewhere, PASSAGE[20]], limit=1)

    assert found.tokens == [2]


def test_lookups_that_were_right_make_the_next_surer() -> None:
    prompt = [*PASSAGE, 1]
    after_right = find_in_steps(lookup_of(prompt), prompt, PASSAGE[:12], limit=1)
    other = [*PASSAGE[:3], 2, *PASSAGE[8:11], 3, *PASSAGE[15:18], 4, *PASSAGE[20:23], 5, *PASSAGE[24:26]]
    after_wrong = find_in_steps(lookup_of(prompt), prompt, other, limit=1)
    fresh = find(prompt, PASSAGE[24:26], limit=1)

    assert after_right.levels[0] > after_wrong.levels[0] >= fresh.levels[0]


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


def an_answer(lookup: NgramLookup, prompt: Sequence[int], seed: int) -> list[Found]:
    """All that is found in one answer, whose rounds are of random lengths."""
    rng = random.Random(seed)
    text, found = list(prompt), []
    for _ in range(30):
        found.append(lookup.find(text, rng.choices(range(3), k=rng.randrange(3)), 8))
        text.extend(rng.choices(range(3), k=rng.randint(1, 5)))
        lookup.agree(len(text) - 1)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_an_answer_cut_off_leaves_no_trace_in_the_next(seed: int) -> None:
    """Regenerated answers, edited messages, other conversations: what is found is what a new lookup finds."""
    rng = random.Random(seed)
    lookup = NgramLookup()
    text: list[int] = []
    for step in range(6):
        prompt = [*text[: rng.randint(0, len(text))], *rng.choices(range(3), k=rng.randint(1, 30))]
        lookup.prepare(prompt)
        assert an_answer(lookup, prompt, step) == an_answer(lookup_of(prompt), prompt, step)
        text = list(lookup._index.tokens)
        lookup.agree(rng.randint(0, len(text)))


@pytest.mark.parametrize("seed", range(20))
def test_cut_back_in_the_middle_of_an_answer_it_still_finds_only_what_is_there(seed: int) -> None:
    rng = random.Random(seed)
    prompt = rng.choices(range(3), k=20)
    lookup = lookup_of(prompt)
    text = list(prompt)
    for _ in range(100):
        kept = rng.randint(max(1, len(text) - 12), len(text))
        lookup.agree(kept)
        text = [*text[:kept], *rng.choices(range(3), k=rng.randint(1, 6))]
        drafted = rng.choices(range(3), k=rng.randrange(4))

        tokens = list(lookup.find(text, drafted, 6).tokens)

        assert lookup._index.tokens == text
        whole = [*text, *drafted, *tokens]
        beginning = len(whole) - len(tokens)
        assert not tokens or any(
            whole[end : end + len(tokens)] == tokens and end < beginning for end in range(1, beginning)
        )


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


@dataclass(frozen=True, slots=True)
class Repeating(Scenario):
    """Drafts are looked up in a text of few tokens, all of which stand in the prompt."""

    prompt: tuple[int, ...] = (1, 2, 3, 1, 2, 4, 0, 5, 6, 1, 2, 3)
    answer: int = 12

    def drafter(self) -> NgramDrafter:
        return NgramDrafter(NgramLookup())


REPEATING = {
    "plain": Repeating(),
    "cold": Repeating(SCENARIOS["cold"].sampling),
    "top-k": Repeating(SCENARIOS["top-k"].sampling),
    "everything": Repeating(SCENARIOS["everything"].sampling),
    "order 2": Repeating(target=random_table(8, 5, order=2), prompt=(1, 2, 3, 1, 2, 4, 0)),
    "long drafts": Repeating(draft_length=8, answer=16),
}


@pytest.mark.parametrize("rule", ["rejection", "coupled"])
@pytest.mark.parametrize("name", REPEATING)
def test_emitted_tokens_have_the_targets_distribution(name: str, rule: str) -> None:
    tally = gather(REPEATING[name], rule, answers=300)

    assert find_error(tally.tests(), tally) is None


@pytest.mark.parametrize("name", REPEATING)
def test_at_temperature_0_every_token_is_the_targets_likeliest(name: str) -> None:
    scenario = REPEATING[name]
    cold = replace(scenario, sampling=replace(scenario.sampling, temperature=0.0))

    for rule in ("auto", "greedy", "rejection", "coupled", "typical"):
        tally = gather(cold, rule, answers=1)
        assert find_error(tally.tests(), tally) is None


def test_typical_acceptance_keeps_the_guesses_that_are_typical() -> None:
    scenario = REPEATING["plain"]
    kept = refused = 0
    for seed in range(100):
        text = list(scenario.prompt)
        for finished in answer_once(scenario, TableModel(scenario.target), scenario.drafter(), Typical(seed)):
            for i in range(finished.judged):
                p = to_distribution(TARGET[[*text, *finished.drafted[:i]][-1]], PLAIN)
                typical = p.probability(finished.drafted[i]) > min(0.09, 0.3 * math.exp(-entropy(p)))
                assert typical == (i < finished.accepted)
                kept, refused = kept + typical, refused + (not typical)
            text.extend(finished.tokens)
    assert min(kept, refused) > 100


def test_guesses_are_deterministic_and_called_ngram() -> None:
    prompt = [1, *PASSAGE, 2, *PASSAGE[:2]]
    drafter = NgramDrafter(NgramLookup())
    drafter.prepare(prompt[:-2], never)

    draft = drafter.draft(prompt, 4, turn())

    assert draft.tokens == tuple(PASSAGE[2:6])
    assert draft.distributions == (None,) * 4
    assert draft.sources == ("ngram",) * 4
    assert draft.passes == ()
    assert drafter.name == "ngram"


def test_nothing_is_drafted_beyond_an_end_token() -> None:
    drafter = NgramDrafter(NgramLookup())
    drafter.prepare([1, *PASSAGE, 2], never)

    assert drafter.draft([1, *PASSAGE, 2, *PASSAGE[:2]], 6, turn(end_tokens=[PASSAGE[3]])).tokens == (102, 103)


@pytest.mark.parametrize("cancelled_at", range(8))
def test_a_cancelled_answer_can_be_gone_on_with(cancelled_at: int) -> None:
    def pair() -> Pair[TableModel]:
        return Pair(TableModel(TARGET), NgramDrafter(NgramLookup()), list(Repeating().prompt))

    cancelled, whole = pair(), pair()
    whole.answer(turn(max_tokens=20))
    cancelled.answer(turn(max_tokens=20, cancelled=Polls(lambda poll: poll == cancelled_at)))
    cancelled.answer(turn(max_tokens=20 - (len(cancelled.text) - len(Repeating().prompt))))

    assert cancelled.text == whole.text
