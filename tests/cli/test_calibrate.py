"""`localspec calibrate` on the demo pair: measured, told, kept, recalled by a load."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from localspec import locations
from localspec.cli import calibrate, main
from localspec.engine.calibrations import Calibration
from localspec.engine.client import EngineClient
from localspec.errors import LocalspecError
from tests.bench.test_calibrating import FOUND

QUICK = ["calibrate", "--pair", "demo", "--threads", "1", "--context", "256", "--quick"]


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, smollm2_path: Path) -> None:  # noqa: ARG001 - the demo
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"LOCALSPEC_{kind}_DIR", str(tmp_path / kind.lower()))


def test_the_demo_pair_is_measured_and_kept_also_where_speculation_is_off(capsys: pytest.CaptureFixture[str]) -> None:
    settings = locations.settings_file()
    settings.parent.mkdir(parents=True)
    settings.write_text("speculation = false\n")
    assert main([*QUICK, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert found["target"]["seconds"]["1"] > 0
    assert found["draft"]["seconds"]["1"] > 0
    assert found["target"]["before"] == {}
    assert found["not_kept"] is None
    kept = json.loads(locations.pass_costs_file().read_bytes())
    assert [entry["seconds"] for entry in kept["costs"].values()] == [
        found["target"]["seconds"],
        found["draft"]["seconds"],
    ]


def test_it_is_told_in_words_and_escape_codes_reach_no_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(*_: object, quick: bool) -> Calibration:
        assert quick
        return FOUND

    monkeypatch.setattr(calibrate, "_calibrate", found)
    assert main(QUICK) == 0
    out = capsys.readouterr().out
    assert "A pass of the target" in out
    assert "best number of guesses" in out
    assert out.endswith("figures.\n")
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--draft-length", "3"], "There is no --draft-length"),
        (["--temperature", "0"], "There is no --temperature"),
        (["--threads", "0"], "--threads must be"),
        (["--pair", "nobody-knows-it"], "nobody-knows-it"),
    ],
)
def test_wrong_calls_are_told_before_anything_is_measured(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["calibrate", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_failure_has_words_and_a_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise LocalspecError("There is nothing to calibrate", "It sums the text up.")

    monkeypatch.setattr(EngineClient, "calibrate", fail)
    assert main(QUICK) == 1
    assert "nothing to calibrate" in capsys.readouterr().err


def test_ctrl_c_ends_it_and_all_that_it_started() -> None:
    arguments = [argument for argument in QUICK if argument != "--quick"]
    # How far it is, only a terminal is told.
    terminal, its = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "localspec", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=its,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(its)
    told = ""
    while "Measuring" not in told:
        piece = read_from(terminal)
        assert piece, told
        told += piece
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    process.send_signal(signal.SIGINT)
    while piece := read_from(terminal):
        told += piece
    assert process.wait(60) == 130, told
    assert "Traceback" not in told
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    os.close(terminal)


def read_from(terminal: int) -> str:
    """What comes next to a terminal; "" when all have gone that wrote to it."""
    assert select.select([terminal], [], [], 120)[0], "nothing came"
    try:
        return os.read(terminal, 65536).decode()
    except OSError:
        return ""
