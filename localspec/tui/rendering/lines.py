"""Lines of styled text: wrapped at a width, with what a person copies told apart from frames and padding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style

from localspec.terminal import visible

TAB = 4
"""Cells between tab stops."""

_WIDE = "\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\U00020000-\U0003fffd"
_CLOSING = "\u3001\u3002\u300b\u300d\u300f\u3011\u3015\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\u30fc"
_JOINING = "\u0300-\u036f\u200d\ufe00-\ufe0f\u3099\u309a"
_WORD = re.compile(rf"[{_WIDE}][{_CLOSING}{_JOINING}]*[ ]*|[^ {_WIDE}]+[ ]*|[ ]+")
"""A piece that stays on one line where it fits. Chinese and Japanese have no spaces: each character is a word, but none
begins a line that must not."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, as wide as its text.

    Attributes:
        segments: the styled text.
        start: index of the first character that is text; what is before is a frame, a mark or padding.
        end: index after the last character that is text; None for the line's end.
        joint: what stands between this line's text and the next one's: a line end, or for text that was only wrapped a
            space or nothing. None for a frame, which nobody copies.
        block: the number of the code block that this line is the head of; 0 for any other line.
    """

    segments: tuple[Segment, ...]
    start: int = 0
    end: int | None = None
    joint: str | None = "\n"
    block: int = 0

    @property
    def plain(self) -> str:
        """All its characters."""
        return "".join(segment.text for segment in self.segments)

    @property
    def text(self) -> str:
        """What of it a person copies."""
        return self.plain[self.start : self.end]

    @property
    def width(self) -> int:
        """In cells."""
        return sum(cell_len(segment.text) for segment in self.segments)


BLANK = Line(())
"""An empty line."""


def frame(text: str, style: Style) -> Line:
    """A line that nobody copies."""
    return Line((Segment(text, style),), joint=None)


def shown(text: str) -> str:
    """Foreign text as it can be shown on one line: nothing steers the terminal, and tabs and line ends are spaces."""
    return visible(text).replace("\n", " ").replace("\t", " ")


def shortened(text: str, width: int) -> str:
    """The text, cut with an ellipsis when it is wider than `width` cells."""
    if cell_len(text) <= width:
        return text
    return (chop_cells(text, width - 1)[0] if width > 1 else "") + "…"


def prefixed(lines: Iterable[Line], first: Segment, rest: Segment | None = None, *, copied: bool = False) -> list[Line]:
    """The lines behind a mark: `first` before the first line, `rest` (or as many blanks) before the others.

    Args:
        lines: what stands behind it.
        first: the mark.
        rest: what the other lines get.
        copied: whether the marks are part of the text.
    """
    following = rest or Segment(" " * cell_len(first.text), first.style)
    marked = []
    mark = first
    for line in lines:
        length = len(mark.text)
        end = None if line.end is None else line.end + length
        start = 0 if copied and not line.start else line.start + length
        marked.append(replace(line, segments=(mark, *line.segments), start=start, end=end))
        mark = following
    return marked


def padded(line: Line, width: int, style: Style) -> Line:
    """The line filled up to `width` cells; the filling is no text."""
    missing = width - line.width
    if missing <= 0:
        return line
    end = len(line.plain) if line.end is None else line.end
    return replace(line, segments=(*line.segments, Segment(" " * missing, style)), end=end)


def wrapped(runs: Sequence[Segment], width: int) -> list[Line]:
    """Text as lines no wider than `width` cells: broken at words, a word only where it is wider than a line.

    Args:
        runs: visible text, one style each; a line end in them begins a new line.
        width: in cells; at least 2, or a wide character would have no room.
    """
    lines: list[Line] = []
    for paragraph in _split(runs):
        lines.extend(_wrapped_paragraph(paragraph, max(width, 2)))
    return lines


def wrapped_text(text: str, style: Style, width: int) -> list[Line]:
    """Visible text of one style as lines, with its tabs and line ends."""
    return [line for row in text.split("\n") for line in wrapped((Segment(row.expandtabs(TAB), style),), width)]


def breaks(text: str, width: int) -> list[int]:
    """Where in a text without line ends new lines begin, so that each fits `width` cells but for blanks at its end."""
    if len(text) <= width and text.isascii():
        return []
    places: list[int] = []
    column = start = 0
    for found in _WORD.finditer(text):
        whole, place = found.group(), found.start()
        word = whole.rstrip(" ")
        room = width - column
        # What is only indented so far stays on its line: an empty line would say that there was one.
        if cell_len(word) > room and (text[start:place].strip() or room < 2):
            places.append(place)
            start, column, room = place, 0, width
        if cell_len(word) > room:
            first = chop_cells(word, room)[0]
            for piece in chop_cells(word[len(first) :], width):
                place += len(first)
                places.append(place)
                first = piece
            start, column, word = place, 0, first
        column += cell_len(word) + len(whole) - len(whole.rstrip(" "))
    return places


def _wrapped_paragraph(runs: Sequence[Segment], width: int) -> list[Line]:
    text = "".join(run.text for run in runs)
    starts = [0, *breaks(text, width)]
    lines = []
    for start, stop in zip(starts, [*starts[1:], len(text)], strict=True):
        end = stop
        while end > start and text[end - 1] == " ":
            end -= 1
        joint = "\n" if stop == len(text) else " " * (end < stop)
        lines.append(Line(cut(runs, start, end), joint=joint))
    return lines


def cut(runs: Sequence[Segment], start: int, end: int) -> tuple[Segment, ...]:
    """The runs between two characters."""
    cut = []
    place = 0
    for run in runs:
        after = place + len(run.text)
        if after > start and place < end:
            cut.append(Segment(run.text[max(start - place, 0) : end - place], run.style))
        place = after
    return tuple(cut)


def _split(runs: Sequence[Segment]) -> list[list[Segment]]:
    """The runs of each line that a line end in them makes."""
    lines: list[list[Segment]] = [[]]
    for run in runs:
        first, *following = run.text.split("\n")
        if first:
            lines[-1].append(Segment(first, run.style))
        lines.extend([Segment(text, run.style)] if text else [] for text in following)
    return lines
