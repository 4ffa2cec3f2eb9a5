"""`localspec bench` as a person calls it: wrong calls, a whole run, what is left after Ctrl-C and a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from localspec.bench.journal import begin_journal
from localspec.cli import main
from localspec.cli.benching import measuring
from tests.bench.made_up import ENVIRONMENT

TASKS = "\n".join(
    json.dumps({"question_id": number, "category": "a" if number < 4 else "b", "turns": [f"Say {number} words."]})
    for number in range(8)
)
PROGRAM = [sys.executable, "-P", "-m", "localspec"]


@pytest.fixture
def call(smollm2_path: Path, smollm2_draft_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command with a real pair and a few prompts; its data go to the test's folder."""
    monkeypatch.setenv("LOCALSPEC_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "tasks.jsonl").write_text(TASKS)
    return [
        "bench", "--target", str(smollm2_path), "--draft", str(smollm2_draft_path), "--threads", "1",
        "--context", "256", "--tasks", str(tmp_path / "tasks.jsonl"),
        "--json", str(tmp_path / "out.json"), "--max-tokens", "8", "--drafter", "model", "--draft-length", "3",
    ]  # fmt: skip


@pytest.fixture
def unmeasured_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """To time the memory takes longer than all the rest."""
    monkeypatch.setattr(measuring, "memory_of", lambda *_: None)


@pytest.fixture
def known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask what the machine is takes as long as the rest."""
    monkeypatch.setattr(measuring, "machine_now", lambda _: ENVIRONMENT)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--arms", "off,warp"], "There is no arm 'warp'"),
        (["--arms", "greedy+t1"], "greedy acceptance needs temperature 0"),
        (["--runs", "0"], "--runs: must be a whole number, 1 or more"),
        (["--kinds", "c"], "There is no kind of task called 'c'"),
        (["--json", "/no/such/folder/a.json"], "cannot be written"),
        (["compare", "a.json"], "is not understood"),
        (["compare", "a.json", "b.json"], "a.json cannot be read"),
        (["faster"], "is not understood"),
    ],
)
def test_wrong_calls_are_told_before_anything_is_loaded(
    call: list[str], arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments if arguments[0] in {"compare", "faster"} else []
    assert main(["bench", *words] if words else [*call, *arguments]) == 2
    assert told.lower() in capsys.readouterr().err.lower()


def test_help_and_wrong_calls_load_nothing_heavy() -> None:
    code = (
        "import sys\nfrom localspec.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'llama_cpp', 'textual', 'huggingface_hub', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    for arguments in (["bench", "--help"], ["bench", "faster"], ["verify", "--help"]):
        run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert run.stderr.endswith("[]\n"), run.stderr


@pytest.mark.parametrize(("arm", "settings"), [("3+model", []), ("hybrid", []), ("3", ["--drafter", "model"])])
def test_without_a_draft_arms_that_need_one_are_refused(
    arm: str, settings: list[str], smollm2_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--target", str(smollm2_path), "--arms", f"off,{arm}", *settings]) == 2
    assert f"The arm {arm} needs a draft model" in capsys.readouterr().err


@pytest.mark.usefixtures("known_machine", "unmeasured_memory")
def test_an_arm_may_guess_from_model_and_text_as_much_as_pays(
    call: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*call, "--limit", "1", "--arms", "off,auto+hybrid,4+ngram"]) == 0
    told = capsys.readouterr().out
    values = json.loads((tmp_path / "out.json").read_bytes())
    assert values["plan"]["arms"]["auto+hybrid"]["speculation"]["draft_length"] == "auto"
    figures = {arm: each["figures"]["all"] for arm, each in values["report"]["arms"].items()}
    assert set(figures["4+ngram"]["by_source"]) <= {"ngram"}
    assert figures["4+ngram"]["predicted_acceptance"] is None
    assert sum(figures["auto+hybrid"]["draft_lengths"].values()) > 0
    judged = sum(record["statistics"]["judged"] for record in values["records"] if record["arm"] == "auto+hybrid")
    assert ("guesses examined" in told) == bool(judged)


def test_a_run_reports_in_words_as_json_and_as_a_page(
    call: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "out.html"
    assert main([*call, "--limit", "3", "--arms", "off,1", "--html", str(page)]) == 0
    told = capsys.readouterr().out
    assert "6 prompts of 2 kinds, 1 run, at most 8 tokens, 1 threads" in told
    assert "tau" in told
    values = json.loads((tmp_path / "out.json").read_bytes())
    assert values["complete"] is True
    assert len(values["records"]) == 12
    assert values["environment"]["llama_cpp"]["features"]
    (models,) = values["models"].values()
    assert len(models["target"]["sha256"]) == 64
    (times,) = values["pass_times"].values()
    assert [width for width, _ in times["target"]] == list(range(1, 10))
    assert page.read_text("utf-8").startswith("<!doctype html>")
    first = tmp_path / "first.json"
    (tmp_path / "out.json").rename(first)
    assert main(["bench", "compare", str(first), str(first)]) == 0
    assert "6 of 6 answers are the same token by token" in capsys.readouterr().out


@pytest.mark.usefixtures("known_machine")
def test_what_cannot_be_gone_on_with_is_told_before_anything_is_loaded(
    call: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measuring, "load", None)
    assert main([*call, "--resume"]) == 2
    assert "There is no benchmark to go on with" in capsys.readouterr().err
    begin_journal({"max_tokens": 9, "models": {}}).__exit__()
    assert main([*call, "--resume"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "The interrupted benchmark was another one" in told
    assert "max tokens" in told
    assert "models" not in told


@pytest.mark.usefixtures("unmeasured_memory")
def test_only_what_is_made_on_the_same_machine_and_builds_is_gone_on_with(
    call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = dict(ENVIRONMENT)
    monkeypatch.setattr(measuring, "machine_now", lambda _: now)
    monkeypatch.setattr(measuring.Runner, "pass_times", lambda *_: {})
    call += ["--limit", "1", "--arms", "off"]
    assert main(call) == 0
    written = (tmp_path / "out.json").read_bytes()
    with monkeypatch.context() as unloadable:
        unloadable.setattr(measuring, "load", None)
        for name, told, other in (
            ("localspec", "localspec", "1"),
            ("llama_cpp", "llama cpp", {"version": "2", "bindings": "2", "features": {}}),
            ("machine", "machine", {**now["machine"], "processor": "Q"}),  # type: ignore[dict-item] # it is a dict
            ("devices", "devices", [{"name": "CUDA0", "description": "A GPU"}]),
        ):
            now = {**ENVIRONMENT, name: other}
            assert main([*call, "--resume"]) == 2
            said = " ".join(capsys.readouterr().err.split())
            assert f"It differs in: {told}." in said
            assert "start anew without --resume" in said
    assert (tmp_path / "out.json").read_bytes() == written
    # The memory that a system counts is not always the same.
    now = {**ENVIRONMENT, "machine": {**ENVIRONMENT["machine"], "memory_bytes": 10**9 - 4096}}  # type: ignore[dict-item] # it is a dict
    assert main([*call, "--resume"]) == 0
    assert json.loads((tmp_path / "out.json").read_bytes())["records"] == json.loads(written)["records"]


def started(call: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen([*PROGRAM, *call], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def journal(folder: Path) -> Path | None:
    return next(iter((folder / "data" / "bench").glob("*.jsonl")), None)


def wait_for_records(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        path = journal(folder)
        if path is not None and path.read_bytes().count(b"\n") > count:
            return
        time.sleep(0.02)
    raise AssertionError("the benchmark wrote no records")


def left(folder: Path) -> list[object]:
    """The records of a run that did not come to its end."""
    values = json.loads((folder / "out.json").read_bytes())
    assert values["complete"] is False
    assert 0 < len(values["records"]) < 16
    return list(values["records"])


@pytest.mark.usefixtures("unmeasured_memory")
def test_what_ctrl_c_and_a_killed_engine_leave_is_told_and_resume_goes_on_from_there(
    call: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = started(call)
    wait_for_records(tmp_path, 3)
    process.send_signal(signal.SIGINT)
    told, errors = process.communicate(timeout=200)
    assert process.returncode == 130, errors
    assert "NOT COMPLETE" in told
    assert "Traceback" not in errors
    stopped = left(tmp_path)

    assert main([*call, "--resume", "--max-tokens", "9"]) == 2
    assert "max tokens" in capsys.readouterr().err

    process = started([*call, "--resume"])
    wait_for_records(tmp_path, len(stopped) + 2)
    (engine,) = psutil.Process(process.pid).children()
    os.kill(engine.pid, signal.SIGKILL)
    told, errors = process.communicate(timeout=200)
    assert process.returncode == 1
    assert "NOT COMPLETE" in told
    assert "lack of memory" in errors
    assert "--resume goes on" in errors
    broken = left(tmp_path)
    assert broken[: len(stopped)] == stopped
    assert len(broken) > len(stopped)

    assert main([*call, "--resume"]) == 0
    capsys.readouterr()
    whole = json.loads((tmp_path / "out.json").read_bytes())
    assert whole["complete"] is True
    assert len(whole["records"]) == 16
    assert whole["records"][: len(broken)] == broken
