"""What ends the app from outside: a signal, or a terminal that goes away."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO


def leave_on_signals(leave: Callable[[int], None]) -> None:
    """Leave as a person would, so that every word is kept, when the system or another program says so.

    Called in the thread of the app's event loop, which forgets it when it closes.

    Args:
        leave: takes the exit code, as shells count it.
    """
    if os.name == "nt":
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, _leave, leave, 128 + number)


def let_go_of_lost_terminal() -> None:
    """Write into nothing where the terminal was: a thread that cannot write would keep the app from its end."""
    if sys.__stderr__ is None or os.isatty(sys.__stderr__.fileno()):
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, sys.__stderr__.fileno())
    os.close(nothing)


class LastingOutput:
    """A terminal to write to that may go away: then what is written is dropped.

    Textual writes in a thread. One that ended of an error would let the app wait for ever to hand it more.
    """

    def __init__(self, file: TextIO) -> None:
        """Write to `file`."""
        self._file = file

    def write(self, text: str) -> int:
        """Write a text."""
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Hand all that was written to the terminal."""
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        """Of the file."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._file.isatty()


def _leave(leave: Callable[[int], None], code: int) -> None:
    let_go_of_lost_terminal()
    leave(code)
