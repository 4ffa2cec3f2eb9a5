"""What a terminal sends, read so that a paste arrives whole, and Alt+Enter is not Enter.

Textual takes a paste apart at every escape character: what follows it comes as key presses, and a line end among them
as Enter. So a pasted log with colours would type, and send, half of itself. Alt+Enter, which most terminals send as an
escape and a line end, is Enter to it and would send too. And a byte that is not UTF-8 ends its app.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual import events
from textual._xterm_parser import XTermParser  # the parser has no public name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.driver import Driver
    from textual.message import Message

_START = "\x1b[200~"
_END = "\x1b[201~"

_ALT_ENTER = "\x1b\r"

_WAIT = 0.1
"""Seconds without input after which a key sequence that was begun is taken as it is; Textual's own."""

_WAIT_FOR_MARKER = 0.02
"""The same for what may be the beginning of a paste: the terminal sends that in one piece, which a read may cut."""


class InputParser(XTermParser):
    """Takes whole pastes out of the input before its keys are looked at: at once, where Textual goes by characters."""

    def __init__(self) -> None:
        """Begin outside of a paste."""
        super().__init__()
        self._paste: list[str] | None = None
        self._held = ""

    @property
    def wait(self) -> float:
        """Seconds without input after which to call `tick`."""
        return _WAIT_FOR_MARKER if self._held and self._paste is None else _WAIT

    def feed(self, data: str) -> Iterable[Message]:
        """The events in what was read; "" ends the input."""
        data, self._held = (self._held + data if data else ""), ""
        if not data:
            yield from super().feed("")
        while data:
            if self._paste is None:
                keys, marker, data = self._until(_START, data)
                yield from self._keys(keys)
                self._paste = [] if marker else None
            else:
                pasted, marker, data = self._until(_END, data)
                self._paste.append(pasted)
                if marker:
                    yield events.Paste("".join(self._paste))
                    self._paste = None

    def tick(self) -> Iterable[Message]:
        """The events that come when nothing was read for a while."""
        if self._paste is None and self._held:
            keys, self._held = self._held, ""
            yield from super().feed(keys)
        yield from super().tick()

    def _keys(self, data: str) -> Iterable[Message]:
        """The events in what is no paste."""
        while data:
            keys, found, data = data.partition(_ALT_ENTER)
            if keys:
                yield from super().feed(keys)
            if found:
                yield events.Key("alt+enter", None)

    def _until(self, marker: str, data: str) -> tuple[str, str, str]:
        """As `str.partition`, but that the beginning of a marker at the end of what was read is held back."""
        before, found, after = data.partition(marker)
        if not found:
            held = next(n for n in range(len(marker) - 1, -1, -1) if before.endswith(marker[:n]))
            before, self._held = before[: len(before) - held], before[len(before) - held :]
        return before, found, after


def terminal_driver() -> type[Driver] | None:
    """The driver for an app on this system's terminals; None for Textual's own.

    Windows has another way to read, and Windows Terminal takes escape characters out of a paste itself.
    """
    if os.name == "nt":
        return None
    from localspec.tui.terminal_driver import TerminalDriver  # noqa: PLC0415 - its base is not there on Windows

    return TerminalDriver
