"""Rows of styled text, and a widget that draws them: cheap enough to change while a model uses every core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from localspec.tui.explanations import Figure

Span = tuple[str, str]
"""A piece of text, and the name of its style: the widget has a component class WIDGET--STYLE for it."""

Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a widget.

    Attributes:
        spans: what stands in it.
        figures: what it tells about; none for a line or a legend, two when they stand side by side.
        middle: the cell at which the second one begins.
        rank: where there is no room for all rows, those of the highest rank go first; those of rank 0 stay.
    """

    spans: Spans = ()
    figures: tuple[Figure, ...] = ()
    middle: int = 0
    rank: int = 0

    def figure_at(self, cell: int) -> Figure | None:
        """What the text at that cell tells about."""
        return None if not self.figures else self.figures[0 if cell < self.middle else -1]

    def styled(self, figure: Figure, style: str) -> Row:
        """The row with all words that tell about a figure in another style."""
        spans, cell = [], 0
        for text, own in self.spans:
            # A bar in reverse would show what is missing.
            keeps = own in _BARS or not text.strip() or self.figure_at(cell) is not figure
            spans.append((text, own if keeps else style))
            cell += cell_len(text)
        return replace(self, spans=tuple(spans))


def cells(spans: Iterable[Span]) -> int:
    """The width of some spans."""
    return sum(cell_len(text) for text, _ in spans)


def apart(left: Spans, right: Spans, width: int) -> Spans | None:
    """`left` and `right` at the two ends of a row; None when they do not fit with a space between."""
    room = width - cells(left) - cells(right)
    if not right:
        return left if room >= 0 else None
    return (*left, (" " * room, "plain"), *right) if room >= 1 else None


def first_that_fits(alternatives: Iterable[tuple[Spans, Spans]], width: int) -> Spans:
    """The first of several pairs of left and right ends that fits; nothing when none does."""
    return next((row for left, right in alternatives if (row := apart(left, right, width)) is not None), ())


def drop_to(rows: Sequence[Row], height: int) -> list[Row]:
    """As many of the rows as fit, the least important ones left out, from below."""
    kept = list(rows)
    while len(kept) > height:
        worst = max(row.rank for row in kept)
        if worst == 0:
            return kept[:height]
        last = next(i for i in range(len(kept) - 1, -1, -1) if kept[i].rank == worst)
        del kept[last]
    return kept


_BARS = frozenset({"bar", "track"})

_SAME_SPACES = frozenset({"muted", "strong", "large", "good", "bad", "kept", "corrected", "bonus"})
"""Styles in which a space looks as in "plain"."""


class Rows(Widget):
    """Draws rows as they are, and of those that changed only.

    A subclass says in `PREFIX` how its component classes begin: a span of style "muted" is drawn as PREFIX--muted.
    """

    PREFIX = ""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - as in Widget
        super().__init__(id=id, classes=classes)
        self._rows: Sequence[Row] = ()
        self._drawn_styles: dict[str, Style] = {}

    @property
    def rows(self) -> Sequence[Row]:
        """What is drawn."""
        return self._rows

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Draw these from now on."""
        before, self._rows = self._rows, rows
        longest = max(len(before), len(rows))
        changed = [y for y in range(longest) if _spans(before, y) != _spans(rows, y)]
        if changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def render_line(self, y: int) -> Strip:
        """One row."""
        width = self.size.width
        spans = list(_joined(_spans(self._rows, y)))
        room = width - cells(spans)
        segments = [Segment(text, self._style(style)) for text, style in spans]
        if room > 0:
            segments.append(Segment(" " * room, self._style("plain")))
        strip = Strip(segments, width if room >= 0 else width - room)
        return strip if room >= 0 else strip.crop(0, width)

    def notify_style_update(self) -> None:
        """Another theme, or the focus came or went."""
        self._drawn_styles.clear()
        super().notify_style_update()

    def _style(self, name: str) -> Style:
        # The cache of Textual itself is emptied by every refresh.
        style = self._drawn_styles.get(name)
        if style is None:
            style = self._drawn_styles[name] = self.get_component_rich_style(f"{self.PREFIX}--{name}")
        return style


def _joined(spans: Spans) -> Iterator[Span]:
    """The spans with spaces added to the piece before, where that looks the same: each piece costs time."""
    held, held_style = "", ""
    for text, style in spans:
        if style == held_style or (style == "plain" and held_style in _SAME_SPACES and text.isspace()):
            held += text
        else:
            if held:
                yield held, held_style
            held, held_style = text, style
    if held:
        yield held, held_style


def _spans(rows: Sequence[Row], y: int) -> Spans:
    return rows[y].spans if y < len(rows) else ()
