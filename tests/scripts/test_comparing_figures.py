from __future__ import annotations

import pytest

from comparing.document import figures_as_json
from comparing.figures import figures_of
from comparing.samples import Answer, Cell, Sample
from comparing.tables import condition_lines, figure_lines

OFF, THREE, OURS = ("server", "off"), ("server", "3"), ("localspec", "on")
ARMS = [OFF, THREE, OURS]

SPEEDS = {
    # Tokens/s by category, prompt and arm. Medians: code 10, 16, 20; story 8, 6, 10.
    ("code", "code-1"): (8.0, 16.0, 24.0),
    ("code", "code-2"): (10.0, 15.0, 20.0),
    ("code", "code-3"): (12.0, 18.0, 18.0),
    ("story", "story-1"): (8.0, 6.0, 10.0),
}


def answer(speed: float, ids: tuple[int, ...] = (1, 2, 3), drafted: int = 0, accepted: int = 0) -> Answer:
    """101 tokens, the first of them in the first pass: 100 tokens in 100 / speed seconds."""
    return Answer(7, ids, 101, 1, 100 / speed, drafted, accepted, "length")


def sample(arm: tuple[str, str], cell: Cell, made: Answer) -> Sample:
    return Sample(*arm, cell, made, idle_share=0.001, elsewhere_share=0.01)


def samples(temperature: float = 0.0) -> list[Sample]:
    return [
        sample(arm, Cell(category, prompt, temperature, 0), answer(speed))
        for (category, prompt), speeds in SPEEDS.items()
        for arm, speed in zip(ARMS, speeds, strict=True)
    ]


def test_speed_counts_what_comes_after_the_first_pass() -> None:
    several_in_first_pass = Answer(7, (), 13, 3, 2.0, 20, 10, "end")
    only_a_first_pass = Answer(7, (), 1, 1, 0.0, 0, 0, "end")

    assert several_in_first_pass.tokens_per_second == 5.0
    assert only_a_first_pass.tokens_per_second is None


def test_medians_means_and_the_servers_best_setting_by_category() -> None:
    (figures,) = figures_of(samples(), ARMS)

    assert figures.categories == ("code", "story")
    assert figures.prompts == {"code": 3, "story": 1}
    assert [figures.medians["code", arm] for arm in ARMS] == pytest.approx([10, 16, 20])
    assert [figures.medians["story", arm] for arm in ARMS] == pytest.approx([8, 6, 10])
    assert figures.means[OFF] == pytest.approx(80**0.5)
    assert figures.means[THREE] == pytest.approx(96**0.5)
    assert figures.best == {"code": THREE, "story": OFF}


def test_ratios_are_of_medians_and_their_mean_is_geometric() -> None:
    (figures,) = figures_of(samples(), ARMS)

    over_off, over_best = figures.ratios[OURS, OFF], figures.over_best[OURS]
    assert over_off.by_category["code"].value == pytest.approx(2.0)
    assert over_off.by_category["story"].value == pytest.approx(1.25)
    assert over_off.overall.value == pytest.approx(2.5**0.5)
    assert over_best.by_category["code"].value == pytest.approx(1.25)
    assert over_best.by_category["story"].value == pytest.approx(1.25)
    assert over_best.overall.value == pytest.approx(1.25)
    assert over_best.overall.prompts == 4


def test_runs_of_a_prompt_count_together() -> None:
    again = [
        sample(arm, Cell("story", "story-1", 0.0, 1), answer(speed))
        for arm, speed in zip(ARMS, (10, 8, 14), strict=True)
    ]

    (figures,) = figures_of([*samples(), *again], ARMS)

    assert figures.prompts["story"] == 1
    assert figures.medians["story", OURS] == pytest.approx(12)
    assert figures.ratios[OURS, OFF].by_category["story"].value == pytest.approx(12 / 9)


def test_what_not_every_arm_has_answered_does_not_count() -> None:
    interrupted = samples()[:-1]
    ended_at_once = Answer(7, (), 1, 1, 0.0, 0, 0, "end")
    interrupted[2] = sample(OURS, Cell("code", "code-1", 0.0, 0), ended_at_once)

    (figures,) = figures_of(interrupted, ARMS)

    assert figures.categories == ("code",)
    assert figures.prompts == {"code": 2}
    assert figures.left_out == 5
    assert figures.medians["code", OURS] == pytest.approx(19)


