"""Blocks of code: highlighted on a panel, each under a line that says its language and how to copy it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment

from localspec.tui.rendering.highlighting import GrowingHighlight, highlighted
from localspec.tui.rendering.lines import TAB, Line, padded, prefixed, shortened, shown, wrapped
from localspec.tui.rendering.palette import Palette

_INDENT = "  "
_CONTINUED = "… "
_LANGUAGE_CELLS = 24


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A block of code in an answer.

    Attributes:
        language: as the model named it; "" when it did not.
        text: exactly as the model wrote it, without the fence.
    """

    language: str
    text: str


def language_of(info: str) -> str:
    """The language that a fence's info string names; "" for none."""
    words = info.split()
    return words[0].strip("{}.") if words else ""


def block_lines(code: str, language: str, number: int, width: int, palette: Palette) -> list[Line]:
    """A finished block: its head, and its code on a panel of the whole width.

    Args:
        code: visible text.
        language: to highlight it as; "" for plain text.
        number: to copy it by; 0 for none.
        width: in cells.
        palette: how it is shown.
    """
    rows = highlighted(code.rstrip("\n").expandtabs(TAB), language, palette)
    return [_head(language, number, width, palette), *_body(rows, width, palette)]


class GrowingBlock:
    """The lines of a block that is being written: each row is highlighted once, however long the block becomes."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._code = ""
        self._lines: list[Line] = []
        self._highlight: GrowingHighlight | None = None

    def lines(self, code: str, language: str, number: int, width: int, palette: Palette) -> list[Line]:
        """As `block_lines`, quick where `code` only goes on from the last call's."""
        code = code.expandtabs(TAB)
        key = (language, number, width, palette)
        if self._highlight is None or key != self._key or not code.startswith(self._code):
            self._key, self._code = key, ""
            self._lines = [_head(language, number, width, palette)]
            self._highlight = GrowingHighlight(language, palette)
        added, self._code = code[len(self._code) :], code
        settled, growing = self._highlight.feed(added)
        self._lines.extend(_body(settled, width, palette))
        return [*self._lines, *_body(growing, width, palette)]


def _head(language: str, number: int, width: int, palette: Palette) -> Line:
    name = shortened(shown(language) or "text", min(_LANGUAGE_CELLS, max(width - 16, 4)))
    copy = f" copy: /code {number} " if number else ""
    fill = width - cell_len(name) - len(copy) - len(_INDENT) - 2
    if fill < 1:
        return padded(
            Line((Segment(f" {name}", palette.block_language),), joint=None, block=number), width, palette.block
        )
    segments = (
        Segment(f"{_INDENT}{name} ", palette.block_language),
        Segment(f"{'─' * fill}{copy}─", palette.block_head),
    )
    return Line(segments, joint=None, block=number)


def _body(rows: Iterable[Sequence[Segment]], width: int, palette: Palette) -> Iterator[Line]:
    indent = Segment(_INDENT, palette.block)
    continued = Segment(_CONTINUED, palette.block_head)
    room = max(width - 2 * len(_INDENT), 2)
    for row in rows:
        # Only a row that is too long is wrapped: wrapping drops blanks at the end, and code keeps all of its own.
        fits = sum(cell_len(run.text) for run in row) <= room
        lines = [Line(tuple(row))] if fits else wrapped(row, room) or [Line(())]
        for line in prefixed(lines, indent, continued):
            yield padded(line, width, palette.block)
