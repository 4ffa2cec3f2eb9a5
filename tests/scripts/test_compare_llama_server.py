"""The whole comparison, with localspec's own engine and a small real model; only the server is a stand-in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "compare_llama_server.py"
STAND_IN = Path(__file__).with_name("stand_in_server.py")


@pytest.fixture
def command(tmp_path: Path, smollm2_path: Path, smollm2_draft_path: Path) -> list[str]:
    server = tmp_path / "bin" / "llama-server"
    server.parent.mkdir()
    server.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    server.chmod(0o755)
    pair = ["--target", str(smollm2_path), "--draft", str(smollm2_draft_path), "--context", "512", "--threads", "1"]
    asked = ["--categories", "code", "--per-category", "1", "--server-arms", "off,3", "--server", str(server)]
    return [sys.executable, str(SCRIPT), *pair, *asked, "--json", str(tmp_path / "result.json")]


def test_both_programs_are_measured_and_no_path_is_told(command: list[str], tmp_path: Path) -> None:
    done = subprocess.run([*command, "--tokens", "24"], check=False, capture_output=True, text=True, timeout=240)

    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "result.json").read_text())
    samples = document["samples"]
    assert document["complete"]
    assert len(samples) == 2 * 4
    assert {(each["side"], each["arm"]) for each in samples} == {
        ("server", "off"), ("server", "3"), ("localspec", "off"), ("localspec", "on"),
    }  # fmt: skip
    server = [each for each in samples if each["side"] == "server"]
    assert all(each["tokens_per_second"] == pytest.approx(100) for each in server)
    # A drawn answer may end at once; the likeliest one goes on beyond the longest draft.
    assert all(each["tokens_per_second"] > 0 for each in samples if each["temperature"] == 0)
    for prompt in {each["prompt_id"] for each in samples}:
        assert len({each["prompt_tokens"] for each in samples if each["prompt_id"] == prompt}) == 1
    assert "localspec on: its tokens/s over those of" in done.stdout
    assert "Warming up" in done.stderr
    written = (tmp_path / "result.json").read_text().replace(str(tmp_path / "result.json"), "")
    told = done.stdout.replace(str(tmp_path / "result.json"), "") + done.stderr
    for text in (written, told):
        assert str(tmp_path) not in text
        assert str(Path.home()) not in text
        assert str(SCRIPT.parents[1]) not in text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_writes_what_it_has_and_leaves_no_process(
    command: list[str], tmp_path: Path, number: signal.Signals
) -> None:
    result = tmp_path / "result.json"
    running = subprocess.Popen(
        [*command, "--tokens", "64", "--runs", "50"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 200
        while not result.exists():
            assert running.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        children = psutil.Process(running.pid).children(recursive=True)
        os.kill(running.pid, number)
        out, _ = running.communicate(timeout=60)
    finally:
        running.kill()
    _, alive = psutil.wait_procs(children, timeout=10)

    document = json.loads(result.read_text())
    assert running.returncode == 130
    assert not document["complete"]
    assert document["samples"]
    assert "NOT COMPLETE" in out
    assert len(children) >= 3
    assert not alive


def test_a_server_that_does_not_use_its_draft_is_refused_and_all_are_stopped(command: list[str]) -> None:
    options = ["--server-options", "--misbehave drafts-nothing", "--tokens", "6"]

    done = subprocess.run([*command, *options], check=False, capture_output=True, text=True, timeout=240)

    assert done.returncode == 1
    assert "The server's arm 3 does not draft" in done.stderr
    assert "Traceback" not in done.stderr
