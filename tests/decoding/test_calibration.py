"""What is expected of a guess: a prior first, then what was seen, lately above all."""

from __future__ import annotations

import json
import math
import random
import statistics

import pytest

from localspec.decoding.calibration import (
    BINS,
    MODEL_PRIORS,
    MOST_CERTAIN,
    OF_LOOKUPS,
    Calibration,
    Manner,
    chance_of_likeliest,
    model_bin,
    model_level,
)

PRIORS = (0.2, 0.5, 0.9)


def taught(acceptances: dict[int, float], guesses: int, seed: int = 0) -> Calibration:
    calibration = Calibration(PRIORS)
    teach(calibration, acceptances, guesses, seed)
    return calibration


def teach(calibration: Calibration, acceptances: dict[int, float], guesses: int, seed: int = 0) -> None:
    draw = random.Random(seed)
    for _ in range(guesses):
        level = draw.choice(list(acceptances))
        calibration.observe(level, kept=draw.random() < acceptances[level])


def test_at_first_the_priors_are_expected() -> None:
    calibration = Calibration(PRIORS)

    assert [calibration.acceptance(level) for level in range(3)] == pytest.approx(PRIORS)
    assert calibration.levels == 3


def test_levels_are_learned_apart_from_each_other() -> None:
    calibration = taught({0: 0.7, 2: 0.7}, 1500)

    assert calibration.acceptance(0) == pytest.approx(0.7, abs=0.08)
    assert calibration.acceptance(2) == pytest.approx(0.7, abs=0.08)
    assert calibration.acceptance(1) == pytest.approx(0.5, abs=0.1)


def test_what_was_long_ago_is_forgotten() -> None:
    calibration = taught({1: 0.1}, 2000)
    teach(calibration, {1: 0.9}, 1500)

    assert calibration.acceptance(1) == pytest.approx(0.9, abs=0.06)


def test_a_draft_that_became_useless_shows_after_a_few_guesses_at_all_levels() -> None:
    calibration = taught({0: 0.2, 1: 0.5, 2: 0.9}, 1000)
    before = [calibration.acceptance(level) for level in range(3)]
    for _ in range(25):
        calibration.observe(2, kept=False)

    for level in range(3):
        assert calibration.acceptance(level) < 0.7 * before[level]


def test_an_easy_passage_shows_at_all_levels_and_makes_none_certain() -> None:
    calibration = taught({0: 0.2, 1: 0.5, 2: 0.9}, 1000)
    before = [calibration.acceptance(level) for level in range(3)]
    teach(calibration, {0: 0.4, 1: 0.75}, 40)

    assert calibration.ease > 1.2
    for level in range(3):
        assert before[level] < calibration.acceptance(level) < before[level] + 0.6 * (1 - before[level])


def test_chance_alone_makes_no_passage_hard_or_easy() -> None:
    found = []
    for seed in range(40):
        calibration = taught({0: 0.2, 1: 0.5, 2: 0.9}, 600, seed)
        found.append(calibration.ease)

    assert statistics.mean(found) == pytest.approx(1, abs=0.1)
    assert statistics.stdev(found) < 0.35


def test_the_less_is_known_of_a_lookups_guesses_the_less_is_counted_on() -> None:
    calibration = Calibration(PRIORS, OF_LOOKUPS)

    def held_back(level: int) -> float:
        return calibration.expected(level) - calibration.acceptance(level)

    assert calibration.expected(1) == pytest.approx(0.5)
    at_first = held_back(1)
    teach(calibration, {1: 0.5}, 400)
    known = held_back(1)
    for _ in range(200):
        calibration.unjudged()

    assert at_first > 0.07
    assert 0 < known < held_back(1) < at_first


def test_without_caution_what_is_expected_is_counted_on() -> None:
    calibration = Calibration(PRIORS, Manner(0.4, 0.0))
    teach(calibration, {1: 0.3}, 50)

    assert [calibration.acceptance(level) for level in range(3)] == [calibration.expected(level) for level in range(3)]


def test_the_ease_of_a_passage_does_not_outlive_it() -> None:
    def after_a_hard_passage() -> Calibration:
        calibration = taught({1: 0.6}, 1000)
        for _ in range(40):
            calibration.observe(1, kept=False)
        return calibration

    hard, later, another = after_a_hard_passage(), after_a_hard_passage(), after_a_hard_passage()
    for _ in range(120):
        later.unjudged()
    another.begin_answer()

    assert hard.ease < another.ease < later.ease
    assert later.ease == pytest.approx(1, abs=0.05)


def test_no_guess_is_certain() -> None:
    calibration = Calibration((0.9999,))
    for _ in range(1000):
        calibration.observe(0, kept=True)

    assert calibration.acceptance(0) == MOST_CERTAIN


def test_the_levels_of_a_model_follow_its_confidence() -> None:
    bins = [model_bin(greatest) for greatest in (0.0, 0.19, 0.2, 0.5, 0.9, 0.9985, 0.999, 1.0)]

    assert bins == sorted(bins)
    assert (bins[0], bins[-1]) == (0, BINS - 1)
    assert len(MODEL_PRIORS) == 2 * BINS
    assert {model_level(0.6, likeliest=likely) for likely in (True, False)} == {model_bin(0.6), model_bin(0.6) + BINS}
    for greatest in (0.15, 0.4, 0.7, 0.97, 1.0):
        assert chance_of_likeliest(model_bin(greatest)) == pytest.approx(greatest, abs=0.08)


def test_what_was_learned_survives_being_written_down() -> None:
    calibration, other = taught({0: 0.7, 1: 0.1}, 500), Calibration(PRIORS)
    other.restore(json.loads(json.dumps(calibration.state())))
    calibration.begin_answer()

    assert other.state() == calibration.state()
    for level in (0, 1, 2):
        assert other.acceptance(level) == pytest.approx(calibration.acceptance(level), rel=0.2)


@pytest.mark.parametrize(
    "damage",
    [
        None,
        [],
        {},
        {"kept": [1, 2, 3]},
        {"kept": [1, 1], "judged": [2, 2]},
        {"kept": [1, 1, 1], "judged": [2, 2]},
        {"kept": [3, 1, 1], "judged": [2, 2, 2]},
        {"kept": [-1, 1, 1], "judged": [2, 2, 2]},
        {"kept": [0, 1, 1], "judged": [0, 2, 2]},
        {"kept": [math.nan, 1, 1], "judged": [2, 2, 2]},
        {"kept": [1, 1, 1], "judged": [math.inf, 2, 2]},
        {"kept": [1, 1, "x"], "judged": [2, 2, 2]},
        {"kept": 1, "judged": 2},
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(damage: object) -> None:
    calibration = taught({0: 0.7}, 100)
    before = calibration.state()

    with pytest.raises((ValueError, TypeError, KeyError)):
        calibration.restore(damage)

    assert calibration.state() == before
