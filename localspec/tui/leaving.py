"""What ends the app from outside: a signal, or a terminal that goes away."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
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


def terminal_to_draw_on() -> TextIO | None:
    """The stream that goes to the person: stderr, as Textual has it, or stdout where that goes elsewhere or is closed.

    None where neither goes to a terminal.
    """
    streams = (sys.__stderr__, sys.__stdout__)
    return next((stream for stream in streams if stream is not None and stream.isatty()), None)


def let_go_of_lost_terminal() -> None:
    """Write into nothing where the terminal was: a thread that cannot write would keep the app from its end."""
    for stream in (sys.__stderr__, sys.__stdout__):
        if stream is not None and _was_terminal(stream.fileno()):
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, stream.fileno())
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


def _was_terminal(handle: int) -> bool:
    """Whether it is a device and no terminal: a file that a person wants it written to is left alone."""
    try:
        return stat.S_ISCHR(os.fstat(handle).st_mode) and not os.isatty(handle)
    except OSError:  # some systems take the device itself away
        return True


def _leave(leave: Callable[[int], None], code: int) -> None:
    let_go_of_lost_terminal()
    leave(code)
