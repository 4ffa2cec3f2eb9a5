"""What a person types while an answer is written: not shown in the middle of it, but kept for the next prompt."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from types import FrameType, TracebackType
from typing import Any, Self

try:
    import termios
except ImportError:  # Windows: its console shows typed text only to who reads it
    termios = None  # type: ignore[assignment] # as told by the check in `EchoOff.__init__`

_ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))
"""They end the program without a word: the terminal must be given back before they do."""

_LOCAL_FLAGS = 3
"""Where `termios.tcgetattr` has the flags for echo and line editing."""


class EchoOff:
    """Inside its `with` block the terminal that stdin is does not show what is typed; it waits for the next prompt.

    Only where that prompt would be the shell's is it thrown away: a question must not be carried out as a command.
    A program in the background leaves the terminal alone: it is somebody else's then, and touching it would stop us.
    For the main thread only, since it listens to signals.
    """

    def __init__(self) -> None:
        """Do nothing yet; without a terminal, never."""
        on_terminal = termios is not None and sys.stdin is not None and sys.stdin.isatty()
        self._terminal = sys.stdin.fileno() if on_terminal else None
        self._before: list[Any] | None = None
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if self._terminal is not None:
            # Ctrl-C may fall on any line, also on the first of `__exit__`.
            atexit.register(self._give_back)
            self._listen(signal.SIGTSTP, self._pause)
            for number in _ENDINGS:
                self._listen(number, self._end)
            self._take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal is not None:
            self._give_back(discard=kind is not None and issubclass(kind, KeyboardInterrupt))
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            atexit.unregister(self._give_back)

    def _listen(self, number: int, handler: Any) -> None:
        """Take over a signal, unless it is ignored (`nohup`) or somebody listens to it already."""
        if signal.getsignal(number) is signal.SIG_DFL:
            self._handlers[number] = signal.signal(number, handler)

    def _take(self) -> None:
        assert self._terminal is not None
        # The terminal may be gone, and its program about to be told so.
        with contextlib.suppress(OSError, termios.error):
            if os.tcgetpgrp(self._terminal) != os.getpgrp():
                return
            before = termios.tcgetattr(self._terminal)
            quiet = [*before]
            # Line by line the system would cut a long paste, and turn a Ctrl-D into a NUL for the next prompt.
            quiet[_LOCAL_FLAGS] &= ~(termios.ECHO | termios.ECHONL | termios.ICANON)
            # Ctrl-C stops the answer; it does not take back what was typed.
            quiet[_LOCAL_FLAGS] |= termios.NOFLSH
            termios.tcsetattr(self._terminal, termios.TCSANOW, quiet)
            self._before = before

    def _give_back(self, *, discard: bool = False) -> None:
        assert self._terminal is not None
        if self._before is None:
            return
        with contextlib.suppress(OSError, termios.error):
            if os.tcgetpgrp(self._terminal) == os.getpgrp():
                if discard:
                    termios.tcflush(self._terminal, termios.TCIFLUSH)
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._before)
        self._before = None

    def _pause(self, number: int, _frame: FrameType | None) -> None:
        """Ctrl-Z: the shell gets its terminal as it was, and we take it again when we go on."""
        self._give_back(discard=True)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        signal.signal(number, self._pause)
        self._take()

    def _end(self, number: int, _frame: FrameType | None) -> None:
        self._give_back(discard=True)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
