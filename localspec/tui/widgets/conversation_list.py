"""Saved conversations, two rows each, of which only the visible ones are drawn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from localspec.terminal import visible
from localspec.tui.glyphs import glyphs

if TYPE_CHECKING:
    from textual import events
    from textual.style import Style

    from localspec.conversations.listing import Hits, Listed

_ROWS = 2
_NEARLY = 10
"""Conversations from the end at which more are wanted."""

_WIDE = 90
"""Cells from which on there is room for the pair's name."""

_WEEK_DAYS = 7


class ConversationList(ScrollView, can_focus=False):
    """A list with one conversation chosen."""

    DEFAULT_CSS = """
    ConversationList {
        height: 1fr;
        scrollbar-size-vertical: 1;
        & .list--chosen { background: $primary 20%; }
        & .list--muted { color: $foreground 65%; }
        & .list--title { text-style: bold; }
        & .list--hit { text-style: bold underline; color: $text-accent; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"list--chosen", "list--muted", "list--title", "list--hit"}

    @dataclass
    class Opened(Message):
        """The chosen conversation was clicked."""

    @dataclass
    class NearlyAtEnd(Message):
        """The list was moved close to its end."""

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__()
        self._listed: Sequence[Listed] = ()
        self._at = 0

    @property
    def chosen(self) -> Listed | None:
        """The conversation that is chosen; None in an empty list."""
        return self._listed[self._at] if self._listed else None

    def show(self, listed: Sequence[Listed]) -> None:
        """List these; the chosen one stays chosen if it is among them, else the one at its place is."""
        before = self.chosen
        self._listed = listed
        ids = [each.id for each in listed]
        self._at = ids.index(before.id) if before and before.id in ids else min(self._at, max(len(ids) - 1, 0))
        self.virtual_size = Size(0, len(listed) * _ROWS)
        self._show_chosen()

    def choose_first(self) -> None:
        """Choose the first one."""
        self.move(-len(self._listed))

    def move(self, by: int) -> None:
        """Choose another one, so many further down."""
        self._at = max(0, min(self._at + by, len(self._listed) - 1))
        self._show_chosen()

    @property
    def page(self) -> int:
        """How many conversations fit."""
        return max(1, self.size.height // _ROWS)

    def render_line(self, y: int) -> Strip:
        """One row of one conversation."""
        width = self.scrollable_content_region.width
        index, row = divmod(y + self.scroll_offset.y, _ROWS)
        if index >= len(self._listed):
            return Strip.blank(width, self.rich_style)
        listed, chosen = self._listed[index], index == self._at
        content = self._first_row(listed, width, chosen=chosen) if row == 0 else self._second_row(listed, width)
        style = self.visual_style + self._style("list--chosen") if chosen else self.visual_style
        return Strip(content.render_segments(style), width)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say when the end comes near."""
        super().watch_scroll_y(old_value, new_value)
        if new_value / _ROWS + self.page >= len(self._listed) - _NEARLY:
            self.post_message(self.NearlyAtEnd())

    def on_click(self, event: events.Click) -> None:
        """A click chooses a conversation; on the chosen one, it opens it."""
        event.stop()
        index = (event.y + self.scroll_offset.y) // _ROWS
        if index >= len(self._listed):
            return
        if index == self._at:
            self.post_message(self.Opened())
        self.move(index - self._at)

    def _show_chosen(self) -> None:
        self.scroll_to_region(Region(0, self._at * _ROWS, 1, _ROWS), animate=False, force=True)
        if self._at >= len(self._listed) - _NEARLY:
            self.post_message(self.NearlyAtEnd())
        self.refresh()

    def _first_row(self, listed: Listed, width: int, *, chosen: bool) -> Content:
        when = Content(f" {when_said(listed.updated, time.time())} ").stylize(self._style("list--muted"))
        title = self._marked(listed.title or "without a title", listed.title_hits).stylize_before(
            self._style("list--title")
        )
        mark = Content(f"{glyphs().pointer} " if chosen else "  ")
        return (mark + title).truncate(max(0, width - when.cell_length), ellipsis=True, pad=True) + when

    def _second_row(self, listed: Listed, width: int) -> Content:
        count = f"{listed.messages:,} message{'' if listed.messages == 1 else 's'}"
        muted = self._style("list--muted")
        pair = f" · {_line(listed.pair)}" if listed.pair and width >= _WIDE else ""
        facts = Content(f"  {count}{pair} ").truncate(width // 2, ellipsis=True).stylize(muted)
        snippet = Content("    ") + self._marked(listed.snippet, listed.snippet_hits).stylize_before(muted)
        return snippet.truncate(max(0, width - facts.cell_length), ellipsis=True, pad=True) + facts

    def _marked(self, text: str, hits: Hits) -> Content:
        """Other people's text on one line, the hits marked; what is made visible moves the hits behind it."""
        hit = self._style("list--hit")
        parts, end = [], 0
        for begin, until in hits:
            parts += [Content(_line(text[end:begin])), Content(_line(text[begin:until])).stylize(hit)]
            end = until
        return Content("").join([*parts, Content(_line(text[end:]))])

    def _style(self, name: str) -> Style:
        return self.get_visual_style(name, partial=True)


def when_said(then: float, now: float) -> str:
    """A time as people say it: "14:02", "yesterday 14:02", "Tue 14:02", "3 Mar", "3 Mar 2024".

    Args:
        then: in seconds since 1970.
        now: the same, of this moment.
    """
    said, today = datetime.fromtimestamp(then), datetime.fromtimestamp(now)
    days = (today.date() - said.date()).days
    clock = f"{said:%H:%M}"
    if days == 0:
        return clock
    if days == 1:
        return f"yesterday {clock}"
    if 1 < days < _WEEK_DAYS:
        return f"{_DAYS[said.weekday()]} {clock}"
    date = f"{said.day} {_MONTHS[said.month - 1]}"
    return date if said.year == today.year else f"{date} {said.year}"


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _line(text: str) -> str:
    return visible(text).replace("\n", " ").replace("\t", " ")
