"""What is known of a pair can be written down and read again; a damaged file is refused whole."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from localspec.decoding.calibration import BINS
from localspec.decoding.knowledge import Knowledge


def experienced() -> Knowledge:
    knowledge, draw = Knowledge(), random.Random(1)
    for _ in range(300):
        knowledge.calibrations["model"].observe(draw.randrange(2 * BINS), kept=draw.random() < 0.6)
        knowledge.calibrations["ngram"].observe(draw.randrange(20), kept=draw.random() < 0.3)
        knowledge.moved(draw.randrange(-1, BINS), draw.randrange(3))
    knowledge.judged = 600
    knowledge.pace.wrote(340, 140)
    return knowledge


def test_moves_are_chances_from_the_start_and_follow_what_happened() -> None:
    knowledge = Knowledge()
    assert knowledge.moves.shape == (BINS + 1, BINS)
    assert knowledge.moves.sum(axis=1) == pytest.approx(np.ones(BINS + 1))
    assert (knowledge.moves > 0).all()

    for _ in range(2000):
        knowledge.moved(-1, 4)
        knowledge.moved(2, 7)

    assert knowledge.moves[-1, 4] > 0.95
    assert knowledge.moves[2, 7] > 0.95
    assert knowledge.moves[3] == pytest.approx(Knowledge().moves[3])
    assert knowledge.moves.sum(axis=1) == pytest.approx(np.ones(BINS + 1))


def test_old_moves_are_forgotten() -> None:
    knowledge = Knowledge()
    for found in (1, 9):
        for _ in range(1500):
            knowledge.moved(5, found)

    assert knowledge.moves[5, 9] > 0.9


def test_the_usual_confidence_is_that_of_all_guesses() -> None:
    knowledge = Knowledge()
    assert sum(knowledge.usual_bins) == pytest.approx(1)
    for last in range(-1, BINS):
        for _ in range(200):
            knowledge.moved(last, 6)

    assert knowledge.usual_bins[6] > 0.9


def test_what_is_known_survives_being_written_down() -> None:
    knowledge, other = experienced(), Knowledge()
    other.restore(json.loads(json.dumps(knowledge.state(), allow_nan=False)))

    assert other.state() == knowledge.state()
    assert other.judged == 600
    assert other.pace.speed == knowledge.pace.speed == pytest.approx(2)
    assert other.pace.tokens == knowledge.pace.tokens == 200
    assert (other.moves == knowledge.moves).all()


def test_what_was_written_before_there_were_trees_is_still_known() -> None:
    state = experienced().state()
    for source in ("model beside", "ngram beside"):
        del state["calibrations"][source]

    other = Knowledge()
    other.restore(state)

    assert other.calibrations["model"].state() == state["calibrations"]["model"]
    assert other.calibrations["model beside"].state() == Knowledge().calibrations["model beside"].state()


def _without(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda state: {name: value for name, value in state.items() if name != key}


def _with(key: str, value: object) -> Callable[[dict[str, Any]], Any]:
    return lambda state: {**state, key: value}


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "nothing": lambda _: None,
    "a list": lambda _: [],
    **{f"no {key}": _without(key) for key in ("calibrations", "judged", "speed", "moves")},
    "slower than off": _with("speed", 0.5),
    "no speed": _with("speed", float("nan")),
    "nothing written": _with("written", 0),
    "more written than is remembered": _with("written", 1e6),
    "less than nothing judged": _with("judged", -1),
    "words": _with("judged", "many"),
    "no source": _with("calibrations", {}),
    "one source": lambda state: {**state, "calibrations": {"model": state["calibrations"]["model"]}},
    "moves of another make": _with("moves", [[1.0]]),
    "ragged moves": _with("moves", [[1.0], [1.0, 2.0]]),
    "impossible moves": _with("moves", (-np.ones((BINS + 1, BINS))).tolist()),
    "infinite moves": _with("moves", np.full((BINS + 1, BINS), np.inf).tolist()),
    "a damaged lookup": lambda state: {**state, "calibrations": {**state["calibrations"], "ngram": {"kept": []}}},
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_state_is_refused_whole(name: str) -> None:
    knowledge, other = experienced(), Knowledge()
    before = copy.deepcopy(knowledge.state())

    with pytest.raises((ValueError, TypeError, KeyError)):
        knowledge.restore(DAMAGES[name](other.state()))

    assert knowledge.state() == before
