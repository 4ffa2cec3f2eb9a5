"""What ends the app from outside."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from localspec.tui.leaving import (
    LastingOutput,
    leave_on_signals,
    let_go_of_lost_terminal,
    terminal_to_draw_on,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")


@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
async def test_a_signal_leaves_as_a_person_would_with_its_code(number: str, code: int) -> None:
    left: list[int] = []
    leave_on_signals(left.append)
    os.kill(os.getpid(), getattr(signal, number))
    while not left:
        await asyncio.sleep(0)
    assert left == [code]


def test_a_terminal_that_went_away_takes_all_that_is_written() -> None:
    master, slave = os.openpty()
    with open(slave, "w", encoding="utf-8", closefd=False) as terminal:
        output = LastingOutput(terminal)
        assert output.isatty()
        os.close(master)
        for _ in range(40):
            assert output.write("x" * 10_000) == 10_000
            output.flush()
        # As `let_go_of_lost_terminal` does: what is still held is dropped there.
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, slave)
        os.close(nothing)
    os.close(slave)


def test_a_file_that_errors_go_to_is_not_taken_for_a_terminal_that_went_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    master, slave = os.openpty()
    errors = tmp_path / "errors"
    with errors.open("w", encoding="utf-8") as file, os.fdopen(slave, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "__stderr__", file)
        monkeypatch.setattr(sys, "__stdout__", terminal)
        assert terminal_to_draw_on() is terminal
        os.close(master)
        let_go_of_lost_terminal()
        terminal.write("nobody sees it")
        file.write("kept")
    assert errors.read_text() == "kept"


@pytest.mark.parametrize("first", ["__stderr__", "__stdout__"])
def test_it_is_drawn_on_whichever_is_a_terminal(monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    master, slave = os.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as terminal, Path(os.devnull).open("w", encoding="utf-8") as nothing:
        for other in (nothing, None):
            for name in ("__stderr__", "__stdout__"):
                monkeypatch.setattr(sys, name, terminal if name == first else other)
            assert terminal_to_draw_on() is terminal
        monkeypatch.setattr(sys, first, nothing)
        assert terminal_to_draw_on() is None
    os.close(master)
