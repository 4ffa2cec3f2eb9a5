"""How fast text was written lately."""

from __future__ import annotations

import pytest

from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pace import Pace
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Origin, Round


def test_it_begins_with_what_it_is_told_and_forgets_that() -> None:
    pace = Pace(200, 100, 2.0)
    assert pace.speed == 2
    for _ in range(100):
        pace.wrote(3, 2.0)
    assert pace.speed == pytest.approx(1.5, rel=0.05)
    assert pace.tokens == pytest.approx(200)


def test_it_is_never_below_that_of_no_guesses() -> None:
    pace = Pace(200, 60, 1.0)
    for _ in range(100):
        pace.wrote(1, 1.2)
    assert pace.speed == 1


def test_a_machine_that_slows_down_leaves_it_as_it_was() -> None:
    """All passes take twice as long: what is asked of a guess halves with what a second brings."""
    knowledge = Knowledge()
    rule = AdaptiveLength(PassCosts({1: 0.1, 4: 0.2}, {1: 0.01}), knowledge, greedy=True)

    def write(slower: float) -> None:
        for _ in range(200):
            rule.observe(
                Round(
                    (1, 2, 3),
                    (0, 1, 2),
                    (1, 2, 3, 4),
                    (Origin.DRAFT,) * 3 + (Origin.BONUS,),
                    ("model",) * 3,
                    (),
                    (),
                    0.2 * slower,
                    0.2 * slower,
                )
            )

    write(1.0)
    before = rule.rate
    write(2.0)

    assert before == pytest.approx(20, rel=0.05)
    assert rule.rate == pytest.approx(10, rel=0.05)
    assert rule.rate * rule.costs.target(1) == pytest.approx(2, rel=0.05)
    assert knowledge.pace.speed == pytest.approx(2, rel=0.1)


def test_what_was_written_down_of_it_is_never_refused() -> None:
    """As floats x (200 / x) may be more than 200."""
    for i in range(1000):
        knowledge = Knowledge()
        for tokens in (1 + i % 7, 150 + i):
            knowledge.pace.wrote(tokens, 1.0 + 0.037 * i)
        again = Knowledge()
        again.restore(knowledge.state())
        assert again.pace.tokens == knowledge.pace.tokens <= 200
