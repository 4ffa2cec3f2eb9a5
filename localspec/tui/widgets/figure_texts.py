"""Figures as short texts, the same in the panel and in the line."""

from __future__ import annotations

from localspec.tui.figures import RoundMark
from localspec.tui.glyphs import Glyphs
from localspec.tui.widgets.rows import Span, Spans, cells

NEARLY_FULL = 0.9
"""Share of the context above which it is said in words."""


def speed(tokens_per_second: float) -> str:
    """Three figures that count."""
    return f"{tokens_per_second:.0f}" if tokens_per_second >= 99.95 else f"{tokens_per_second:.1f}"


def ratio(value: float) -> str:
    """Three figures that count."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}"


def speed_up_style(speed_up: float | None) -> str:
    """The style of a speed-up."""
    return "bad" if speed_up is not None and round(speed_up, 2) < 1 else "good"


def beside_off(speed_up: float) -> str:
    """What a speed-up says, in words."""
    rounded = round(speed_up, 2)
    return "as fast as off" if rounded == 1 else "slower than off" if rounded < 1 else "faster than off"


def speed_up(value: float) -> Span:
    """How many times as fast as off; that it is slower is also said in words."""
    return f"{ratio(value)}x{' slower' if round(value, 2) < 1 else ''}", speed_up_style(value)


def percent(share: float) -> str:
    """A share in percent; 100 only when it is all, 0 only when it is nothing."""
    shown = round(share * 100)
    if 0 < share < 1:
        shown = min(max(shown, 1), 99)
    return f"{shown} %"


def thousands(count: int) -> str:
    """Short: "950", "1.2k", "33k"."""
    if count < 1000:
        return f"{count}"
    return f"{count / 1000:.1f}k".replace(".0k", "k") if count < 9950 else f"{count / 1000:.0f}k"


def group(mark: RoundMark, glyphs: Glyphs) -> Spans:
    """One round in the strip of rounds."""
    own = {"correction": ("corrected", glyphs.corrected), "bonus": ("bonus", glyphs.bonus)}
    parts = [(glyphs.kept * mark.accepted, "kept")]
    if mark.last is not None:
        style, glyph = own.get(mark.last, ("muted", glyphs.plain))
        parts.append((glyph, style))
    if mark.last == "correction":
        parts.append((glyphs.unused * mark.unused, "muted"))
    return tuple((text, style) for text, style in parts if text)


def wrapped(groups: list[Spans], width: int, gap: str = " ") -> list[Spans]:
    """The groups in rows, none of them cut."""
    rows: list[Spans] = []
    room = 0
    for spans in groups:
        need = cells(spans)
        if rows and room >= need + len(gap):
            rows[-1] = (*rows[-1], (gap, "plain"), *spans)
            room -= need + len(gap)
        else:
            rows.append(spans)
            room = width - need
    return rows
