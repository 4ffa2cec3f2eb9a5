"""Drafts that are looked up change no distribution, and an answer made of them can be cut off anywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pytest

from localspec.decoding.acceptance import Typical, entropy
from localspec.decoding.drafters.ngram import NgramDrafter, NgramLookup
from localspec.decoding.rounds import never
from localspec.decoding.sampling import to_distribution
from tests.decoding.answers import Pair, Polls, turn
from tests.decoding.exactness import find_error
from tests.decoding.scenarios import (
    PLAIN,
    SCENARIOS,
    TARGET,
    Scenario,
    answer_once,
    gather,
    seeds_whose_text_drafts_change,
)
from tests.decoding.table_model import TableModel, random_table

PASSAGE = list(range(100, 140))


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


@pytest.mark.parametrize("rule", ["rejection", "block"])
@pytest.mark.parametrize("name", REPEATING)
def test_emitted_tokens_have_the_targets_distribution(name: str, rule: str) -> None:
    tally = gather(REPEATING[name], rule, answers=300)

    assert find_error(tally.tests(), tally) is None


@pytest.mark.parametrize("name", REPEATING)
def test_under_the_coupled_rule_drafts_change_no_text(name: str) -> None:
    assert seeds_whose_text_drafts_change(REPEATING[name], answers=20) == []


@pytest.mark.parametrize("name", REPEATING)
def test_at_temperature_0_every_token_is_the_targets_likeliest(name: str) -> None:
    scenario = REPEATING[name]
    cold = replace(scenario, sampling=replace(scenario.sampling, temperature=0.0))

    for rule in ("auto", "greedy", "rejection", "block", "coupled", "typical"):
        tally = gather(cold, rule, answers=1)
        assert find_error(tally.tests(), tally) is None


def test_typical_acceptance_keeps_the_guesses_that_are_typical() -> None:
    scenario = REPEATING["plain"]
    kept = refused = 0
    for seed in range(100):
        text = list(scenario.prompt)
        for finished in answer_once(scenario, TableModel(scenario.target), scenario.drafter(), Typical(seed)):
            for i in finished.judged:
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
