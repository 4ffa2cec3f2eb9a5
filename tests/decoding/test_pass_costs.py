"""What passes cost: between the measured widths, and as they change while in use."""

from __future__ import annotations

import math
import random

import pytest

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.pass_costs import NOTICEABLE, PassCosts
from localspec.decoding.rounds import DraftPass, Origin, Round

MEASURED = {1: 0.100, 2: 0.103, 3: 0.180, 4: 0.150, 8: 0.200, 16: 0.320}
DRAFT = {1: 0.030, 2: 0.034, 8: 0.070}


def costs(draft: dict[int, float] | None = None) -> PassCosts:
    return PassCosts(MEASURED, DRAFT if draft is None else draft)


def a_round(width: int, seconds: float, passes: tuple[DraftPass, ...] = ()) -> Round:
    """A round whose pass over `width` tokens took so long."""
    drafted = tuple(range(width - 1))
    return Round(
        drafted=drafted,
        path=(),
        tokens=(7,),
        origins=(Origin.CORRECTION if drafted else Origin.PLAIN,),
        sources=("model",) * len(drafted),
        predictions=(),
        passes=passes,
        target_seconds=seconds,
        seconds=seconds,
    )


def watch(held: PassCosts, slower: float, rounds: int, widths: tuple[int, ...] = (1, 2, 4), noise: float = 0.0) -> None:
    """Rounds whose passes take `slower` times what was measured."""
    chance = random.Random(1)
    for i in range(rounds):
        width = widths[i % len(widths)]
        stray = math.exp(chance.gauss(0.0, noise))
        step = DraftPass(1, DRAFT[1] * slower * math.exp(chance.gauss(0.0, noise)))
        held.observe(a_round(width, MEASURED[width] * slower * stray, (step,) * (width - 1)))


def test_a_measured_width_costs_what_was_measured_also_where_a_wider_pass_is_cheaper() -> None:
    assert [costs().target(width) for width in MEASURED] == pytest.approx(list(MEASURED.values()))
    assert costs().target(4) < costs().target(3)


def test_between_two_measured_widths_the_cost_lies_on_a_line() -> None:
    assert costs().target(6) == pytest.approx(0.175)
    assert costs().draft(5) == pytest.approx(0.052)


def test_the_curve_holds_every_width_a_verification_can_have() -> None:
    assert costs().target_curve == tuple(costs().target(width) for width in range(1, LONGEST_DRAFT + 2))


def test_beyond_the_widest_measured_the_cost_goes_on_rising() -> None:
    assert costs().target(32) == pytest.approx(0.320 + 16 * 0.015)
    assert costs().draft(300) == pytest.approx(0.070 + 292 * 0.006)


def test_a_curve_that_falls_at_its_end_is_not_taken_to_fall_for_ever() -> None:
    falling = PassCosts({1: 1.0, 8: 1.6, 9: 1.3}, {})
    assert falling.target(10) > 1.3
    assert PassCosts({1: 1.0, 2: 0.9}, {}).target(32) == pytest.approx(0.9)


def test_with_one_width_measured_each_further_token_costs_as_much() -> None:
    assert PassCosts({1: 0.2}, {}).target(5) == pytest.approx(1.0)


def test_below_the_narrowest_measured_the_cost_is_that_of_the_narrowest() -> None:
    assert PassCosts({4: 0.2, 8: 0.3}, {}).target(1) == pytest.approx(0.2)


def test_without_a_draft_a_step_is_never_worth_its_time() -> None:
    alone = costs(draft={})
    assert alone.draft(1) == math.inf
    alone.observe(a_round(4, 0.15))
    assert alone.draft(300) == math.inf


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_time_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="cannot take"):
        PassCosts({1: bad}, {})
    with pytest.raises(ValueError, match="cannot take"):
        PassCosts({1: 1.0}, {0: 1.0})
    with pytest.raises(ValueError, match="no pass"):
        PassCosts({}, {1: 1.0})


def test_passes_as_measured_change_nothing() -> None:
    held = costs()
    before = held.target_curve
    watch(held, 1.0, 200)
    assert held.target_curve is before
    assert held.version == 0


