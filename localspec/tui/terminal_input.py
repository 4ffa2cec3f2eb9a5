"""What a terminal sends, read so that a paste arrives whole, Alt+Enter is not Enter, and no sequence becomes text.

Textual takes a paste apart at every escape character: what follows it comes as key presses, and a line end among them
as Enter. So a pasted log with colours would type, and send, half of itself. Alt+Enter, which most terminals send as an
escape and a line end, is Enter to it and would send too. A sequence that it does not know, or of which only the
beginning comes, it types into the field, with "^" for the escape character; some end its reader. And a byte that is
not UTF-8 ends its app.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import constants, events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS  # it and the parser have no public names
from textual._xterm_parser import XTermParser

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from textual.driver import Driver
    from textual.message import Message

_START = "\x1b[200~"
_END = "\x1b[201~"

_ALT_ENTER = "\x1b\r"

_STRING = r"[\]P_][^\x00-\x1f\x7f]{0,4096}"
_WHOLE = re.compile(
    r"[^\x1b]+|\x1b(?:"
    r"\[M[^\x1b]{3}"  # the mouse before SGR: three characters of any kind
    r"|\[\[[A-E]|\[[0-9]+\$"  # keys of the Linux console and of rxvt
    r"|\[(?![M\[])[0-?]*[ -/]*[@-~]"  # CSI (ECMA-48, 5.4)
    r"|O(?:[0-9;]+[@-~]|[ -/:<-~])"  # SS3
    rf"|{_STRING}(?:\x07|\x1b\\)"  # OSC, DCS and APC
    r"|[^\x1b\[O\]P_])"  # Alt and a key
)
"""Text, or a whole sequence."""
_REPLIES = frozenset({"\x1b]", "\x1bP", "\x1b_"})
"""Beginnings of those that are no keys."""
_LONGEST = 32
"""Characters of a sequence that Textual looks at before it types it."""
_BEGUN = re.compile(rf"\x1b(?:\[(?:M[^\x1b]{{0,2}}|\[|[0-?]*[ -/]*)|O[0-9;]*|{_STRING}(?:\x1b\Z)?)?")
"""As much as there is of a sequence that is not whole; at any escape character that begins none, that alone."""


class InputParser(XTermParser):
    """Cuts the input into pastes, text and sequences; what a whole sequence means is left to Textual.

    Attributes:
        wait: seconds without input after which to call `tick`.
    """

    wait = constants.ESCAPE_DELAY

    def __init__(self) -> None:
        """Begin outside of a paste."""
        super().__init__()
        self._paste: list[str] | None = None
        self._held = ""

    def feed(self, data: str) -> Iterable[Message]:
        """The events in what was read; "" ends the input."""
        if not data:
            yield from self.tick()
            yield from super().feed("")
        data, self._held = (self._held + data if data else ""), ""
        while data:
            data = yield from (self._take_keys(data) if self._paste is None else self._take_paste(self._paste, data))

    def tick(self) -> Iterable[Message]:
        """The events that come when nothing was read for a while: what was begun does not go on."""
        if self._paste is None and self._held:
            begun, self._held = self._held, ""
            yield from self._cut_off(begun)

    def _take_keys(self, data: str) -> Generator[Message, None, str]:
        """The events before the next paste; returns the input behind its beginning."""
        at = 0
        while at < len(data):
            if whole := _WHOLE.match(data, at):
                at = whole.end()
                if whole[0] == _START:
                    self._paste = []
                    return data[at:]
                yield from self._mean(whole[0])
            elif begun := _BEGUN.match(data, at):
                at = begun.end()
                if at < len(data):
                    yield from self._cut_off(begun[0])
                else:
                    self._held = begun[0]
        return ""

    def _take_paste(self, paste: list[str], data: str) -> Generator[Message, None, str]:
        """The paste, once its end is there; returns the input behind it."""
        pasted, found, after = data.partition(_END)
        if not found:
            held = next(n for n in range(len(_END) - 1, -1, -1) if pasted.endswith(_END[:n]))
            pasted, self._held = pasted[: len(pasted) - held], pasted[len(pasted) - held :]
        paste.append(pasted)
        if found:
            yield events.Paste("".join(paste))
            self._paste = None
        return after

    def _mean(self, whole: str) -> Iterable[Message]:
        """The events of text or of a whole sequence; none when nobody knows the sequence."""
        if whole == _ALT_ENTER:
            yield events.Key("alt+enter", None)
        elif len(whole) == 2 and whole[0] == "\x1b" and whole not in ANSI_SEQUENCES_KEYS:
            yield from self._sequence_to_key_events(whole[1], alt=True)
        elif whole[0] != "\x1b":
            yield from super().feed(whole)
        elif whole[:2] not in _REPLIES and len(whole) <= _LONGEST:
            with suppress(ValueError, OverflowError):  # a number of no key
                yield from super().feed(whole)
            # Of a sequence that it does not know it waits for more, and types it all when that does not come.
            self._gen = self.parse(self._tokens.append)
            self._awaiting = next(self._gen)

    def _cut_off(self, begun: str) -> Iterable[Message]:
        """The events of a sequence that does not go on: of one that is a key by itself, or Alt and a key."""
        key = begun.rpartition("\x1b")[2]
        if not key:
            yield events.Key("escape", "\x1b")
        elif f"\x1b{key}" in ANSI_SEQUENCES_KEYS or (len(key) == 1 and key != "["):
            yield from self._mean(f"\x1b{key}")


def terminal_driver() -> type[Driver] | None:
    """The driver for an app on this system's terminals; None for Textual's own.

    Windows has another way to read, and Windows Terminal takes escape characters out of a paste itself.
    """
    if os.name == "nt":
        return None
    from localspec.tui.terminal_driver import TerminalDriver  # noqa: PLC0415 - its base is not there on Windows

    return TerminalDriver
