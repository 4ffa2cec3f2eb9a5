"""Tables: as wide as they need; where there is no room cells wrap, and where even that is too wide rows are lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it.token import Token
from rich.segment import Segment
from rich.style import Style

from localspec.tui.rendering.inline import inline_lines
from localspec.tui.rendering.lines import BLANK, Line, frame
from localspec.tui.rendering.palette import Palette

_BETWEEN = " │ "
_CROSSING = "─┼─"
_NARROWEST = 5
"""Cells; columns that would have to be narrower are no columns any more."""
_UNWRAPPED = 10_000


@dataclass(frozen=True, slots=True)
class _Cell:
    source: str
    align: str


def table_lines(tokens: Sequence[Token], width: int, palette: Palette) -> list[Line]:
    """A table as lines.

    Args:
        tokens: from `table_open` to `table_close`.
        width: in cells.
        palette: how it is shown.
    """
    head, *rows = _cells(tokens)
    widths = _widths([head, *rows], width, palette)
    if widths is None:
        return _records(head, rows, width, palette)
    rule = frame(_CROSSING.join("─" * each for each in widths), palette.rule)
    lines = [*_row(head, widths, palette.heading, palette), rule]
    drawn = [_row(row, widths, palette.text, palette) for row in rows]
    thin = frame("┈" * rule.width, palette.rule)
    apart = any(len(row) > 1 for row in drawn)
    for index, row in enumerate(drawn):
        lines.extend([thin] if apart and index else [])
        lines.extend(row)
    return lines


def _cells(tokens: Sequence[Token]) -> list[list[_Cell]]:
    rows: list[list[_Cell]] = []
    align = "left"
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            align = str(token.attrs.get("style", "")).removeprefix("text-align:") or "left"
        elif token.type == "inline":
            rows[-1].append(_Cell(token.content, align))
    return rows


def _widths(rows: list[list[_Cell]], width: int, palette: Palette) -> list[int] | None:
    """Cells for each column: what it needs, or where there is no room the widest ones cut to one width; or None."""
    columns = len(rows[0])
    needed = [max(_natural(row[column], palette) for row in rows if column < len(row)) for column in range(columns)]
    room = width - len(_BETWEEN) * (columns - 1)
    if sum(needed) <= room:
        return needed
    widest = max(needed)
    low, high = 1, widest
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(min(each, middle) for each in needed) <= room else (low, middle - 1)
    if low < _NARROWEST:
        return None
    fitted = [min(each, low) for each in needed]
    spare = room - sum(fitted)
    for column, each in enumerate(needed):
        if each > fitted[column] and spare > 0:
            fitted[column] += 1
            spare -= 1
    return fitted


def _natural(cell: _Cell, palette: Palette) -> int:
    return max(1, *(line.width for line in inline_lines(cell.source, palette.text, palette, _UNWRAPPED)), 1)


def _row(cells: list[_Cell], widths: list[int], base: Style, palette: Palette) -> list[Line]:
    columns = [inline_lines(cell.source, base, palette, width) for cell, width in zip(cells, widths, strict=False)]
    lines = []
    for index in range(max(len(column) for column in columns)):
        segments: list[Segment] = []
        for column, cell, width in zip(columns, cells, widths, strict=False):
            if segments:
                segments.append(Segment(_BETWEEN, palette.rule))
            segments.extend(_aligned(column[index] if index < len(column) else BLANK, width, cell.align, base))
        lines.append(Line(tuple(segments)))
    return lines


def _aligned(line: Line, width: int, align: str, base: Style) -> list[Segment]:
    missing = max(width - line.width, 0)
    before = {"right": missing, "center": missing // 2}.get(align, 0)
    parts = [Segment(" " * before, base), *line.segments, Segment(" " * (missing - before), base)]
    return [part for part in parts if part.text]


def _records(head: list[_Cell], rows: list[list[_Cell]], width: int, palette: Palette) -> list[Line]:
    """Each row as lines of "column: value"."""
    lines: list[Line] = []
    for row in rows:
        lines.extend([frame("─" * width, palette.rule)] if lines else [])
        for name, cell in zip(head, row, strict=False):
            source = f"{name.source}: {cell.source}"
            lines.extend(inline_lines(source, palette.text, palette, width))
    return lines
