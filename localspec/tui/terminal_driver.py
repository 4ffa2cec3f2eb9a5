"""Textual's driver for Unix terminals, with our reading of them, and at ease when the terminal goes away."""

from __future__ import annotations

import codecs
import os
import selectors
import signal
import sys
import termios
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from textual.drivers.linux_driver import LinuxDriver

from localspec.tui.leaving import LastingOutput, let_go_of_lost_terminal, terminal_to_draw_on
from localspec.tui.terminal_input import InputParser

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.message import Message

_HUNG_UP = 129
"""Exit code of a program whose terminal went away, as shells count it."""

_BREATH = 0.02
"""Seconds between a mistake of ours and the next look at what is typed: else one that goes on takes a whole core."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, with another parser, and at ease when the terminal goes away."""

    _modes: list[Any] | None = None

    def start_application_mode(self) -> None:
        """Take the terminal over, at the start and after each suspension."""
        self._file = LastingOutput(terminal_to_draw_on() or sys.stderr)  # type: ignore[assignment] # what is used of one
        super().start_application_mode()  # type: ignore[no-untyped-call]
        with suppress(termios.error):
            self._modes = termios.tcgetattr(self.fileno)

    @property
    def _has_terminal(self) -> bool:
        """Whether it is in application mode: not before the start, not while it is left to others, not at the end."""
        return self._key_thread is not None and self._key_thread.is_alive()

    def _sigtstp_application(self, *_: object) -> None:
        """Stop; Ctrl+Z comes as a signal when the terminal is the program's no more, while it ends."""
        if self._has_terminal:
            super()._sigtstp_application()
        else:
            os.kill(os.getpid(), signal.SIGSTOP)

    def _sigcont_application(self, *_: object) -> None:
        """Go on after a stop.

        Only Ctrl+Z lets the app tidy up before it; SIGSTOP does not. Textual starts all anew in either case: two
        threads would read the keyboard then, each a part of what is typed, and leaving would keep the terminal raw.
        """
        if self._must_signal_resume:
            super()._sigcont_application()
        elif self._has_terminal:
            # Not here: a signal may come in the midst of writing.
            self._loop.call_soon_threadsafe(self._take_terminal_again)

    def _take_terminal_again(self) -> None:
        """Whoever used it meanwhile, a shell most likely, left it in another mode and drew on it."""
        if self._modes is None or not self._has_terminal:
            return
        with suppress(termios.error):
            termios.tcsetattr(self.fileno, termios.TCSANOW, self._modes)
        self.write("\x1b[?1049h\x1b[?25l\x1b[?1004h")  # the alternate screen, no cursor, tell of the focus
        self._enable_mouse_support()
        self._enable_bracketed_paste()
        self._disable_line_wrap()
        self.flush()
        for screen in self._app.screen_stack[-1:]:
            screen.refresh()

    def run_input_thread(self) -> None:
        """Read until the app ends."""
        parser = InputParser()
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                try:
                    if not selector.select(parser.wait):
                        self._process(parser.tick())
                    elif read := self._read():
                        self._process(parser.feed(decode(read)))
                    else:
                        # No key will come any more: an app without a terminal would run for ever. It is told, and not
                        # waited for: after a SIGHUP it leaves already, and waits for this thread.
                        let_go_of_lost_terminal()
                        self._app.call_later(self._app.exit, return_code=_HUNG_UP)
                        return
                except Exception:  # noqa: BLE001 - whatever it is, without this thread the app takes no key any more
                    parser = InputParser()
                    self.exit_event.wait(_BREATH)

    def _read(self) -> bytes:
        """What was typed; nothing when the terminal is gone."""
        try:
            return os.read(self.fileno, 65536)
        except OSError:
            return b""

    def _process(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)
