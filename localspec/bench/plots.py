"""Small plots in text, at most 80 columns wide, told apart by shape and not by colour; in plain ASCII where need be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]

WIDTH = 78
HEIGHT = 12


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters a plot is made of: one mark for each curve in turn, the line between marks, axes, bars."""

    marks: str
    line: str
    upright: str
    corner: str
    level: str
    bar: str
    part: str


UNICODE = Glyphs(marks="●○◆△", line="·", upright="│", corner="└", level="─", bar="█", part="▌")
ASCII = Glyphs(marks="*o#^", line=".", upright="|", corner="+", level="-", bar="#", part="-")


@dataclass(frozen=True, slots=True)
class Curve:
    """A named series of points, in order of x."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what it stands for, its length, and the figure in words behind it."""

    name: str
    value: float
    words: str


def glyphs_for(encoding: str | None) -> Glyphs:
    """The fine characters where the encoding has them all, else ASCII."""
    try:
        "".join(getattr(UNICODE, name) for name in UNICODE.__dataclass_fields__).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def plot(curves: Sequence[Curve], x_label: str, y_label: str, glyphs: Glyphs, y_top: float = 0.0) -> list[str]:
    """Curves over a common x, from y = 0 up.

    Args:
        curves: at most as many as there are marks; at least one point among them.
        x_label: what x is, with its unit.
        y_label: what y is, with its unit.
        glyphs: what to draw with.
        y_top: a y that must be on the plot.

    Returns:
        Lines without line ends: the label of y, the rows, the axis, its numbers, the label of x with the legend.
    """
    xs = sorted({x for curve in curves for x, _ in curve.points})
    highest = max(y_top, *(y for curve in curves for _, y in curve.points))
    step = _nice_step(highest / 4)
    ticks = [i * step for i in range(max(1, math.ceil(highest / step - 1e-9)) + 1)]
    names = [f"{tick:.{max(0, -math.floor(math.log10(step)))}f}" for tick in ticks]
    margin = max(map(len, names)) + 1
    canvas = _Canvas(WIDTH - margin - 1, HEIGHT, (xs[0], xs[-1]), ticks[-1])
    for curve, mark in zip(curves, glyphs.marks, strict=False):
        canvas.draw(curve.points, mark, glyphs.line)
    labels = {canvas.row(tick): name for tick, name in zip(ticks, names, strict=True)}
    lines = [y_label]
    for row, cells in enumerate(canvas.cells):
        lines.append((labels.get(row, "").rjust(margin - 1) + " " + glyphs.upright + "".join(cells)).rstrip())
    lines.append(" " * margin + glyphs.corner + glyphs.level * canvas.columns)
    lines.append(" " * (margin + 1) + _numbers(xs, canvas))
    legend = "   ".join(f"{mark} {curve.name}" for curve, mark in zip(curves, glyphs.marks, strict=False))
    lines.append(" " * (margin + 1) + x_label + (f"     {legend}" if len(curves) > 1 else ""))
    return lines


def bars(rows: Sequence[Bar], glyphs: Glyphs) -> list[str]:
    """Bars from a common zero, the longest as long as there is room for."""
    names = max(len(row.name) for row in rows)
    room = WIDTH - names - max(len(row.words) for row in rows) - 4
    longest = max(row.value for row in rows)
    lines = []
    for row in rows:
        halves = round(2 * room * row.value / longest) if longest > 0 else 0
        drawn = glyphs.bar * (halves // 2) + glyphs.part * (halves % 2)
        lines.append(f"  {row.name.ljust(names)} {drawn} {row.words}")
    return lines


class _Canvas:
    """A grid of characters over (x from low to high, y from 0 to top); row 0 is the top."""

    def __init__(self, columns: int, rows: int, x_range: tuple[float, float], top: float) -> None:
        self.columns = columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self._low, high = x_range
        self._width = (high - self._low) or 1.0
        self._top = top

    def column(self, x: float) -> int:
        # A column is left on either side, so that a mark does not stand on the axis.
        return 1 + round((x - self._low) / self._width * (self.columns - 3))

    def row(self, y: float) -> int:
        return len(self.cells) - 1 - round(y / self._top * (len(self.cells) - 1))

    def draw(self, points: Sequence[Point], mark: str, line: str) -> None:
        for (x0, y0), (x1, y1) in pairwise(points):
            first, last = self.column(x0), self.column(x1)
            for column in range(first + 1, last):
                part = (column - first) / (last - first)
                self._put(column, self.row(y0 + part * (y1 - y0)), line, over=" ")
        for x, y in points:
            self._put(self.column(x), self.row(y), mark, over=f" {line}")

    def _put(self, column: int, row: int, character: str, over: str) -> None:
        if self.cells[row][column] in over:
            self.cells[row][column] = character


def _numbers(xs: Sequence[float], canvas: _Canvas) -> str:
    """The numbers under the axis: of every point, or of every second, third, ... where there is no room for all."""
    names = [f"{x:g}" for x in xs]
    starts = [canvas.column(x) - len(name) // 2 for x, name in zip(xs, names, strict=True)]
    stride = next(
        stride
        for stride in range(1, len(xs) + 1)
        if all(starts[i] + len(names[i]) < starts[i + stride] for i in range(0, len(xs) - stride, stride))
    )
    line = ""
    for start, name in zip(starts[::stride], names[::stride], strict=True):
        line = line.ljust(start) + name
    return line


def _nice_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not less."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))
