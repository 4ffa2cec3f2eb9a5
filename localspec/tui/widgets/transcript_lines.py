"""Scrolling through messages of which only those in view are rendered: the heights of others are guessed."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from localspec.tui.rendering.lines import Line
from localspec.tui.widgets.transcript_entry import Look
from localspec.tui.widgets.transcript_paint import MARGIN, Painter
from localspec.tui.widgets.transcript_selection import place_of, selected_text
from localspec.tui.widgets.transcript_view import Column, MessageView

_MOST_LINES = 6000
"""Lines that are kept of messages that are out of view."""

_NARROWEST = 8
_WIDEST = 120
"""Cells of text on a line: longer lines are hard to read."""


class LinesInView(ScrollView):
    """A column of messages, drawn line by line.

    It follows the end while messages grow, unless a person scrolled up; and what is in view stays where it is when a
    message above turns out to be higher or lower than was guessed.
    """

    ALLOW_MAXIMIZE = False
    DEFAULT_CSS = """
    LinesInView {
        background: $background;
        color: $text;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $panel;
        &:focus { scrollbar-color: $primary; }
    }
    """

    def __init__(self, look: Look, *, id: str | None, classes: str | None) -> None:  # noqa: A002 - as in `Widget`
        super().__init__(id=id, classes=classes)
        self.look = look
        """How messages are shown."""
        self.column = Column()
        self.painter = Painter()
        self.follows = True
        """Whether the end stays in view when more comes."""
        self._page: list[Strip] = []
        self._thumb = (0, 0, 0)

    @abstractmethod
    def strip_of(self, index: int, line: int) -> Strip:
        """A line of a message; `index` may be after the last one: then of what is below it."""

    @abstractmethod
    def lines_below(self) -> int:
        """Lines below the last message; -1 leaves out its own last line."""

    @abstractmethod
    def overlay(self) -> str:
        """Words over the last line in view; "" for none."""

    @abstractmethod
    def empty_strips(self) -> list[Strip]:
        """What is drawn when there is no message."""

    @property
    def inner_width(self) -> int:
        """Cells of a line: the scroll bar lies over the widget's last ones."""
        return self.size.width - self.scrollbar_size_vertical

    # What there is to draw

    def put(self, views: list[MessageView]) -> None:
        """Show these messages in place of all others, from the end on."""
        for view in views:
            view.guess_height(self.look.width)
        self.column.views = views
        self.column.measure()
        self.follows = True
        self._forget_selection()
        self.refresh_page()

    def grown(self, index: int) -> None:
        """A message has other lines now."""
        self.column.measure(index)
        self.refresh_page()

    def restyle(self, look: Look) -> None:
        """Show all messages in another way; what was at the top of the view stays there, as near as can be."""
        place = self._place()
        self.look = look
        for view in self.column.views:
            view.forget()
            view.guess_height(look.width)
        self.column.measure()
        self._forget_selection()
        if place and not self.follows:
            index, text_before = place
            view = self.column.views[index]
            view.render(look)
            self.column.measure(index)
            self._scroll_quietly(self.column.top(index) + view.line_after(text_before))
        self.refresh_page()

    def _place(self) -> tuple[int, int] | None:
        """The message at the top of the view, and how much of its text is above."""
        index, line = self.column.at(self.scroll_offset.y)
        if index >= len(self.column.views):
            return None
        return index, self.column.views[index].letters_before(line)

    def refresh_page(self) -> None:
        """Draw what has changed in view."""
        width, height = self.inner_width, self.size.height
        if not (self.is_mounted and width > 0 and height):
            return
        text_width = min(max(width - MARGIN - 1, _NARROWEST), _WIDEST)
        if text_width != self.look.width:
            self.restyle(replace(self.look, width=text_width))
            return
        self._render_what_is_in_view()
        self._move_scrollbar()
        self.painter.prepare(self, width, self.look.palette)
        before, self._page = self._page, self._drawn()
        if len(before) != len(self._page):
            self.refresh()
            return
        changed = [
            y for y, (old, new) in enumerate(zip(before, self._page, strict=True)) if old is not new and old != new
        ]
        if len(changed) == height:
            self.refresh()
        elif changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def _drawn(self) -> list[Strip]:
        height = self.size.height
        if not self.column.views and not self.lines_below() > 0:
            strips = self.empty_strips()
        else:
            strips = []
            index, line = self.column.at(self.scroll_offset.y)
            views = self.column.views
            while len(strips) < height:
                strips.append(self.strip_of(index, line))
                line += 1
                if index < len(views) and line >= views[index].height:
                    index, line = index + 1, 0
        strips = [*strips, *[self.painter.blank] * (height - len(strips))][:height]
        if words := self.overlay():
            strips[-1] = self.painter.overlay(strips[-1], words)
        return strips

    def painted(self, index: int, number: int, line: Line, *, chosen: bool, panel: bool) -> Strip:
        """A line, with what is selected of it marked."""
        selection = self.text_selection
        span = None if selection is None else selection.get_span(place_of(index, number))
        if span is None:
            return self.painter.strip(line, chosen=chosen, panel=panel)
        style = self.screen.get_component_rich_style("screen--selection")
        return self.painter.selected(line, span, style, chosen=chosen, panel=panel)

    def _render_what_is_in_view(self) -> None:
        self._set_height()
        while (index := self._guessed_in_view()) is not None:
            view = self.column.views[index]
            above = self.column.top(index) < self.scroll_offset.y
            guessed = view.height
            view.render(self.look)
            self.column.measure(index)
            if above and not self.follows:
                self._scroll_quietly(self.scroll_offset.y + view.height - guessed)
            self._set_height()
            self._let_go()

    def _guessed_in_view(self) -> int | None:
        """The last message in view whose height is a guess."""
        first = self.scroll_offset.y
        last = min(self.column.at(first + self.size.height - 1)[0], len(self.column.views) - 1)
        index = self.column.at(first)[0]
        return next((i for i in range(last, index - 1, -1) if not self.column.views[i].is_rendered), None)

    def _let_go(self) -> None:
        """Keep memory bounded: forget the lines of the messages that are farthest from the view."""
        rendered = [index for index, view in enumerate(self.column.views) if view.is_rendered and not view.live]
        lines = sum(len(self.column.views[index].lines) for index in rendered)
        middle = self.column.at(self.scroll_offset.y)[0]
        for index in sorted(rendered, key=lambda each: -abs(each - middle)):
            if lines <= _MOST_LINES or abs(index - middle) <= self.size.height:
                return
            lines -= len(self.column.views[index].lines)
            self.column.views[index].forget()

    # Scrolling

    def _set_height(self) -> None:
        """Take up the height of all. Textual's own setter lays out the whole screen anew, which no line is worth."""
        height = max(self.column.height + self.lines_below(), 0)
        if self.virtual_size.height != height:
            self.set_reactive(Widget.virtual_size, Size(self.size.width, height))
        if self.follows or self.scroll_offset.y > self.max_scroll_y:
            self._scroll_quietly(self.max_scroll_y)

    def _scroll_quietly(self, y: int) -> None:
        """Be at another line, without taking it for something a person did."""
        self.set_reactive(Widget.scroll_y, float(max(y, 0)))
        self.set_reactive(Widget.scroll_target_y, float(max(y, 0)))

    def _move_scrollbar(self) -> None:
        """Draw the scroll bar anew, if its thumb has moved by an eighth of a cell or more: it is dear to draw."""
        window, whole, y = self.size.height, max(self.virtual_size.height, 1), self.scroll_offset.y
        thumb = (window, 8 * window * y // whole, 8 * window * window // whole)
        if thumb != self._thumb:
            self._thumb = thumb
            self.vertical_scrollbar.window_virtual_size = whole
            self.vertical_scrollbar.position = y

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """A person scrolled."""
        if round(old_value) != round(new_value):
            self.follows = round(new_value) >= self.max_scroll_y
            self.refresh_page()

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> None:
        """As in `Widget`, at once: moving text cannot be read."""
        super().scroll_to(x, y, **{**options, "animate": False})

    def action_scroll_home(self) -> None:
        """Go to the beginning."""
        self.scroll_to(y=0)

    def action_scroll_end(self) -> None:
        """Go to the end, and follow it."""
        self.follows = True
        self.refresh_page()

    def bring_into_view(self, index: int, line: int | None = None) -> None:
        """Scroll as little as needed to see a message from its beginning on, or one line of it."""
        top = self.column.top(index) + (line or 0)
        bottom = top + 1 if line is not None else self.column.top(index) + self.column.views[index].height - 1
        first, height = self.scroll_offset.y, self.size.height
        if top < first or bottom - top > height:
            self.scroll_to(y=top)
        elif bottom > first + height:
            self.scroll_to(y=bottom - height)

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002 - Textual calls it so
        """Wrap the text anew."""
        self.refresh_page()

    # What Textual asks for

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of the page: no border, no padding, so nothing of Textual's styling per line is needed."""
        if len(self._page) != self.size.height:
            self.refresh_page()
        blank = self.painter.blank
        strips = [self._page[y] if y < len(self._page) else blank for y in crop.line_range]
        left, right = crop.column_span
        if left > 0 or right < self.inner_width:
            return [strip.crop(left, right) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """A strip with the places of its characters; Textual asks for it where the mouse selects."""
        if not 0 <= y < len(self._page):
            return self.painter.blank
        index, line = self.column.at(self.scroll_offset.y + y)
        if index >= len(self.column.views):
            line = self.scroll_offset.y + y - self.column.height
        return self._page[y].apply_offsets(0, place_of(index, line))

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002 - Textual calls it so
        """Mark what is selected."""
        self.refresh_page()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that is selected, and what follows it."""
        return selected_text(self.column.views, selection, self.look), "\n"

    def _forget_selection(self) -> None:
        if self.is_mounted and self.text_selection is not None:
            self.screen.clear_selection()
