"""Keys and commands, what the figures mean, and what terminals keep for themselves; searched as one types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from localspec.tui.actions import ACTIONS, Action
from localspec.tui.explanations import EXPLANATIONS
from localspec.tui.screens.closing import ClosesOnce
from localspec.tui.terminals import TERMINALS
from localspec.tui.widgets.line_input import LineInput

_NARROW = 60
"""Cells below which columns leave too little room for the text."""

_KEY_NAMES = {"escape": "Esc", "pageup": "PageUp", "pagedown": "PageDown"}


def key_name(key: str) -> str:
    """A key as it is printed on keyboards: "ctrl+s" is Ctrl+S."""
    return "+".join(_KEY_NAMES.get(part, part.capitalize()) for part in key.split("+"))


@dataclass(frozen=True, slots=True)
class _Entry:
    """One thing to look up.

    Attributes:
        head: its short parts, each with the width of its column in cells.
        text: what there is to know.
    """

    head: tuple[tuple[Content, int], ...]
    text: str

    def has(self, words: list[str]) -> bool:
        """Whether all these words are in it."""
        searched = " ".join([*(part.plain for part, _ in self.head), self.text]).casefold()
        return all(word in searched for word in words)

    def lines(self, width: int) -> list[Content]:
        """It as lines of so many cells: in columns where there is room, else one under the other."""
        if width < _NARROW:
            return [*(part for part, _ in self.head if part), *Content(self.text).wrap(width), Content("")]
        indent = sum(cells for _, cells in self.head)
        first, *more = Content(self.text).wrap(width - indent)
        parts = [part.pad_right(cells - part.cell_length) for part, cells in self.head]
        return [Content("").join([*parts, first]), *(line.pad_left(indent) for line in more)]


class _Listing(Static):
    """The entries that hold the words that are searched for, under their headings."""

    def __init__(self) -> None:
        super().__init__()
        self._words: list[str] = []
        self._width = 0

    def on_resize(self, event: Resize) -> None:
        """Wrap anew."""
        if event.size.width != self._width:
            self._width = event.size.width
            self._show()

    def search(self, words: list[str]) -> None:
        """Show the entries with all these words."""
        self._words = words
        self._show()

    def _show(self) -> None:
        lines: list[Content] = []
        for heading, entries in _SECTIONS.items():
            if found := [entry for entry in entries if entry.has(self._words)]:
                lines.append(Content.styled(heading, "bold underline"))
                lines += [line for entry in found for line in entry.lines(self._width)]
                lines.append(Content(""))
        self.update(Content("\n").join(lines or [Content("Nothing here has these words.")]))


class HelpScreen(ModalScreen[None], ClosesOnce[None]):
    """Everything there is to look up, in one list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1", "dismiss", "close", show=False),
        Binding("up", "move('scroll_up')", show=False),
        Binding("down", "move('scroll_down')", show=False),
        Binding("pageup", "move('scroll_page_up')", show=False),
        Binding("pagedown", "move('scroll_page_down')", show=False),
        Binding("ctrl+home", "move('scroll_home')", show=False),
        Binding("ctrl+end", "move('scroll_end')", show=False),
    ]
    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        & > Vertical {
            width: 94%; max-width: 130; height: 94%;
            padding: 0 1; border: round $primary; background: $surface;
        }
        & Input { margin-bottom: 1; }
        & VerticalScroll { scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
        & .how { height: auto; color: $text-muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._listing = _Listing()
        self._list = VerticalScroll(self._listing, can_focus=False)

    def compose(self) -> ComposeResult:
        """What to search for, and the list."""
        with Vertical():
            yield LineInput(placeholder="Help: type to search", compact=True)
            yield self._list
            yield Static("Up, Down, PageUp, PageDown scroll; Esc closes", classes="how")

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        self._listing.search(event.value.casefold().split())
        self._list.scroll_home(animate=False)

    def action_move(self, how: str) -> None:
        """Scroll the list while the words are being typed."""
        getattr(self._list, how)(animate=False)


def _of_action(action: Action) -> _Entry:
    keys = Content.styled(" ".join(map(key_name, action.keys)), "bold")
    command = Content(f"/{action.slash}" if action.slash else "")
    if action.takes:
        command = Content.assemble(command, " ", (action.takes, "italic"))
    return _Entry(((keys, 10), (command, 23)), action.help)


def _named(name: str, text: str) -> _Entry:
    return _Entry(((Content.styled(name, "bold"), 26),), text)


_SECTIONS = {
    "Keys and commands": [_of_action(action) for action in ACTIONS],
    "What the figures mean": [_named(figure, text) for figure, text in EXPLANATIONS.items()],
    "Terminals": [_named(terminal, text) for terminal, text in TERMINALS.items()],
}
