"""The side panel: what speculation does, at a glance; each figure can be asked what it means."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from localspec.tui.explanations import Figure, MemoryUse
from localspec.tui.figures import Figures, Progress
from localspec.tui.glyphs import glyphs
from localspec.tui.widgets.readout_rows import ReadoutState, readout_rows, with_explanation
from localspec.tui.widgets.rows import Row, Rows


class Readout(Rows, can_focus=True):
    """The figures of the answer under way, or of the last one.

    With the focus, or under the mouse, a figure shows its explanation.
    """

    PREFIX = "readout"

    DEFAULT_CSS = """
    Readout {
        width: 36;
        height: 1fr;
        padding: 0 1;
        border-left: solid $foreground 25%;
        background: $background;
        color: $foreground;

        &:focus { border-left: heavy $primary; }

        & > .readout--muted { color: $text-muted; }
        & > .readout--line { color: $foreground 25%; }
        & > .readout--strong, & > .readout--large { text-style: bold; }
        & > .readout--large { color: $primary; }
        & > .readout--bar { color: $primary; }
        & > .readout--track { color: $primary; background: $panel; }
        & > .readout--good { color: $text-success; text-style: bold; }
        & > .readout--bad { color: $text-warning; text-style: bold; }
        & > .readout--kept { color: $primary; }
        & > .readout--corrected { color: $text-warning; text-style: bold; }
        & > .readout--bonus { color: $text-success; text-style: bold; }
        & > .readout--chosen { text-style: reverse; }
        & > .readout--title { text-style: bold reverse; }
        & > .readout--text { background: $panel; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"readout--{style}"
        for style in (
            "plain", "muted", "line", "strong", "large", "bar", "track", "good", "bad", "kept", "corrected", "bonus",
            "chosen", "title", "text",
        )
    }  # fmt: skip

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "go(-1)", "figure above", show=False),
        Binding("down,j", "go(1)", "figure below", show=False),
        Binding("home", "go(-100)", "first figure", show=False),
        Binding("end", "go(100)", "last figure", show=False),
        Binding("escape", "leave", "back", show=False),
    ]

    class Left(Message):
        """The person is through with the figures."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - as in Widget
        super().__init__(id=id, classes=classes)
        self._shown = ReadoutState()
        self._chosen: Figure | None = None
        self._pointed: Figure | None = None
        self._plain_rows: list[Row] = []

    def update(
        self,
        figures: Figures,
        *,
        memory: MemoryUse | None = None,
        next_speculating: bool | None = None,
        of_chosen: bool = False,
    ) -> None:
        """Show these figures.

        While an answer is waited for, those of the one before stay: nothing moves until there is something to tell.

        Args:
            figures: of the answer.
            memory: what is in use; None leaves what is shown.
            next_speculating: whether the next answer will be written with guesses; None leaves what is shown.
            of_chosen: whether the person chose the answer.
        """
        if figures.progress is Progress.WAITING and self._shown.figures.progress is Progress.OVER:
            figures = self._shown.figures
        self._shown = ReadoutState(
            figures=figures,
            memory=memory or self._shown.memory,
            next_speculating=self._shown.next_speculating if next_speculating is None else next_speculating,
            of_chosen=of_chosen,
        )
        self._write()

    @property
    def explained(self) -> Figure | None:
        """The figure whose explanation is shown."""
        return self._pointed or (self._chosen if self.has_focus else None)

    def action_go(self, steps: int) -> None:
        """Go so many figures down (up when negative)."""
        figures = self._figures()
        if figures:
            place = figures.index(self._chosen) + steps if self._chosen in figures else 0
            self._chosen = figures[min(max(place, 0), len(figures) - 1)]
            self._pointed = None
            self._write()

    def action_leave(self) -> None:
        """Give the focus back to whoever wants it."""
        self.post_message(self.Left())

    def _figures(self) -> list[Figure]:
        """Those that are shown, from above."""
        return list(dict.fromkeys(figure for row in self._plain_rows for figure in row.figures))

    def _write(self) -> None:
        width, height = self.size
        if not width or not height:
            return
        self._plain_rows = readout_rows(self._shown, width, height, glyphs())
        if self.has_focus and self._chosen is None and (figures := self._figures()):
            self._chosen = figures[0]
        explained = self.explained
        if explained is None:
            self.show_rows(self._plain_rows)
        else:
            self.show_rows(with_explanation(self._plain_rows, explained, self._shown.figures, width, height))

    def on_resize(self) -> None:
        """Write the rows for another size."""
        self._write()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Explain the figure that was left, or nothing any more."""
        super().watch_has_focus(has_focus)
        self._write()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Explain what the mouse points at."""
        self._point_at(self._figure_at(event))

    def on_leave(self) -> None:
        """The mouse went away."""
        self._point_at(None)

    def on_click(self, event: events.Click) -> None:
        """Choose what was clicked."""
        self._chosen = self._figure_at(event) or self._chosen
        self._write()

    def _figure_at(self, event: events.MouseEvent) -> Figure | None:
        place = event.get_content_offset(self)
        return self.rows[place.y].figure_at(place.x) if place is not None and place.y < len(self.rows) else None

    def _point_at(self, figure: Figure | None) -> None:
        if figure is not self._pointed:
            self._pointed = figure
            self._write()
