"""What ends the app from outside."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from localspec.tui.leaving import LastingOutput, leave_on_signals

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
