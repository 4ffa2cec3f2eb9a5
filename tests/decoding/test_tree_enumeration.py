"""The law of a round over a tree, worked out over everything that can happen: it is the target's own, to the last bit.

Nothing is left to chance here: each token of a round, given those before it, must have exactly the target's
distribution, at the first place and the last, whatever the tree looks like; and every planted error shows.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from localspec.decoding.rounds import Draft
from localspec.decoding.sampling_settings import SamplingSettings
from tests.decoding.outcomes import Explorer, outcomes
from tests.decoding.scenarios import Scenario
from tests.decoding.table_model import near, random_table
from tests.decoding.tree_errors import PLANTED, WrongPath
from tests.decoding.trees import Shape, Tree, greatest_deviation, rounds_that_can_be

EXACT = 1e-7
"""Rounding: penalties are applied to numbers of 24 bits."""

SPARSE = SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=1e-7)
"""Nothing is cut off, but distributions list their tokens: what draws from them can be followed."""

PENALTIES = replace(SPARSE, repetition_penalty=1.8, frequency_penalty=0.7, penalty_window=3)

TARGET = random_table(21, 3, spread=1.2)
DRAFT = near(TARGET, 22, 1.0)
TARGET_2 = random_table(23, 3, order=2)
TARGET_4 = random_table(24, 4)

TREES = {
    "one place, two guesses": Tree(shape=Shape(1, 0, 1)),
    "one place, all there are": Tree(shape=Shape(1, 0, 2)),
    "two places": Tree(shape=Shape(2, 0, 2)),
    "a branch that goes on": Tree(shape=Shape(2, 1, 1)),
    "branches and leaves": Tree(shape=Shape(2, 2, 2)),
    "a chain": Tree(shape=Shape(3, 0, 0)),
    "a looked-up token beside the model's": Tree(shape=Shape(1, 0, 1), finds=(1,)),
    "looked-up tokens, and the model's again": Tree(shape=Shape(1, 0, 3), finds=(2, 1)),
    "looked-up tokens on the spine": Tree(shape=Shape(1, 0, 2, looked_up=2), finds=(0, 1)),
    "looked-up and drawn, branches": Tree(shape=Shape(2, 1, 3), finds=(1, 2)),
}
SAMPLINGS = {
    "plain": SPARSE,
    "top-k": replace(SPARSE, top_k=2),
    "top-p, hot": replace(SPARSE, top_p=0.9, temperature=1.7),
    "penalties": PENALTIES,
}


def of(name: str, sampling: str = "plain") -> Tree:
    return replace(TREES[name], sampling=SAMPLINGS[sampling], target=TARGET, table=DRAFT, prompt=(0, 2, 1))


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("name", TREES)
def test_each_token_of_a_round_has_exactly_the_targets_distribution(name: str, sampling: str) -> None:
    scenario = of(name, sampling)

    rounds = rounds_that_can_be(scenario)

    assert sum(probability for _, probability in rounds) == pytest.approx(1, abs=1e-12)
    assert greatest_deviation(scenario, rounds) < EXACT


@pytest.mark.parametrize("sampling", ["plain", "penalties"])
def test_so_it_has_where_the_target_looks_two_tokens_back(sampling: str) -> None:
    scenario = replace(of("branches and leaves", sampling), target=TARGET_2)

    assert greatest_deviation(scenario, rounds_that_can_be(scenario)) < EXACT


def test_so_it_has_with_more_tokens_than_guesses() -> None:
    scenario = replace(of("two places"), target=TARGET_4, table=random_table(25, 4))

    assert greatest_deviation(scenario, rounds_that_can_be(scenario)) < EXACT


def test_the_trees_are_what_their_names_say() -> None:
    """Else the tests above would show nothing."""

    def seen(name: str) -> set[tuple[int, ...]]:
        return {finished.parents for finished, _ in rounds_that_can_be(of(name))}

    assert seen("one place, two guesses") == {(-1, -1)}
    assert seen("one place, all there are") == {(-1, -1, -1)}
    assert seen("a branch that goes on") == {(-1, 0, -1, 2)}
    assert seen("branches and leaves") == {(-1, 0, -1, 2, 0, 3)}
    assert seen("a chain") == {()}
    sources = {finished.sources for finished, _ in rounds_that_can_be(of("looked-up and drawn, branches"))}
    assert any("ngram" in each for each in sources)


def test_rounds_end_at_every_place_of_the_tree() -> None:
    paths = {finished.path for finished, _ in rounds_that_can_be(of("branches and leaves"))}

    assert paths == {(), (0,), (0, 1), (0, 4), (2,), (2, 3), (2, 3, 5)}


@pytest.mark.parametrize("name", TREES)
def test_no_token_is_guessed_twice_for_one_place(name: str) -> None:
    for finished, _ in rounds_that_can_be(of(name)):
        parents = finished.parents or tuple(range(-1, len(finished.drafted) - 1))
        places = list(zip(parents, finished.drafted, strict=True))
        assert len(set(places)) == len(places)


@pytest.mark.parametrize("name", PLANTED)
def test_an_error_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[name]
    scenario = of(planted.tree, planted.sampling)
    if planted.path:
        monkeypatch.setattr(Draft, "path", planted.path)

    rounds = rounds_that_can_be(scenario, planted.rule, planted.change)

    assert greatest_deviation(scenario, rounds) > 1e-3


def test_keeping_the_wrong_branch_is_found_out() -> None:
    """The caches are compared with the text; and where the target looks back further, the next round shows it."""
    scenario: Scenario = replace(of("branches and leaves"), target=TARGET_2)
    target = WrongPath(TARGET_2)
    with pytest.raises(AssertionError, match="not the text"):
        target.answer(scenario)


def test_the_explorer_gives_every_outcome_its_probability() -> None:
    def run(explorer: Explorer) -> str:
        first = explorer.uniform()
        if first * 2.0 < 0.5:
            return "a" if explorer.uniform() * 1.0 < 0.1 else "b"
        return "c" if first * 1.0 - 0.5 < 0 else "d"

    found = dict(outcomes(run))

    assert found == pytest.approx({"a": 0.025, "b": 0.225, "c": 0.25, "d": 0.5})
