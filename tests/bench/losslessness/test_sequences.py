"""The test that `verify` makes: right rules pass it, rules with errors do not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from localspec.bench.losslessness.findings import Draws
from localspec.bench.losslessness.planted import PLANTED, control_of, judges_together
from localspec.bench.losslessness.real_rows import control_places
from localspec.bench.losslessness.sequences import CHUNK, PLACES, Place, Tally, draw, judge, tasks_for
from localspec.cli.verify import PLANTS
from localspec.decoding.distributions import Sparse, probabilities_at


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


@pytest.mark.parametrize("rule", ["rejection", "block", "coupled"])
def test_a_lossless_rule_passes(rule: str) -> None:
    found = drawn(places(PLACES), rule, 3000)
    assert found.fine, found.smallest
    assert found.lossless
    for position in found.positions:
        assert position.tv_sampled < 4 * position.tv_noise


def test_typical_acceptance_does_not_pass_and_says_itself_that_it_is_lossy() -> None:
    found = drawn(places(), "typical")
    assert not found.fine
    assert not found.lossless


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_found_and_the_right_rule_in_the_same_frame_is_not(name: str) -> None:
    control = control_places(places(near=0.8), together=judges_together(name))
    assert not drawn(control, name).fine
    assert drawn(control, control_of(name)[0]).fine


@pytest.mark.parametrize("name", PLANTED)
def test_it_is_found_where_hardly_any_choice_is_left_and_no_two_places_share_a_token(name: str) -> None:
    sharp = [Sparse(np.array([2 * i, 2 * i + 1]), np.array([0.9, 0.1])) for i in range(30)]
    near = [Sparse(np.array([2 * i, 2 * i + 1]), np.array([0.88, 0.12])) for i in range(30)]
    control = control_places(
        [Place(p, q, cut=False) for p, q in zip(sharp, near, strict=True)], together=judges_together(name)
    )
    assert not drawn(control, name).fine
    assert drawn(control, control_of(name)[0]).fine


def test_the_acceptance_is_one_minus_the_total_variation() -> None:
    for position in drawn(places(), "rejection").positions:
        if position.examined > 1000:
            assert position.accepted / position.examined == pytest.approx(1 - position.tv_draft, abs=0.1)
            assert position.share_p_value is not None


def test_total_variation_is_that_of_p_and_q() -> None:
    (place,) = places(1)
    ids, p = place.p.support()
    found = drawn([place], "rejection", 10)
    assert found.positions[0].tv_draft == pytest.approx(np.abs(p - probabilities_at(place.q, ids)).sum() / 2)


def test_a_token_that_p_forbids_fails_whatever_the_counts() -> None:
    place = Place(Sparse(np.array([1]), np.ones(1)), Sparse(np.array([1]), np.ones(1)), cut=False)
    found = judge([place], [Tally(Counter({1: 10**6, 2: 1}))], "rejection")
    assert found.positions[0].impossible == 1
    assert not found.fine


def test_the_errors_that_the_command_names_are_those_there_are() -> None:
    assert tuple(PLANTED) == PLANTS
