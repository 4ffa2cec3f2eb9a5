"""A draft that is itself drafted for leaves the text the target's own, and errors between the levels are found out.

Each level is tested alone too: the guesses of a cascade are tokens of the draft model, wherever they stand in a draft.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from localspec.decoding.acceptance import rule_for
from localspec.decoding.drafters import cascade
from tests.decoding.cascade_errors import PLANTED
from tests.decoding.cascades import CASCADES, Cascade, gather_drafts
from tests.decoding.exactness import find_error
from tests.decoding.scenarios import answer_once, gather
from tests.decoding.table_model import TableModel


@pytest.mark.parametrize("rule", ["rejection", "block"])
@pytest.mark.parametrize("name", CASCADES)
def test_emitted_tokens_have_the_targets_distribution(name: str, rule: str) -> None:
    tally = gather(CASCADES[name], rule, answers=50)

    assert find_error(tally.tests(), tally) is None


@pytest.mark.parametrize("name", CASCADES)
def test_guesses_have_the_draft_models_distribution_and_it_is_what_is_claimed_of_them(name: str) -> None:
    tally, wrong = gather_drafts(CASCADES[name], "rejection", answers=50)

    assert find_error(tally.tests(), tally) is None
    assert wrong == []


def text_of(scenario: Cascade, rule: str, *, seed: int) -> list[int]:
    seeded = replace(scenario, sampling=replace(scenario.sampling, seed=seed))
    rounds = answer_once(seeded, TableModel(scenario.target), scenario.drafter(), rule_for(rule, seeded.sampling))
    return [token for each in rounds for token in each.tokens]


@pytest.mark.parametrize("name", CASCADES)
def test_a_coupled_text_is_the_same_without_drafts(name: str) -> None:
    scenario = CASCADES[name]
    for seed in range(10):
        off = text_of(replace(scenario, draft_length=0, one_round=False), "coupled", seed=seed)
        assert text_of(scenario, "coupled", seed=seed) == off


@pytest.mark.parametrize("name", CASCADES)
def test_at_temperature_0_the_text_is_the_same_without_drafts(name: str) -> None:
    scenario = CASCADES[name]
    cold = replace(scenario, sampling=replace(scenario.sampling, temperature=0.0))
    off = text_of(replace(cold, draft_length=0, one_round=False), "greedy", seed=0)

    for rule in ("auto", "greedy", "rejection", "block", "coupled", "typical"):
        assert text_of(cold, rule, seed=0) == off


@pytest.mark.parametrize("name", PLANTED)
def test_an_error_between_the_levels_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[name]
    monkeypatch.setattr(cascade, planted.name, planted.error)

    if planted.inside:
        tally, _ = gather_drafts(planted.scenario, planted.rule, planted.answers)
    else:
        tally = gather(planted.scenario, planted.rule, planted.answers)

    assert find_error(tally.tests(), tally) is not None
