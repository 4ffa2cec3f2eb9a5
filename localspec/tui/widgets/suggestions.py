"""The commands a text may become, listed while it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from localspec.tui.glyphs import glyphs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.geometry import Size

    from localspec.tui.actions import Action

_ROWS = 8
_NAMES = 22
"""Cells for the longest command and a space."""


class Suggestions(Widget):
    """A list over whatever is above the text, with one of its commands chosen.

    Attributes:
        moved: whether the person chose, rather than the list.
    """

    DEFAULT_CSS = """
    Suggestions {
        overlay: screen;
        width: 1fr;
        height: auto;
        background: $panel;
        color: $foreground;
        padding: 0 1;
        display: none;
        &.-some { display: block; }
    }
    """

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self._actions: tuple[Action, ...] = ()
        self._at = 0
        self.moved = False

    @property
    def chosen(self) -> Action | None:
        """The command that is chosen; None when there is no list."""
        return self._actions[self._at] if self._actions else None

    def show(self, actions: Sequence[Action]) -> None:
        """List these, the first one chosen; nothing changes when they are listed already."""
        if self._actions == tuple(actions):
            return
        self._actions, self._at, self.moved = tuple(actions), 0, False
        self.set_class(bool(actions), "-some")
        self.styles.offset = (0, -1 - min(len(actions), _ROWS))
        self.refresh(layout=True)

    def move(self, by: int) -> None:
        """Choose another one."""
        self._at = (self._at + by) % len(self._actions)
        self.moved = True
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """A row for each, up to a few."""
        return min(len(self._actions), _ROWS)

    def render(self) -> Content:
        """The rows around the chosen one."""
        first = max(0, min(self._at - _ROWS // 2, len(self._actions) - _ROWS))
        rows = self._actions[first : first + _ROWS]
        width = self.content_size.width
        return Content("\n").join(_row(action, width, chosen=action is self.chosen) for action in rows)


def _row(action: Action, width: int, *, chosen: bool) -> Content:
    name = f"/{action.slash}" + (f" {action.takes}" if action.takes else "")
    row = Content.assemble(
        (f"{glyphs().pointer} " if chosen else "  ", "bold $primary"),
        (f"{name:<{_NAMES}}  ", "bold" if chosen else ""),
        (action.help, "" if chosen else "$foreground 65%"),
    ).truncate(width, ellipsis=True, pad=True)
    return row.stylize("on $primary 25%") if chosen else row
