"""From lines to what the terminal gets: colours of the theme, margins, the marks of what is chosen and selected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip
from textual.style import Style as ThemeStyle
from textual.widget import Widget

from localspec.tui.rendering.lines import Line, cut
from localspec.tui.rendering.palette import WITHOUT_COLOUR, Palette

MARGIN = 2
"""Cells left of the text: the mark of the chosen message, and a blank."""

_CHOSEN = "▌ "
_MOST_STRIPS = 1000


def theme_palette(widget: Widget) -> Palette:
    """The palette of the theme that the app has."""
    page = widget.background_colors[1]

    def resolve(definition: str) -> Style:
        style = ThemeStyle.parse(definition)
        given = style.background
        given = None if given is None or given.a == 0 else given
        background = page if given is None else page + given
        return Style(
            color=None if style.foreground is None else (background + style.foreground).rich_color,
            bgcolor=None if given is None else background.rich_color,
            bold=style.bold,
            dim=style.dim,
            italic=style.italic,
            underline=style.underline,
            strike=style.strike,
            reverse=style.reverse,
        )

    return Palette.resolved(resolve)


class Painter:
    """Makes strips of lines, each once as long as it looks the same."""

    def __init__(self) -> None:
        self._strips: dict[tuple[int, bool], tuple[Line, Strip]] = {}
        self._filters: tuple[LineFilter, ...] = ()
        self._ground = Color(0, 0, 0)
        self._width = 0
        self._palette = WITHOUT_COLOUR
        self._page = Style()

    def prepare(self, widget: Widget, width: int, palette: Palette) -> None:
        """Take up the widget's colours and filters, and how many cells a line has."""
        filters = tuple(widget.get_line_filters())
        ground = widget.background_colors[1]
        if (filters, ground, width, palette) == (self._filters, self._ground, self._width, self._palette):
            return
        self._strips.clear()
        self._filters, self._ground, self._width, self._palette = filters, ground, width, palette
        self._page = palette.text + Style(bgcolor=ground.rich_color)

    def strip(self, line: Line, *, chosen: bool, panel: bool) -> Strip:
        """A line of a message.

        Args:
            line: to paint.
            chosen: whether its message is the chosen one.
            panel: whether it stands on a panel.
        """
        key = (id(line), chosen)
        kept = self._strips.get(key)
        if kept is not None and kept[0] is line:
            return kept[1]
        strip = self._painted(line, chosen=chosen, panel=panel)
        if len(self._strips) >= _MOST_STRIPS:
            self._strips.clear()
        # The line is kept with its strip, so that its id is not given to another one meanwhile.
        self._strips[key] = (line, strip)
        return strip

    def selected(self, line: Line, span: tuple[int, int], style: Style, *, chosen: bool, panel: bool) -> Strip:
        """A line of which the characters of a span, counted from the left edge, are selected; -1 is the line's end."""
        length = len(line.plain)
        start = min(max(span[0] - MARGIN, line.start), length)
        end = min(length if span[1] == -1 else max(span[1] - MARGIN, start), length if line.end is None else line.end)
        if line.joint is None or start >= end:
            return self.strip(line, chosen=chosen, panel=panel)
        marked = [Segment(each.text, (each.style or Style()) + style) for each in cut(line.segments, start, end)]
        parts = (*cut(line.segments, 0, start), *marked, *cut(line.segments, end, length))
        return self._painted(Line(parts), chosen=chosen, panel=panel)

    def overlay(self, strip: Strip, text: str) -> Strip:
        """A strip with words over its right end."""
        style = self._page + self._palette.block + self._palette.chosen
        words = f" {text} "
        place = max(self._width - cell_len(words) - 1, 0)
        parts = [*strip.crop(0, place), Segment(words, style), *strip.crop(place + cell_len(words))]
        return Strip(self._filtered(parts)).adjust_cell_length(self._width, self._page)

    @property
    def blank(self) -> Strip:
        """An empty line."""
        return self._finished([], self._page)

    def plain(self, segments: Iterable[Segment]) -> Strip:
        """Segments that are no line of a message."""
        return self._finished(
            [Segment(text, self._page + (style or Style())) for text, style, _ in segments], self._page
        )

    def _painted(self, line: Line, *, chosen: bool, panel: bool) -> Strip:
        ground = self._page + self._palette.user_text if panel else self._page
        margin = Segment(_CHOSEN if chosen else " " * MARGIN, ground + self._palette.chosen)
        parts = [Segment(each.text, ground + (each.style or Style())) for each in line.segments]
        return self._finished([margin, *parts], ground)

    def _finished(self, parts: Sequence[Segment], ground: Style) -> Strip:
        missing = self._width - sum(cell_len(part.text) for part in parts)
        padding = [Segment(" " * missing, ground)] if missing > 0 else []
        strip = Strip(self._filtered([*parts, *padding]))
        return strip.adjust_cell_length(self._width, ground)

    def _filtered(self, segments: list[Segment]) -> list[Segment]:
        for each in self._filters:
            segments = each.apply(segments, self._ground)
        return segments
