"""The test that `verify` makes: right rules pass it, rules with errors do not."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from localspec.bench.losslessness.findings import ERROR_RATE, Draws
from localspec.bench.losslessness.manners import MOST_GUESSES, Manner, guessed, manners_of
from localspec.bench.losslessness.places import Place
from localspec.bench.losslessness.planted import PLANTED, control_of, judges_together
from localspec.bench.losslessness.planted_trees import TREE_ERRORS
from localspec.bench.losslessness.real_rows import control_places
from localspec.bench.losslessness.sequences import CHUNK, PLACES, Tally, draw, judge, tasks_for
from localspec.bench.losslessness.small_trees import grow
from localspec.cli.verify import PLANTS
from localspec.decoding.acceptance import rule_for
from localspec.decoding.distributions import Sparse, probabilities_at
from localspec.decoding.sampling_settings import SamplingSettings


def places(count: int = 2 * PLACES, near: float = 0.6) -> list[Place]:
    """Places of six candidates; q is p, bent."""
    rng = np.random.default_rng(9)
    made = []
    for _ in range(count):
        ids = rng.permutation(50)[:6]
        p = np.sort(rng.dirichlet(np.ones(6)))[::-1]
        q = near * p + (1 - near) * rng.dirichlet(np.ones(6))
        made.append(Place(Sparse(ids, p), Sparse(ids, q), cut=False))
    return made


def drawn(among: list[Place], rule: str, sequences: int = 4000) -> Draws:
    tallies = [Tally(Counter()) for _ in among]
    for task in tasks_for(among, rule, sequences, draft_length=3, seed=1):
        for offset, tally in enumerate(draw(task)):
            tallies[task.first + offset].add(tally)
    return judge(among, tallies, rule)


def test_every_place_is_drawn_once_a_sequence() -> None:
    found = drawn(places(), "rejection", CHUNK + 10)
    assert {position.drawn for position in found.positions} == {CHUNK + 10}


DRAWN = Manner()
LOOKED_UP = Manner(drawn=False, looked_up=True)
BOTH = Manner(drawn=True, looked_up=True)
TREES = Manner(drawn=True, looked_up=True, branching=True)
LOOKED_UP_TREES = Manner(drawn=False, looked_up=True, branching=True)


@pytest.mark.parametrize(
    ("rule", "manner"),
    [
        *itertools.product(["rejection", "block", "coupled"], [DRAWN, LOOKED_UP, BOTH]),
        *itertools.product(["rejection", "coupled"], [TREES, LOOKED_UP_TREES]),
    ],
)
def test_a_lossless_rule_passes(rule: str, manner: Manner) -> None:
    found = drawn(guessed(places(PLACES), manner), rule, 3000)
    assert found.fine, found.smallest
    assert found.lossless
    assert found.drafts == ("trees" if manner.branching else "chains")
    for position in found.positions:
        assert position.tv_sampled < 4 * position.tv_noise


def test_a_rule_is_tested_on_all_that_the_sources_it_judges_may_guess() -> None:
    every = ["hybrid", "lookahead", "tree", "cascade"]
    assert manners_of(every, "auto") == {"block": BOTH, "rejection": TREES}
    assert manners_of(every, "coupled") == {"coupled": TREES}
    assert manners_of(["lookahead"], "block") == {"block": LOOKED_UP}
    assert manners_of(["ngram", "lookahead"], "auto") == {"block": LOOKED_UP, "rejection": LOOKED_UP_TREES}
    for drafter in ("model", "pruned", "cascade"):
        assert manners_of([drafter], "auto") == {"block": DRAWN}
    for name in PLANTED:
        assert manners_of(["ngram"], name) == {name: TREES if name in TREE_ERRORS else DRAWN}


def test_trees_hold_every_number_of_guesses_and_each_source_is_the_first_somewhere() -> None:
    made = guessed(places(), TREES)
    assert {len(place.guesses) for place in made} == set(range(1, MOST_GUESSES + 1))
    assert {place.guesses[0] is None for place in made if len(place.guesses) > 1} == {True, False}
    rule = rule_for("rejection", SamplingSettings(temperature=1.0, seed=3))
    most = 0
    for place in range(PLACES):
        draft, depths = grow(made[place:], rule, 0)
        assert depths == [len(draft.path(guess)) for guess in range(len(depths))]
        most = max(most, sum(len(draft.children(guess)) > 1 for guess in range(-1, len(draft.tokens))))
    assert most == 3


def test_typical_acceptance_does_not_pass_and_says_itself_that_it_is_lossy() -> None:
    found = drawn(places(), "typical")
    assert not found.fine
    assert not found.lossless


SHARP = [
    Place(
        Sparse(np.array([2 * i, 2 * i + 1]), np.array([0.9, 0.1])),
        Sparse(np.array([2 * i, 2 * i + 1]), np.array([0.88, 0.12])),
        cut=False,
    )
    for i in range(30)
]
"""Places where hardly any choice is left and no two share a token."""

WITHOUT_DRAFT = [replace(place, q=None) for place in SHARP]
FRAMES = {"wide": places(near=0.8), "sharp": SHARP, "without a draft": WITHOUT_DRAFT}


def controlled(name: str, frame: str) -> tuple[list[Place], int]:
    """The places at which an error is looked for, and how many sequences suffice."""
    trees = name in TREE_ERRORS
    made = control_places(FRAMES[frame], together=judges_together(name), branching=trees)
    return guessed(made, Manner(drawn=True, looked_up=trees, branching=trees)), 1500 if trees else 2500


@pytest.mark.parametrize(
    ("name", "frame"),
    [*itertools.product(PLANTED, ["wide", "sharp"]), *((name, "without a draft") for name in [*PLANTED][::4])],
)
def test_a_planted_error_is_found(name: str, frame: str) -> None:
    among, sequences = controlled(name, frame)
    assert not drawn(among, name, sequences).fine


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("residual-is-p", "rejection"),
        ("residual-is-p", "coupled"),
        ("block-first-failure", "block"),
        ("tree-last-first", "rejection"),
        ("tree-last-first", "coupled"),
    ],
)
def test_a_right_rule_in_the_same_frame_is_not(name: str, rule: str, frame: str) -> None:
    among, sequences = controlled(name, frame)
    assert drawn(among, rule, sequences).fine


def test_the_rule_under_test_is_held_to_its_own_kind_of_errors() -> None:
    for rule in PLANTED:
        control = control_of(rule, branching=rule in TREE_ERRORS)
        assert control.right == rule in control.errors
    assert control_of("coupled", branching=True).errors is TREE_ERRORS
    assert control_of("typical", branching=False).right == "rejection"


@pytest.mark.parametrize("name", TREE_ERRORS)
def test_an_error_of_trees_shows_in_what_is_written_not_only_in_how_often_a_first_guess_is_kept(name: str) -> None:
    found = drawn(controlled(name, "wide")[0], name, 1500)
    written = [each for place in found.positions for each in (place.p_value, place.pair_p_value) if each is not None]
    assert min(written) * len(written) < ERROR_RATE or any(place.impossible for place in found.positions)


@pytest.mark.parametrize("manner", [DRAWN, BOTH, TREES, LOOKED_UP_TREES])
def test_the_acceptance_of_first_guesses_is_one_minus_the_total_variation(manner: Manner) -> None:
    for position in drawn(guessed(places(PLACES), manner), "rejection").positions:
        if position.examined > 1000:
            assert position.accepted / position.examined == pytest.approx(1 - position.tv_draft, abs=0.1)
            assert position.share_p_value is not None


def test_total_variation_is_that_of_p_and_q() -> None:
    (place,) = places(1)
    ids, p = place.p.support()
    found = drawn([place], "rejection", 10)
    assert found.positions[0].tv_draft == pytest.approx(np.abs(p - probabilities_at(place.first, ids)).sum() / 2)


def test_a_token_that_p_forbids_fails_whatever_the_counts() -> None:
    place = Place(Sparse(np.array([1]), np.ones(1)), Sparse(np.array([1]), np.ones(1)), cut=False)
    found = judge([place], [Tally(Counter({1: 10**6, 2: 1}))], "rejection")
    assert found.positions[0].impossible == 1
    assert not found.fine


def test_the_errors_that_the_command_names_are_those_there_are() -> None:
    assert tuple(PLANTED) == PLANTS
