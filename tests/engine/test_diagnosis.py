from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localspec.engine.diagnosis import AMX_IN_USE, explain_death, telling_line

LOG = Path("engine.log")


def told(code: int, log: str = "") -> str:
    return str(explain_death(code, log, LOG))


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGILL, signal.SIGBUS])
def test_a_fault_while_amx_is_in_use_names_the_flags_that_build_without_it(number: signal.Signals) -> None:
    words = told(-number, f"INFO localspec.engine.worker: {AMX_IN_USE}\n")
    assert "AMX" in words
    assert "CMAKE_ARGS=" in words
    assert words.count("-mno-amx-tile -mno-amx-int8 -mno-amx-bf16") == 2
    assert "CMAKE_ARGS" not in told(-number)


def test_an_unknown_instruction_without_amx_asks_for_a_build_on_this_machine() -> None:
    assert "another processor" in told(-signal.SIGILL)


def test_the_out_of_memory_killer_is_recognised() -> None:
    assert "lack of memory" in told(-signal.SIGKILL)
    assert "lack of memory" in told(-signal.SIGABRT, "terminate called\n  what():  std::bad_alloc\n")
    assert "lack of memory" not in told(-signal.SIGABRT, "GGML_ASSERT(x) failed")


def test_a_crash_speaks_of_the_model_file_and_a_wanted_end_does_not() -> None:
    for number in (signal.SIGABRT, signal.SIGSEGV):
        assert "its file is damaged" in told(-number)
    assert "its file is damaged" not in told(-signal.SIGTERM)


@pytest.mark.parametrize(
    ("code", "words"),
    [(-11, "SIGSEGV"), (-6, "SIGABRT"), (-15, "SIGTERM"), (3, "exit code 3"), (0, "exit code 0"), (-200, "code -200")],
)
def test_every_end_is_named_and_points_to_the_log(code: int, words: str) -> None:
    assert words in told(code)
    assert "engine.log" in told(code)


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("a\n/x/ggml.c:12: GGML_ASSERT(a == b) failed\nERROR later\n", "/x/ggml.c:12: GGML_ASSERT(a == b) failed"),
        ("CUDA error: out of memory\n  current device: 0\n", "CUDA error: out of memory"),
        ("terminate called after throwing\n  what():  boom\n", "what():  boom"),
        (
            "Traceback\nlocalspec.errors.LocalspecError: llama.cpp could not be loaded\n",
            "localspec.errors.LocalspecError: llama.cpp could not be loaded",
        ),
        ("INFO fine\nERROR first\nERROR localspec.llama: last\nINFO fine\n", "ERROR localspec.llama: last"),
        ("INFO fine\n", ""),
    ],
)
def test_the_line_that_says_most_is_quoted(log: str, line: str) -> None:
    assert telling_line(log) == line
    assert line in told(-6, log)


def test_an_assertion_of_the_real_library_is_quoted() -> None:
    program = (
        "import ctypes; from localspec.llama.bindings import c_function; "
        "abort = c_function('ggml_abort', [ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p], None); "
        "abort(b'file.c', 12, b'GGML_ASSERT(rows > 0) failed')"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    words = told(result.returncode, result.stderr)
    assert "gave up (SIGABRT)" in words
    assert "GGML_ASSERT(rows > 0) failed" in words
