"""What reaches a terminal: a model's text with its control characters made visible, dimmed thinking, passing statuses.

Model output, model names and file names are other people's text. Sent raw, an escape sequence in one of them could
retitle the window, answer for the person, or hide text; a bidirectional override could show code that is not there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TextIO

_KEPT = "\n\t"
_OVERRIDES = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Embeddings, overrides and isolates (Trojan Source, CVE-2021-42574); the marks that Arabic and Hebrew need stay."""

_VISIBLE = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in _KEPT},
    0x7F: "\u2421",
    **{code: f"<U+{code:04X}>" for code in (*range(0x80, 0xA0), *_OVERRIDES)},
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}

_STEERING_IN_JSON = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What of the above JSON does not escape by itself."""

_DIM = "\x1b[2m"
_PLAIN = "\x1b[0m"
_ERASE_LINE = "\r\x1b[K"


def visible(text: str) -> str:
    """The text with every character that could steer a terminal made visible; line ends and tabs stay."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def visible_json(document: object) -> str:
    """The document as JSON on one line, with every character escaped that could steer a terminal.

    Raises:
        ValueError: it holds an infinite number or NaN, which JSON has not.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return _STEERING_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


class VisibleStream:
    """`visible` for text that comes in pieces: a line end may be cut in two."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text so far can be shown now."""
        text = self._held + piece
        self._held = "\r" if text.endswith("\r") else ""
        return visible(text.removesuffix("\r"))

    def finish(self) -> str:
        """What was held back."""
        held, self._held = self._held, ""
        return visible(held)


class Terminal:
    """Answers on one stream, everything else on another; escape codes only where a person sees them.

    Attributes:
        shows_notes: whether the notes go to a terminal, so that a person is there to read them.
    """

    def __init__(self, answers: TextIO, notes: TextIO) -> None:
        self._answers = answers
        self._notes = notes
        dumb = os.environ.get("TERM") == "dumb"
        colour = not os.environ.get("NO_COLOR") and not dumb
        self.shows_notes = notes.isatty()
        self._erases = self.shows_notes and not dumb
        self._dims_answers = answers.isatty() and colour
        self._dims_notes = self.shows_notes and colour
        self._stream = VisibleStream()
        self._dimmed = False
        self._column_open = False
        self._status_shown = False

    def write(self, piece: str, *, dim: bool = False) -> None:
        """Write a piece of an answer, at once; `dim` sets it back where colour is allowed."""
        text = self._stream.feed(piece)
        if not text:
            return
        self.clear_status()
        if self._dims_answers and dim != self._dimmed:
            text = (_DIM if dim else _PLAIN) + text
            self._dimmed = dim
        self._answers.write(text)
        self._answers.flush()
        self._column_open = not text.endswith("\n")

    def end_answer(self) -> None:
        """Finish an answer: nothing held back, nothing left dimmed, the cursor on a line of its own."""
        text = self._stream.finish()
        if self._dimmed:
            text += _PLAIN
            self._dimmed = False
        if self._column_open or text:
            text += "\n"
        self._column_open = False
        self.clear_status()
        self._answers.write(text)
        self._answers.flush()

    def note(self, text: str) -> None:
        """Tell the person something that is not part of the answer."""
        self.clear_status()
        shown = visible(text)
        self._notes.write(f"{_DIM}{shown}{_PLAIN}\n" if self._dims_notes and shown else f"{shown}\n")
        self._notes.flush()

    def status(self, text: str) -> None:
        """Show what is going on, on a line that the next output replaces; nothing unless a person is there."""
        if not self._erases:
            return
        # Room for the ^C that a terminal echoes: it must not push the cursor to another line than the one to erase.
        width = shutil.get_terminal_size().columns - 3
        self._notes.write(_ERASE_LINE + visible(text).replace("\n", " ")[:width])
        self._notes.flush()
        self._status_shown = True

    def clear_status(self) -> None:
        """Erase the status, if one is shown."""
        if self._status_shown:
            self._notes.write(_ERASE_LINE)
            self._notes.flush()
            self._status_shown = False
