"""A calibration as people and programs read it: from made-up figures, what they mean."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.bench import theory
from localspec.bench.calibrating.as_json import calibration_as_json
from localspec.bench.calibrating.words import calibration_lines
from localspec.bench.calibrating.worth import costs_of, worth
from localspec.bench.plots import ASCII, UNICODE
from localspec.engine.calibrations import Calibration, ModelCalibration
from localspec.engine.messages import Loaded, LoadPair, ModelSettings
from tests.bench.explained import DRAFT, TARGET

SECONDS = ((1, 0.111), (2, 0.114), (3, 0.135), (4, 0.165), (8, 0.224), (16, 0.361), (32, 0.66))
OF_TARGET = ModelCalibration(2, 2, ((1, 1.31), (2, 1.0)), SECONDS, (), "")
OF_DRAFT = ModelCalibration(2, 2, ((1, 1.2), (2, 1.0)), ((1, 0.03), (2, 0.035), (8, 0.08)), (), "")
FOUND = Calibration(
    OF_TARGET, OF_DRAFT, 512, 0.04, 0.98, "llama.cpp 1, CPU: AVX2", "CPU: EPYC; 2 logical processors", ""
)
LOADED = Loaded(TARGET, DRAFT, 4096, 2, 3.0)
LOADING = LoadPair(ModelSettings(Path("big.gguf")), ModelSettings(Path("small.gguf")))


def told(found: Calibration = FOUND, loading: LoadPair = LOADING) -> str:
    lines = calibration_lines(found, LOADED, loading, ASCII)
    assert max(map(len, lines)) <= 80
    return " ".join(" ".join(lines).split())


def alone(found: Calibration = FOUND) -> Calibration:
    return replace(found, draft=None)


@pytest.mark.parametrize("glyphs", [ASCII, UNICODE])
def test_it_fits_80_columns_in_both_kinds_of_characters(glyphs: object) -> None:
    lines = calibration_lines(FOUND, LOADED, LOADING, glyphs)  # type: ignore[arg-type] # one of the two
    assert max(map(len, lines)) <= 80


def test_passes_are_told_in_milliseconds_and_over_one_token_and_what_it_was_measured_on() -> None:
    text = told()
    assert "8 224.0 2.02" in text
    assert "A step of the draft takes 30 ms, 27% of a pass of one token" in text
    for on in ("qwen2 1.5B Q8_0", "2 CPU threads", "512 tokens of text", "KV type f16", "EPYC", "AVX2"):
        assert on in text


def test_what_pays_is_what_the_theory_says_of_these_costs() -> None:
    costs = costs_of(FOUND)
    found = worth(costs, 0.03)
    start = found.pays_from
    assert start is not None
    for percent in (start - 1, start, 90):
        best = theory.best_draft_length(percent / 100, costs.target_curve, 0.03)
        assert found.best[percent] == best
        assert (best.drafted > 0) == (percent >= start)
    assert f"guesses of the draft pay from an acceptance of {start} % on" in told()
    longer = found.from_length(3)
    assert longer is not None
    assert found.best[longer].drafted >= 3 > found.best[longer - 1].drafted


def test_without_a_draft_the_guesses_of_a_lookup_are_weighed() -> None:
    text = told(alone())
    assert "No draft model is loaded" in text
    assert "guesses of a lookup pay from an acceptance of" in text


def test_where_nothing_pays_it_says_so() -> None:
    dear = replace(FOUND, draft=replace(OF_DRAFT, seconds=((1, 0.5),)))
    assert "guesses of a draft model never pay" in told(dear)
    assert "Guesses of a lookup, which cost no step of the draft, pay from" in told(dear)
    steep = replace(OF_TARGET, seconds=((1, 0.1), (2, 0.25), (32, 8.0)))
    assert "guesses of a lookup never pay" in told(replace(alone(), target=steep))


def test_the_threads_tried_are_told_and_a_change_is() -> None:
    assert "Threads of the target, time over that with the default: 1: 1.31, 2: 1.00. It uses 2 from now on." in told()
    changed = replace(FOUND, draft=replace(OF_DRAFT, threads=1))
    assert "It uses 1 from now on instead of 2." in told(changed)
    assert "2 CPU threads for the target and 1 for the draft" in told(changed)
    own = told(replace(FOUND, target=replace(OF_TARGET, tried=())), replace(LOADING, threads=2))
    assert "The number of threads is yours: 2" in own


def test_what_changed_against_the_last_time_is_told() -> None:
    assert "Nothing was known of these passes before." in told()
    slower = tuple((width, seconds * 2) for width, seconds in SECONDS)
    once = replace(FOUND, target=replace(OF_TARGET, before=slower, made_before="2026-01-02T03:04:05+0000"))
    assert "Of the target, measured 2026-01-02T03:04:05+0000: 1: 222.0 -> 111.0 ms" in told(once)
    same = replace(FOUND, target=replace(OF_TARGET, before=SECONDS, made_before="2026-01-02T03:04:05+0000"))
    assert "within 5% of it" in told(same)


@pytest.mark.parametrize("moved", [width for width, _ in SECONDS])
def test_a_change_of_any_width_is_one(moved: int) -> None:
    before = tuple((width, seconds / (1.1 if width == moved else 1.01)) for width, seconds in SECONDS)
    text = told(replace(FOUND, target=replace(OF_TARGET, before=before)))
    assert "over all widths 1.01 to 1.10 times as long" in text
    assert "within 5% of it" not in text


def test_rough_figures_and_those_that_were_not_kept_are_called_so() -> None:
    assert "Take this as rough" not in told()
    assert "Kept: the automatic draft length starts from these figures." in told()
    assert "passes of the same width differed by 80%" in told(replace(FOUND, spread=0.8))
    busy = told(replace(FOUND, share=0.4))
    assert "A pass got 40% of the processor time it could use" in busy
    assert "Numbers of threads were not compared" in busy
    assert "Take this as rough" not in told(replace(FOUND, share=None))
    assert "could not be kept for the next time: the disk is full" in told(replace(FOUND, not_kept="the disk is full"))


def test_the_json_object_holds_every_figure() -> None:
    document = calibration_as_json(FOUND, LOADED, LOADING)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["schema"] == 1
    assert document["target"]["seconds"]["4"] == 0.165
    assert document["target"]["threads_tried"] == {"1": 1.31, "2": 1.0}
    assert document["draft"]["file"] == "small.gguf"
    assert len(document["target_curve"]) == 32
    assert document["draft_step"] == pytest.approx(0.03)
    assert document["best"][0] == {"acceptance": 0.0, "drafted": 0, "speed_up": 1.0}
    first = next(each["acceptance"] for each in document["best"] if each["drafted"])
    assert document["pays_from"] == first
    without = calibration_as_json(alone(), replace(LOADED, draft=None), replace(LOADING, draft=None))
    assert (without["draft"], without["draft_step"]) == (None, None)
