"""The text being written, kept as it is and shown without harm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual.widgets.text_area import Document

if TYPE_CHECKING:
    from textual.widgets.text_area import EditResult, Location

_CONTROLS = (*(code for code in range(0x20) if chr(code) not in "\n\t"), *range(0x7F, 0xA0))
_WIDE_CONTROLS = (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Line and paragraph separators, and what turns the direction of a text (Trojan Source)."""

_STAND_INS = {
    **{code: 0xD800 + code for code in _CONTROLS},
    **{code: 0xDC00 + code - 0x2000 for code in _WIDE_CONTROLS},
}
"""For each character that steers a terminal or splits a line, a lone surrogate: no text that can be sent has one."""

_INSIDE = {**dict.fromkeys(range(0xD800, 0xE000), "\ufffd"), **_STAND_INS}
_OUTSIDE = {stand_in: code for code, stand_in in _STAND_INS.items()}
_SHOWN = {stand_in: 0x2400 + code if code < 0x20 else 0xFFFD for code, stand_in in _STAND_INS.items()} | {
    _STAND_INS[0x7F]: 0x2421
}

_ODD = re.compile("[" + "".join(f"\\u{code:04x}" for code in (*_CONTROLS, *_WIDE_CONTROLS)) + "\\ud800-\\udfff]")
_LINE_END = re.compile("\r\n?")


def line_ends(text: str) -> str:
    r"""The text with \n as its line end; terminals paste \r, whatever was copied."""
    return _LINE_END.sub("\n", text)


def shown(line: str) -> str:
    """A line of the document as it can be drawn: every character one that has a place of its own on the screen."""
    return line.translate(_SHOWN)


class PromptDocument(Document):
    r"""A document that splits lines at \n alone and gives every control character one cell.

    The text area measures, wraps and draws its lines as they are; a control character has no width there, and would
    reach the terminal. So the lines hold stand-ins, and whatever text leaves the document holds the real characters.
    """

    def __init__(self, text: str) -> None:
        """Hold a text."""
        self._has_stand_ins = False
        super().__init__("")
        self.replace_range((0, 0), (0, 0), text)

    @property
    def text(self) -> str:
        """All of the text."""
        return self._outside("\n".join(self._lines))

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Replace a part of the text; see `Document.replace_range`."""
        text = line_ends(text)
        if _ODD.search(text):
            self._has_stand_ins = True
            text = text.translate(_INSIDE)
        return super().replace_range(start, end, text)

    def get_text_range(self, start: Location, end: Location) -> str:
        """A part of the text; see `Document.get_text_range`."""
        return self._outside(super().get_text_range(start, end))

    def _outside(self, text: str) -> str:
        return text.translate(_OUTSIDE) if self._has_stand_ins else text
