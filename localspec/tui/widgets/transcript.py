"""The conversation as a person reads it: one widget that draws only the lines in view, however long it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip

from localspec.chat.events import AnswerRound, Role
from localspec.tui.rendering.lines import Line
from localspec.tui.rendering.lines import shown as shown_text
from localspec.tui.rendering.palette import WITHOUT_COLOUR
from localspec.tui.widgets.transcript_entry import Look, Shown
from localspec.tui.widgets.transcript_lines import LinesInView
from localspec.tui.widgets.transcript_paint import MARGIN, theme_palette
from localspec.tui.widgets.transcript_view import MessageView


class Transcript(LinesInView, can_focus=True):
    """Shows the messages of a branch. Model text in it is never markup, and nothing of it can be clicked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left_square_bracket", "choose(-1)", "Previous message", show=False),
        Binding("right_square_bracket", "choose(1)", "Next message", show=False),
        Binding("left", "point(-1)", "Previous token", show=False),
        Binding("right", "point(1)", "Next token", show=False),
    ]

    origins: var[bool] = var(False, init=False)
    """Whether answers show who wrote each token."""
    show_thinking: var[bool] = var(False, init=False)
    """Whether thinking parts are unfolded."""
    waiting: var[str] = var("", init=False)
    """What is going on before the answer begins; a line below the last message."""
    selected: var[str | None] = var(None, init=False)
    """The chosen message's entry id."""

    @dataclass
    class Chosen(Message):
        """Another message was chosen, or none (None)."""

        entry: str | None

    @dataclass
    class CodeClicked(Message):
        """The head of a block of code was clicked: copy it."""

        entry: str
        number: int

    @dataclass
    class TokenPointed(Message):
        """A token is pointed at; `words` say where it comes from, or "" when none is any more."""

        words: str

    def __init__(
        self,
        rounds_of: Callable[[str], Sequence[AnswerRound] | None],
        *,
        welcome: Content | None = None,
        id: str | None = None,  # noqa: A002 - as in `Widget`
        classes: str | None = None,
    ) -> None:
        """Begin empty.

        Args:
            rounds_of: the rounds of an answer by its entry's id, for who wrote it; empty when they are not known,
                None while they are read: `rounds_came` is called then.
            welcome: what an empty conversation shows.
            id: as in `Widget`.
            classes: as in `Widget`.
        """
        super().__init__(Look(80, WITHOUT_COLOUR, rounds_of), id=id, classes=classes)
        self.welcome = welcome or Content()
        self._pointed: tuple[int, int] | None = None
        self._theme: tuple[Any, ...] = ()

    def show(self, entries: Sequence[Shown]) -> None:
        """Show these messages in place of all others, from the end on."""
        self._point(None)
        self.put([MessageView(each) for each in entries])
        if self.selected and self.column.find(self.selected) is None:
            self.selected = None

    def stream(self, entry: str, rounds: Sequence[AnswerRound]) -> None:
        """Append what an answer has got more; it counts as being written until `finish`.

        Raises:
            KeyError: that message is not shown.
        """
        self._update(entry, lambda view, look: view.append(rounds, look))

    def finish(self, shown: Shown) -> None:
        """An answer is complete, or as complete as it will be: show it with its facts.

        Raises:
            KeyError: that message is not shown.
        """
        self._update(shown.entry.id, lambda view, look: view.settle(shown, look))

    def rounds_came(self, entry: str) -> None:
        """The rounds of an answer are at hand now: show it anew where they are wanted."""
        index = self.column.find(entry)
        if self.origins and index is not None and not self.column.views[index].live:
            self._point(None)
            self.column.views[index].forget()
            self.refresh_page()

    def describe(self, entry: str, token: int) -> str:
        """Where a token of an answer comes from; "" unless the answer shows who wrote it."""
        index = self.column.find(entry)
        origins = None if index is None else self.column.views[index].origins
        return origins.describe(token) if origins and token < origins.tokens else ""

    def _update(self, entry: str, do: Callable[[MessageView, Look], None]) -> None:
        index = self.column.find(entry)
        if index is None:
            raise KeyError(entry)
        do(self.column.views[index], self.look)
        self.grown(index)

    # What it looks like

    def on_mount(self) -> None:
        """Take up the theme."""
        self._take_theme()

    def notify_style_update(self) -> None:
        """Take up the theme, if it is another one."""
        super().notify_style_update()
        if self.is_attached and self._theme:
            self._take_theme()

    def _take_theme(self) -> None:
        theme = (self.app.theme, self.background_colors, self.app.native_ansi_color)
        if theme != self._theme:
            self._theme = theme
            self.restyle(
                replace(self.look, palette=theme_palette(self), origins=self.origins, thinking=self.show_thinking)
            )

    def watch_origins(self, origins: bool) -> None:
        """Show all answers anew."""
        self._point(None)
        self.restyle(replace(self.look, origins=origins))

    def watch_show_thinking(self, thinking: bool) -> None:
        """Show all answers anew."""
        self._point(None)
        self.restyle(replace(self.look, thinking=thinking))

    def watch_waiting(self) -> None:
        """Draw the line below the last message."""
        self.refresh_page()

    def watch_selected(self, selected: str | None) -> None:
        """Mark the chosen message."""
        self.refresh_page()
        self.post_message(self.Chosen(selected))

    def lines_below(self) -> int:
        """Lines below the last message."""
        return 1 if self.waiting else -1

    def strip_of(self, index: int, line: int) -> Strip:
        """A line of a message, or one below the last."""
        if index >= len(self.column.views):
            if self.waiting and line == 0:
                return self.painter.plain(
                    [Segment(f"{' ' * MARGIN}◌ {shown_text(self.waiting)}", self.look.palette.muted)]
                )
            return self.painter.blank
        view = self.column.views[index]
        drawn = view.lines[line]
        if self._pointed and self._pointed[0] == index and view.origins:
            drawn = view.origins.pointed(line - view.origins_from, self._pointed[1]) or drawn
        return self.painted(
            index, line, drawn, chosen=view.shown.entry.id == self.selected, panel=_on_panel(view, drawn)
        )

    def overlay(self) -> str:
        """Words over the last line in view."""
        if self._pointed:
            view = self.column.views[self._pointed[0]]
            return view.origins.describe(self._pointed[1]) if view.origins else ""
        return "↓ more below" if not self.follows and any(view.live for view in self.column.views[-1:]) else ""

    def empty_strips(self) -> list[Strip]:
        """The welcome, in the middle."""
        width, height = self.inner_width, self.size.height
        lines = self.welcome.wrap(max(width - 2 * MARGIN, 2)) if self.welcome else []
        above = max((height - len(lines)) // 2, 0)
        strips = [self.painter.blank] * above
        for line in lines:
            indent = max((width - line.cell_length) // 2, 0)
            segments = line.pad_left(indent).render_segments(self.visual_style)
            strips.append(self.painter.plain(segments))
        return strips

    # What a person does

    def action_choose(self, step: int) -> None:
        """Choose the next or the previous message."""
        views = self.column.views
        if not views:
            return
        index = self.column.find(self.selected) if self.selected else None
        if index is None:
            seen = self.column.at(self.scroll_offset.y + (self.size.height - 1 if step < 0 else 0))[0]
            index = min(seen, len(views) - 1)
        else:
            index = min(max(index + step, 0), len(views) - 1)
        self.selected = views[index].shown.entry.id
        self.bring_into_view(index)

    def action_point(self, step: int) -> None:
        """Point at the next or the previous token."""
        if self._pointed is None:
            index = self.column.at(self.scroll_offset.y)[0]
            found = (i for i, view in enumerate(self.column.views) if i >= index and view.origins)
            if (index := next(found, -1)) < 0:
                return
            token = 0
        else:
            index, token = self._pointed
            token += step
        origins = self.column.views[index].origins
        if origins and 0 <= token < origins.tokens:
            self._point((index, token))
            self.bring_into_view(index, self.column.views[index].origins_from + origins.line_of(token))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Explain the token under the mouse."""
        if self.origins:
            self._point(self._token_under(event.x, event.y))

    def on_leave(self) -> None:
        """Explain nothing any more."""
        self._point(None)

    def on_click(self, event: events.Click) -> None:
        """Choose a message, or copy a block of code."""
        if self.text_selection is not None:
            return
        index, line = self.column.at(self.scroll_offset.y + event.y)
        if index >= len(self.column.views):
            return
        view = self.column.views[index]
        entry = view.shown.entry.id
        if view.lines[line].block:
            self.post_message(self.CodeClicked(entry, view.lines[line].block))
        else:
            self.selected = None if self.selected == entry else entry

    def _token_under(self, x: int, y: int) -> tuple[int, int] | None:
        index, line = self.column.at(self.scroll_offset.y + y)
        if index >= len(self.column.views) or (origins := self.column.views[index].origins) is None:
            return None
        token = origins.token_at(line - self.column.views[index].origins_from, x - MARGIN)
        return None if token is None else (index, token)

    def _point(self, pointed: tuple[int, int] | None) -> None:
        if pointed != self._pointed:
            self._pointed = pointed
            self.refresh_page()
            self.post_message(self.TokenPointed(self.overlay() if pointed else ""))


def _on_panel(view: MessageView, line: Line) -> bool:
    """Whether a line has a background of its own: all of a question but the blank line after it."""
    return view.shown.entry.role is Role.USER and line is not view.lines[-1]
