"""Which source is used, against the one that hindsight would use: simulated, with fixed seeds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from localspec.decoding.source_choice import NONE, SourceChoice, SourceWatch
from localspec.decoding.source_speeds import SourceSpeeds
from tests.decoding.sources import COSTS, one_round, random, write

THEORIES = {"hybrid": 1.3, "tree": 1.3, "cascade": 1.3, "lookahead": 1.0}
TEXTS = (2.2, 1.3, 1.05, 1.5)
"""How fast the usual source is, conversation after conversation: texts differ more than sources do."""

SEEDS = (0, 1, 2)


def usual_is_best(source: str, conversation: int) -> float:
    return 0.98 if source == "lookahead" else TEXTS[conversation % 4] * (1.0 if source == "hybrid" else 0.95)


def tree_is_best(source: str, conversation: int) -> float:
    return usual_is_best(source, conversation) * (1.2 if source == "tree" else 1.0)


def hardly_any_pays(source: str, conversation: int) -> float:  # noqa: ARG001 - as all of these
    return {"hybrid": 0.98, "lookahead": 0.97}.get(source, 0.96)


def all_are_slow(source: str, conversation: int) -> float:  # noqa: ARG001 - as all of these
    return {"hybrid": 0.85, "tree": 0.8, "cascade": 0.9, "lookahead": 0.7}[source]


def changes(source: str, conversation: int) -> float:
    return {"hybrid": 1.5, "tree": 1.0}.get(source, 0.97) if conversation < 12 else {"tree": 1.5}.get(source, 1.0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("speed", [usual_is_best, tree_is_best, hardly_any_pays, all_are_slow])
def test_it_is_nearly_as_fast_as_the_best_source_and_never_slower_than_off(speed, seed: int) -> None:
    run = write(THEORIES, speed, seed)
    assert run.of_best() >= 0.97
    assert run.of_off() >= 0.97


@pytest.mark.parametrize("seed", SEEDS)
def test_each_text_is_written_nearly_as_fast_as_by_the_best_source_for_it(seed: int) -> None:
    run = write(THEORIES, usual_is_best, seed)
    for text in range(4):
        of_text = replace(run, speeds=run.speeds[text::4], best=run.best[text::4])
        # Of 12 conversations; chance alone makes 1 % of the speed of so many tokens.
        assert of_text.of_best() >= 0.96, text


@pytest.mark.parametrize("seed", SEEDS)
def test_a_better_source_is_found_though_texts_differ_more_than_sources(seed: int) -> None:
    run = write(THEORIES, tree_is_best, seed)
    assert run.share("tree") > 0.7


@pytest.mark.parametrize("seed", SEEDS)
def test_it_recovers_after_a_change(seed: int) -> None:
    run = write(THEORIES, changes, seed)
    assert run.of_best() >= 0.93
    assert run.of_best(first=24) >= 0.97


@pytest.mark.parametrize("seed", SEEDS)
def test_a_source_that_theory_thinks_little_of_is_found_in_the_end(seed: int) -> None:
    speed = {"hybrid": 1.0, "tree": 0.98, "cascade": 0.97, "lookahead": 1.5}
    run = write(THEORIES, lambda source, _: speed[source], seed)
    assert run.of_best(first=24) >= 0.93
    assert run.of_off() >= 0.97


@pytest.mark.parametrize("seed", SEEDS)
def test_trying_costs_no_more_than_one_percent(seed: int) -> None:
    others = {"hybrid": 1.5, "tree": 0.5, "cascade": 0.5, "lookahead": 0.5}
    run = write(dict.fromkeys(THEORIES, 1.5), lambda source, _: others[source], seed, conversations=60)
    # At most what 1 % of the time and one stretch too many for each source can lose.
    assert run.of_best() >= 0.98


def test_nothing_is_guessed_where_all_that_is_known_promises_less() -> None:
    speeds = SourceSpeeds()
    for _ in range(40):
        speeds.take("ngram", 1.0, 32, 40)
    choice = SourceChoice({"ngram": 1.0}, speeds)
    assert choice.current == NONE
    assert choice.finish().source == NONE


def test_at_first_the_usual_source_is_used_where_none_promises_more() -> None:
    assert SourceChoice(dict.fromkeys(THEORIES, 1.2), SourceSpeeds()).current == "hybrid"


def test_the_answer_says_who_wrote_it_and_what_was_expected() -> None:
    speeds, luck = SourceSpeeds(), random.Random(0)
    choice = SourceChoice(THEORIES, speeds)
    while choice.current == "hybrid":
        choice.observe(one_round("hybrid", 1.4, luck), COSTS)
    choice.observe(one_round(choice.current, 1.4, luck), COSTS)
    chosen = choice.finish()
    assert chosen.source == "hybrid"
    assert chosen.tried == ("tree",)
    assert {promise.source for promise in chosen.promises} == {*THEORIES, NONE}
    assert chosen.showed == pytest.approx(1.4, rel=0.3)


def test_an_easy_text_does_not_make_its_source_better_than_those_that_wrote_others() -> None:
    speeds = SourceSpeeds()
    for easy in (2.0, 1.0) * 20:
        speeds.begin_conversation()
        for _ in range(4):
            speeds.take("hybrid", 1.3, 32, 32 / (1.3 * easy))
            speeds.take("tree", 1.3, 32, 32 / (1.3 * easy))
    speeds.begin_conversation()
    for _ in range(8):
        speeds.take("hybrid", 1.3, 32, 32 / 2.6)
    assert speeds.expected("tree", 1.3) == pytest.approx(speeds.expected("hybrid", 1.3), rel=0.15)
    assert speeds.expected("tree", 1.3) > 1.8


def test_a_pause_of_the_machine_is_not_taken_for_the_speed_of_a_source() -> None:
    speeds = SourceSpeeds()
    for _ in range(20):
        speeds.take("hybrid", 1.3, 32, 32 / 1.3)
    speeds.take("hybrid", 1.3, 32, 3200.0)
    assert speeds.expected("hybrid", 1.3) > 1.1


def test_what_was_learned_outlasts_the_process() -> None:
    speeds, again = SourceSpeeds(), SourceSpeeds()
    for _ in range(100):
        speeds.begin_conversation()
        speeds.take("tree", 1.3, 320, 200.0)
    again.restore(json.loads(json.dumps(speeds.state())))
    speeds.begin_conversation()
    assert again.expected("tree", 1.3) == pytest.approx(speeds.expected("tree", 1.3), rel=1e-6)
    assert again.expected("tree", 1.3) > 1.4


@pytest.mark.parametrize(
    "damage",
    [
        {"mean": [0.0]},
        {"covariance": [[1.0]]},
        {"sources": ["model"]},
        {"mean": [float("nan")] * 7},
    ],
)
def test_damaged_knowledge_is_refused_and_nothing_of_it_taken_over(damage: dict) -> None:
    speeds = SourceSpeeds()
    before = speeds.expected("hybrid", 1.3)
    with pytest.raises(ValueError, match="damaged"):
        speeds.restore({**speeds.state(), **damage})
    assert speeds.expected("hybrid", 1.3) == before


def test_a_source_that_was_named_teaches_as_well() -> None:
    speeds, luck = SourceSpeeds(), random.Random(1)
    watch = SourceWatch({"tree": 1.3}, speeds)
    for _ in range(100):
        watch.observe("tree", one_round("tree", 2.0, luck), COSTS)
    watch.end_stretch()
    assert speeds.expected("tree", 1.3) > 1.6
