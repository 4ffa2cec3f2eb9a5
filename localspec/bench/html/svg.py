"""A small writer of SVG: scales, axes, marks. Every text is escaped; colours are classes that the page's style sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

SERIES = 8
"""Series that look different; more than that begin anew."""

_SHAPES = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
    "M-3.6,-3.6h7.2v7.2h-7.2z",
    "M0,-4.8l4.6,8h-9.2z",
    "M0,-5l5,5l-5,5l-5,-5z",
    "M0,4.8l4.6,-8h-9.2z",
    "M-1.6,-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` on pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        span = self.high - self.low or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round values from `low` to `high`, both included or passed."""
    if low == high:
        high = low + (abs(low) or 1.0)
    rough = (high - low) / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def number(value: float) -> str:
    """A value as axes and tables write it."""
    return f"{value:.10g}" if value == round(value) else f"{value:.3g}"


@dataclass(slots=True)
class Canvas:
    """A picture being drawn, `width` by `height` pixels."""

    width: int = 720
    height: int = 320
    _parts: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line of a class of the style."""
        self._parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def path(self, points: Sequence[tuple[float, float]], series: int, kind: str = "curve") -> None:
        """A line through points."""
        through = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline class="{kind} s{series % SERIES}" points="{through}"/>')

    def mark(self, x: float, y: float, series: int, told: str = "") -> None:
        """A point, in colour and shape of its series; `told` shows where the mouse rests on it."""
        title = f"<title>{escape(told)}</title>" if told else ""
        shape = _SHAPES[series % len(_SHAPES)]
        self._parts.append(
            f'<path class="mark s{series % SERIES}" transform="translate({x:.1f},{y:.1f})" d="{shape}">{title}</path>'
        )

    def bar(self, x: float, y: float, width: float, height: float, series: int) -> None:
        """A filled box."""
        self._parts.append(
            f'<rect class="bar s{series % SERIES}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{max(width, 0):.1f}" height="{height:.1f}"/>'
        )

    def text(self, x: float, y: float, words: str, anchor: str = "start") -> None:
        """Words at a place; `anchor` is start, middle or end."""
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>')

    def x_axis(self, scale: Scale, values: Sequence[float], words: str, top: float) -> None:
        """The axis along the bottom, with lines up to `top`."""
        bottom = self.height - 44
        for value in values:
            x = scale.at(value)
            self.line(x, top, x, bottom, "grid")
            self.text(x, bottom + 18, number(value), "middle")
        self.text((scale.start + scale.end) / 2, self.height - 6, words, "middle")

    def y_axis(self, scale: Scale, values: Sequence[float], words: str, right: float) -> None:
        """The axis at the left, with lines up to `right`."""
        left = 56.0
        for value in values:
            y = scale.at(value)
            self.line(left, y, right, y, "grid")
            self.text(left - 8, y + 4, number(value), "end")
        self.text(left - 48, 14, words)

    def render(self, title: str, description: str) -> str:
        """The SVG element; a screen reader is told title and description."""
        return (
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(title)}. {escape(description)}">'
            f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{''.join(self._parts)}</svg>"
        )


def legend_mark(series: int) -> str:
    """The mark of a series, small, for a legend."""
    shape = _SHAPES[series % len(_SHAPES)]
    return f'<svg viewBox="-7 -7 14 14" aria-hidden="true"><path class="mark s{series % SERIES}" d="{shape}"/></svg>'