@pytest.mark.parametrize("stray", [10.0, 0.1])
def test_a_single_stray_pass_moves_nothing(stray: float) -> None:
    held = costs()
    watch(held, 1.0, 5)
    held.observe(a_round(4, MEASURED[4] * stray, (DraftPass(1, DRAFT[1] * stray), DraftPass(1, DRAFT[1]))))
    watch(held, 1.0, 5)
    assert held.version == 0


def test_slow_first_passes_of_short_answers_move_nothing() -> None:
    held = costs()
    for _ in range(30):
        held.observe(a_round(4, MEASURED[4] * 3))
        watch(held, 1.0, 6)
    assert held.target(4) == pytest.approx(MEASURED[4], rel=0.1)
    assert held.target(1) == pytest.approx(MEASURED[1], rel=NOTICEABLE + 1e-9)


@pytest.mark.parametrize("slower", [2.0, 0.5])
def test_a_lasting_change_of_everything_is_followed_at_every_width_within_twenty_rounds(slower: float) -> None:
    held = costs()
    watch(held, 1.0, 50)
    watch(held, slower, 20, noise=0.05)
    assert held.target(4) == pytest.approx(MEASURED[4] * slower, rel=0.15)
    assert held.target(32) == pytest.approx(0.560 * slower, rel=0.15)
    assert held.draft(1) == pytest.approx(DRAFT[1] * slower, rel=0.15)
    assert held.draft(300) == pytest.approx(1.822 * slower, rel=0.15)
    watch(held, 1.0, 400)
    assert held.target(8) == pytest.approx(MEASURED[8], rel=0.05)


@pytest.mark.parametrize("widths", [(4,), (4, 8, 3)])
def test_a_growing_text_is_followed_at_every_width_also_where_few_are_in_use(widths: tuple[int, ...]) -> None:
    held = costs()
    for i in range(300):
        width = widths[i % len(widths)]
        held.observe(a_round(width, MEASURED[width] * (1 + i / 300)))
    assert held.target(4) == pytest.approx(2 * MEASURED[4], rel=0.06)
    assert held.target(1) == pytest.approx(2 * MEASURED[1], rel=0.06)


def test_a_single_width_that_was_measured_wrongly_is_corrected_and_the_others_stay() -> None:
    held = costs()
    for _ in range(150):
        watch(held, 1.0, 3)
        held.observe(a_round(8, MEASURED[8] * 2))
    assert held.target(8) == pytest.approx(MEASURED[8] * 2, rel=0.1)
    assert held.target(4) == pytest.approx(MEASURED[4], rel=0.05)
    assert held.target(16) == pytest.approx(MEASURED[16], rel=0.05)


def test_a_draft_that_slows_down_alone_leaves_the_target_as_it_was() -> None:
    held = costs()
    for _ in range(30):
        held.observe(a_round(3, MEASURED[3], (DraftPass(2, DRAFT[2] * 3), DraftPass(1, DRAFT[1] * 3))))
    assert held.draft(1) == pytest.approx(DRAFT[1] * 3, rel=0.1)
    assert held.target(3) == pytest.approx(MEASURED[3])
    assert held.version > 0


def test_the_version_grows_exactly_when_a_figure_changed_and_noise_does_not_make_it_run() -> None:
    held = costs()
    changes = 0
    for _ in range(500):
        before = (held.version, held.target_curve, held.draft(1))
        watch(held, 1.0, 1, noise=0.02)
        assert (held.version > before[0]) == ((held.target_curve, held.draft(1)) != before[1:])
        changes += held.version > before[0]
    assert changes < 25


def test_times_that_are_none_and_long_catching_up_teach_nothing() -> None:
    held = costs()
    for _ in range(50):
        for none in (0.0, -1.0, math.nan, math.inf):
            held.observe(a_round(4, none, (DraftPass(1, none), DraftPass(500, 0.001))))
    assert held.version == 0
    assert held.target(4) == pytest.approx(MEASURED[4])