def test_temperatures_are_kept_apart_and_texts_are_compared_at_0_only() -> None:
    greedy, drawn = figures_of([*samples(), *samples(0.8)], ARMS)

    assert (greedy.temperature, drawn.temperature) == (0.0, 0.8)
    assert greedy.agreement
    assert not drawn.agreement


def test_agreement_counts_equal_texts_and_the_share_before_a_difference() -> None:
    cells = [Cell("code", f"code-{i}", 0.0, 0) for i in range(3)]
    reference = [sample(OFF, cell, answer(8, (1, 2, 3, 4))) for cell in cells]
    ours = [
        sample(OURS, cell, answer(8, ids))
        for cell, ids in zip(cells, [(1, 2, 3, 4), (1, 2, 9, 4), (1, 2, 3, 4, 5)], strict=True)
    ]

    (figures,) = figures_of([*reference, *ours], [OFF, OURS])

    found = figures.agreement[OURS]
    assert (found.same, found.compared) == (1, 3)
    assert found.shared == pytest.approx(4 / 5)


def test_guesses_kept_are_told_of_arms_that_guessed() -> None:
    made = [
        sample(THREE, each.cell, answer(10, drafted=40, accepted=30)) if each.arm == "3" else each for each in samples()
    ]

    (figures,) = figures_of(made, ARMS)

    assert figures.acceptance == {THREE: 0.75}


def test_nothing_answered_by_all_is_nothing_to_say() -> None:
    assert figures_of(samples()[:2], ARMS) == ()
    assert figures_of([], ARMS) == ()


def test_the_tables_hold_every_figure_and_fit_a_terminal() -> None:
    # Three prompts of each category: of fewer the mean has no interval.
    more = [
        sample(arm, Cell("story", prompt, 0.0, 0), answer(speed))
        for prompt in ("story-2", "story-3")
        for arm, speed in zip(ARMS, SPEEDS["story", "story-1"], strict=True)
    ]
    (figures,) = figures_of([*samples(), *more], ARMS)

    lines = list(figure_lines(figures))

    assert [line.split() for line in lines if line.startswith("code")] == [
        ["code", "3", "10.00", "16.00", "20.00"],
        ["code", "1.25", "3", "2.00", "1.25"],
    ]
    assert [line.split() for line in lines if line.startswith("geometric mean")] == [
        ["geometric", "mean", "8.94", "9.80", "14.14"],
        ["geometric", "mean", "1.25", "1.58", "1.44"],
    ]
    assert any(line.startswith("95 % from") for line in lines)
    assert any(
        line.split() == ["localspec", "on", "6", "of", "6", "100%", "before", "the", "first", "difference,", "median"]
        for line in lines
    )


def test_few_prompts_give_no_interval_and_say_so() -> None:
    (figures,) = figures_of([each for each in samples() if each.cell.category == "story"], ARMS)

    lines = list(figure_lines(figures))

    assert not any("95 %" in line for line in lines)
    assert any("too few prompts" in line for line in lines)


def test_a_machine_that_was_not_quiet_is_told() -> None:
    quiet = list(condition_lines(samples()))
    noisy = list(condition_lines([Sample("server", "off", samples()[0].cell, answer(8), 0.05, 0.5)]))

    assert len(quiet) == 1
    assert "0.1%" in quiet[0]
    assert "NOT QUIET" in noisy[1]
    assert list(condition_lines([])) == []


def test_the_document_has_the_same_figures() -> None:
    (figures,) = figures_of(samples(), ARMS)

    values = figures_as_json(figures)

    assert values["medians"]["code"] == pytest.approx({"server off": 10, "server 3": 16, "localspec on": 20})
    assert values["best"] == {"code": "3", "story": "off"}
    assert values["over_best"][0]["of"] == "localspec on"
    assert values["over_best"][0]["overall"]["ratio"] == pytest.approx(1.25)
    assert {(each["of"], each["to"]) for each in values["ratios"]} == {
        ("localspec on", "server off"),
        ("localspec on", "server 3"),
    }
