from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from localspec.llama.log import LogCapture, LogLine

DEBUG, INFO, WARN, ERROR, CONT = 1, 2, 3, 4, 5


def test_pieces_become_whole_lines(caplog: pytest.LogCaptureFixture) -> None:
    capture = LogCapture()
    with caplog.at_level(logging.INFO, "localspec.llama"), capture.recording() as lines:
        capture.receive(INFO, "loading ")
        capture.receive(CONT, "...")
        capture.receive(CONT, " done\nnext")
        capture.receive(ERROR, "it failed\n")

    expected = [LogLine(logging.INFO, "loading ... done"), LogLine(logging.INFO, "next")]
    assert lines == [*expected, LogLine(logging.ERROR, "it failed")]
    assert [record.getMessage() for record in caplog.records] == [line.text for line in lines]


def test_a_line_without_its_end_is_not_lost() -> None:
    capture = LogCapture()
    with capture.recording() as lines:
        capture.receive(WARN, "no line end")

    assert lines == [LogLine(logging.WARNING, "no line end")]


def test_debug_lines_cost_nothing_when_nobody_reads_them() -> None:
    capture = LogCapture()
    with capture.recording() as lines:
        capture.receive(DEBUG, "a detail ")
        capture.receive(CONT, "and its rest\n")
        capture.receive(INFO, "news\n")

    assert lines == [LogLine(logging.INFO, "news")]


def test_debug_lines_arrive_when_somebody_does(caplog: pytest.LogCaptureFixture) -> None:
    capture = LogCapture()
    with caplog.at_level(logging.DEBUG, "localspec.llama"):
        capture.receive(DEBUG, "a detail\n")

    assert caplog.records[0].levelno == logging.DEBUG


def test_an_error_can_quote_what_was_said_since_and_nothing_older() -> None:
    capture = LogCapture(remember=3)
    capture.receive(ERROR, "old\n")
    before = capture.warnings
    for number in range(5):
        capture.receive(WARN, f"new {number}\n")

    assert [line.text for line in capture.since(before)] == ["new 2", "new 3", "new 4"]
    assert capture.since(capture.warnings) == []


def test_a_program_that_sets_up_no_logging_stays_silent(smollm2_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from localspec.llama.model import Model; "
        "from localspec.llama.context import Context; "
        "model = Model(Path(sys.argv[1])); Context(model).evaluate([1, 2, 3]); model.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(smollm2_path)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_last_words_of_llama_cpp_are_logged_before_it_ends_the_process() -> None:
    program = (
        "import ctypes, logging; from localspec.llama.library import initialise; "
        "from localspec.llama.bindings import c_function; logging.basicConfig(); initialise(); "
        "abort = c_function('ggml_abort', [ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p], None); "
        "abort(b'ggml.c', 7, b'GGML_ASSERT(false) failed')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "CRITICAL:localspec.llama:llama.cpp gives up: ggml.c:7: GGML_ASSERT(false) failed" in done.stderr
    assert len(done.stderr.splitlines()) == 2
