"""Costs of a loaded pair: measured once, recalled, measured again by command, and the threads that follow from it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localspec import locations
from localspec.decoding import measuring
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.measuring import EVERY_WIDTH, READ_WIDTHS, Effort
from localspec.decoding.rounds import never
from localspec.engine import calibrating, thread_search
from localspec.engine.calibrating import measured_on, threads_for
from localspec.engine.calibrations import Calibrate, Calibration, CalibrationProgress
from localspec.engine.client import EngineClient
from localspec.engine.costs_file import keep_costs, keep_threads, recall_costs, recall_threads
from localspec.engine.messages import Loaded, LoadPair, LoadProgress, MeasurePasses, ModelSettings
from localspec.engine.pair import LoadedPair
from localspec.errors import LocalspecError
from localspec.llama.model import LoadCancelledError
from localspec.llama.threads import default_threads

LITTLE = Effort(sweeps=2, seconds=0.1, slow_passes=1, text=8)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def little_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrating, "QUICK", LITTLE)
    monkeypatch.setattr(calibrating, "THOROUGH", LITTLE)
    # Other work on the machine must not decide whether a test finds what was kept.
    monkeypatch.setattr(calibrating, "STEADY", float("inf"))
    monkeypatch.setattr(calibrating, "LEAST_SHARE", 0.0)
    monkeypatch.setattr(thread_search, "_SECONDS", 0.0)


@pytest.fixture
def asked(smollm2: Path, smollm2_draft_path: Path) -> LoadPair:
    return LoadPair(ModelSettings(smollm2), ModelSettings(smollm2_draft_path), context=256, threads=1, costs=True)


class Reports(list[LoadProgress]):
    def parts(self, what: str) -> list[float]:
        return [each.fraction for each in self if each.what == what]


def loaded(asked: LoadPair) -> tuple[LoadedPair, Reports]:
    reports = Reports()
    return LoadedPair(asked, reports.append, never), reports


@pytest.fixture
def pair_and_reports(asked: LoadPair) -> Iterator[tuple[LoadedPair, Reports]]:
    pair, reports = loaded(asked)
    yield pair, reports
    pair.close()


def test_a_load_measures_once_with_progress_and_recalls_the_next_time(
    pair_and_reports: tuple[LoadedPair, Reports], asked: LoadPair
) -> None:
    pair, reports = pair_and_reports
    assert pair.costs is not None
    assert len(pair.costs.target_curve) == LONGEST_DRAFT + 1
    assert 0 < pair.costs.draft(1) < pair.costs.draft(300) < float("inf")
    parts = reports.parts("costs")
    assert parts == sorted(parts)
    assert parts[-1] == 1
    assert all(context.length == 0 for context in pair.contexts)
    again, nothing = loaded(asked)
    assert nothing.parts("costs") == []
    assert again.costs is not None
    assert again.costs.target_curve == pair.costs.target_curve
    again.close()


def test_only_what_is_not_known_is_measured(asked: LoadPair, monkeypatch: pytest.MonkeyPatch) -> None:
    on = measured_on(asked, asked.target, "target")
    assert on is not None
    keep_costs(on, 1, {1: 5.0, 2: 6.0}, 32)
    timed: list[int] = []
    monkeypatch.setattr(
        calibrating, "measure", lambda sides, *rest: timed.append(len(sides)) or measuring.measure(sides, *rest)
    )
    pair, _ = loaded(asked)
    assert timed == [1]
    assert pair.costs is not None
    assert pair.costs.target_curve[:2] == pytest.approx((5.0, 6.0))
    pair.close()


def test_costs_come_later_where_the_load_did_not_ask_for_them(asked: LoadPair) -> None:
    pair, reports = loaded(replace(asked, costs=False, draft=None))
    assert pair.costs is None
    assert reports.parts("costs") == []
    pair.contexts[0].evaluate((1, 2, 3), rows=0)
    found = pair.require_costs(never)
    assert found is not None
    assert found is pair.costs is pair.require_costs(never)
    assert found.draft(1) == float("inf")
    assert tuple(pair.contexts[0].tokens) == (1, 2, 3)
    pair.close()


@pytest.mark.parametrize(("name", "value"), [("STEADY", -1.0), ("LEAST_SHARE", 1.1)])
def test_figures_that_other_programs_disturbed_are_used_and_not_kept(
    asked: LoadPair, monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    monkeypatch.setattr(calibrating, name, value)
    pair, _ = loaded(asked)
    assert pair.costs is not None
    assert not locations.pass_costs_file().exists()
    pair.close()


def test_a_cache_that_cannot_be_written_is_told_by_a_calibration_and_by_nothing_else(asked: LoadPair) -> None:
    folder = locations.cache_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("a file in the folder's place")
    pair, _ = loaded(asked)
    assert pair.costs is not None
    found = pair.calibrated(Calibrate(quick=True), never, lambda *_: None)
    assert str(folder) in found.not_kept
    pair.close()


def test_a_cancel_while_costs_are_measured_stops_the_loading(asked: LoadPair) -> None:
    stopping = False

    def report(progress: LoadProgress) -> None:
        nonlocal stopping
        stopping |= progress.what == "costs"

    with pytest.raises(LoadCancelledError):
        LoadedPair(asked, report, lambda: stopping)
    assert not locations.pass_costs_file().exists()


def test_a_cancelled_wish_for_costs_can_be_made_again(asked: LoadPair) -> None:
    pair, _ = loaded(replace(asked, costs=False))
    assert pair.require_costs(lambda: True) is None
    assert pair.costs is None
    assert pair.require_costs(never) is not None
    pair.close()


def test_threads_are_those_that_a_person_named_then_those_found_best_then_the_default(asked: LoadPair) -> None:
    free = replace(asked, threads=None)
    assert threads_for(free, free.target, "target") == default_threads()
    on = measured_on(free, free.target, "target")
    assert on is not None
    keep_threads(on, default_threads() + 1)
    assert threads_for(free, free.target, "target") == default_threads() + 1
    assert threads_for(free, free.target, "draft") == default_threads()
    assert threads_for(asked, asked.target, "target") == 1
    pair, _ = loaded(replace(free, costs=False, draft=None))
    assert pair.loaded.threads == default_threads() + 1
    pair.close()


def test_nothing_is_known_of_a_file_that_cannot_be_read(asked: LoadPair, tmp_path: Path) -> None:
    missing = ModelSettings(tmp_path / "missing.gguf")
    assert measured_on(asked, missing, "target") is None
    assert threads_for(replace(asked, threads=None), missing, "target") == default_threads()


def test_a_calibration_measures_anew_and_tells_what_was_known_before(asked: LoadPair) -> None:
    pair, _ = loaded(asked)
    assert pair.costs is not None
    before = pair.costs.target_curve
    heard: list[tuple[str, float]] = []
    found = pair.calibrated(Calibrate(), never, lambda *told: heard.append(told))
    assert {what for what, _ in heard} == {"costs"}
    assert found.target.before[0] == (1, pytest.approx(before[0]))
    assert found.target.made_before
    assert found.target.tried == ()
    assert set(dict(found.target.seconds)) <= set(EVERY_WIDTH)
    assert found.draft is not None
    assert set(dict(found.draft.seconds)) <= set(READ_WIDTHS)
    assert found.not_kept == ""
    assert pair.costs.target_curve[0] == pytest.approx(dict(found.target.seconds)[1])
    on = measured_on(asked, asked.target, "target")
    assert on is not None
    known = recall_costs(on, 1)
    assert known is not None
    assert known.seconds == dict(found.target.seconds)
    pair.close()


def test_a_calibration_looks_for_the_best_threads_where_nobody_named_a_number(
    asked: LoadPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tried(*arguments: Any) -> list[dict[int, float]]:
        arguments[-1](1.0)
        return [{2: 1.0, 1: 0.5}] * 3

    monkeypatch.setattr(calibrating, "default_threads", lambda: 2)
    monkeypatch.setattr(calibrating, "try_threads", tried)
    free = replace(asked, threads=None)
    pair, _ = loaded(replace(free, costs=False))
    heard: list[tuple[str, float]] = []
    found = pair.calibrated(Calibrate(), never, lambda *told: heard.append(told))
    assert {what for what, _ in heard} == {"threads of the target", "threads of the draft", "costs"}
    assert (found.target.threads, found.target.threads_before) == (1, 2)
    assert found.target.tried == ((1, 0.5), (2, 1.0))
    assert pair.loaded.threads == 1
    assert [context.options.threads for context in pair.contexts] == [1, 1]
    assert threads_for(free, free.target, "target") == 1
    pair.close()


def test_on_a_busy_machine_numbers_of_threads_are_not_compared(
    asked: LoadPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrating, "LEAST_SHARE", 1.1)
    monkeypatch.setattr(calibrating, "default_threads", lambda: 1)
    pair, _ = loaded(replace(asked, threads=None, costs=False))
    found = pair.calibrated(Calibrate(), never, lambda *_: None)
    assert found.target.tried == ()
    assert found.share is not None
    assert 0 < found.share <= 1
    on = measured_on(asked, asked.target, "target")
    assert on is not None
    assert recall_threads(on) is None
    pair.close()


def test_a_cancelled_calibration_leaves_threads_and_figures_as_they_were(asked: LoadPair) -> None:
    pair, _ = loaded(replace(asked, threads=None, costs=False))
    threads = pair.contexts[0].options.threads
    asked_for = iter([False] * 6)
    with pytest.raises(LocalspecError, match="stopped"):
        pair.calibrated(Calibrate(), lambda: next(asked_for, True), lambda *_: None)
    assert pair.contexts[0].options.threads == threads
    assert not locations.pass_costs_file().exists()
    pair.close()


def test_the_engine_calibrates_with_progress_and_stops_when_told(client: EngineClient, pair: LoadPair) -> None:
    steps = list(client.load(pair))
    assert isinstance(steps[-1], Loaded)
    told = list(client.calibrate(Calibrate(quick=True)))
    assert isinstance(told[-1], Calibration)
    assert all(isinstance(each, CalibrationProgress) for each in told[:-1])
    assert told[-1].processors.startswith("CPU")
    assert "llama.cpp" in told[-1].build
    thread = threading.Timer(0.2, client.cancel)
    thread.start()
    with pytest.raises(LocalspecError, match="stopped"):
        list(client.calibrate(Calibrate()))
    thread.join()
    (times,) = client.measure(MeasurePasses((1,), repeats=1))
    assert times.target


def test_an_answer_whose_costs_had_to_be_measured_can_be_cancelled_within_a_pass(asked: LoadPair) -> None:
    pair, _ = loaded(replace(asked, costs=False))
    pair.cancel_passes_when(never)
    assert pair.require_costs(never) is not None
    assert all(context.cancelled is never for context in pair.contexts)
    pair.close()
