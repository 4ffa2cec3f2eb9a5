"""Where the prompt is written: Textual's text area, with the keys of a chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import DocumentNavigator, WrappedDocument

from localspec.tui.actions import ACTIONS
from localspec.tui.closed_widgets import forget_closed_watchers
from localspec.tui.widgets.prompt_document import PromptDocument, line_ends, shown

if TYPE_CHECKING:
    from textual.widgets.text_area import Location

_LONGEST_PASTE = 20_000
_MOST_LINES = 2_000
_LONGEST_LINE = 4_000
"""A line is wrapped anew at every key: one this long takes some milliseconds, one of 20,000 three times as many."""

_MOST_TEXT = 100_000
"""Characters in all that are edited in place."""

_NEW_LINE_KEYS = frozenset({"ctrl+j", "alt+enter", "shift+enter", "alt+\r", "shift+\r", "alt+shift+enter"})
"""The names that terminals give to one wish; the ones with \\r come from xterm's modifyOtherKeys."""

_OURS = frozenset(key for action in ACTIONS for key in action.keys)


def _without_our_keys(bindings: list[BindingType]) -> list[BindingType]:
    """The text area's own bindings but for the keys of an action."""
    kept: list[BindingType] = []
    for binding in Binding.make_bindings(bindings):
        keys = [key for key in binding.key.split(",") if key not in _OURS]
        kept += [Binding(",".join(keys), binding.action, binding.description, show=False)] if keys else []
    return kept


def is_large(text: str, beside: int = 0) -> bool:
    """Whether a text is better attached than edited in place, where `beside` characters are already."""
    return (
        len(text) > _LONGEST_PASTE
        or len(text) + beside > _MOST_TEXT
        or text.count("\n") > _MOST_LINES
        or any(len(line) > _LONGEST_LINE for line in text.split("\n"))
    )


class PromptArea(TextArea, inherit_bindings=False):
    """The text being written."""

    DEFAULT_CSS = """
    PromptArea, PromptArea:focus {
        height: auto;
        max-height: 40vh;
        border: none;
        padding: 0;
        background: transparent;
        scrollbar-size-vertical: 1;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *_without_our_keys(TextArea.BINDINGS),
        Binding("alt+a", "select_all", "Select all", show=False),
        Binding("ctrl+shift+z,alt+z", "redo", "Redo", show=False),
    ]

    @dataclass
    class Entered(Message):
        """Enter was pressed."""

    @dataclass
    class Left(Message):
        """The cursor went over the first line (`by` -1) or the last (`by` 1)."""

        by: int

    @dataclass
    class Completed(Message):
        """Tab was pressed."""

    @dataclass
    class PastedLarge(Message):
        """A text was pasted that is better attached."""

        text: str

    @dataclass
    class BackspacedAtStart(Message):
        """Backspace was pressed where there is nothing to delete; `time` is when, in seconds."""

        time: float

    def __init__(
        self,
        placeholder: str = "",
        *,
        single_line: bool = False,
        id: str | None = None,  # noqa: A002 - as Textual calls it
    ) -> None:
        """Begin empty.

        Args:
            placeholder: what an empty text says.
            single_line: whether the text is a line, as a title or a path is; Textual's `Input` would draw its control
                characters.
            id: of the widget.
        """
        super().__init__(placeholder=Content(placeholder), highlight_cursor_line=False, id=id)
        self.document = PromptDocument("")
        self.wrapped_document = WrappedDocument(self.document)
        self.navigator = DocumentNavigator(self.wrapped_document)
        self.cursor_blink = False  # idle means idle
        self.match_cursor_bracket = False  # it walks through the text at every key
        self._single_line = single_line
        self.offers = False
        """Whether there is a list that Up, Down and Tab belong to."""

    def on_unmount(self) -> None:
        """Leave nothing behind: a text area watches which theme the app has."""
        forget_closed_watchers(self.app)

    def load_text(self, text: str) -> None:
        """Write `text` instead of what is there; nothing can be undone after it."""
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.history.clear()

    def get_line(self, line_index: int) -> Text:
        """A line, as it is drawn."""
        return Text(shown(self.document.get_line(line_index)), end="", no_wrap=True)

    def paste(self, text: str) -> None:
        """Take a pasted text: into the text, or up to where it is attached when it is large."""
        text = line_ends(text)
        if self._single_line:
            text = " ".join(text.split("\n"))
        if is_large(text, len(self.text)):
            self.post_message(self.PastedLarge(text))
        elif result := self.replace(text, *self.selection, maintain_selection_offset=False):
            self.move_cursor(result.end_location)

    def on_paste(self, event: events.Paste) -> None:
        """A paste from the terminal."""
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def action_paste(self) -> None:
        """A paste of what was copied in the app; the terminal's own paste comes as an event."""
        self.paste(self.app.clipboard)

    async def on_key(self, event: events.Key) -> None:
        """The keys that mean something else here than in a text area."""
        if event.key == "enter":
            self.post_message(self.Entered())
        elif event.key in _NEW_LINE_KEYS and self._single_line:
            pass
        elif event.key in _NEW_LINE_KEYS:
            self.replace("\n", *self.selection, maintain_selection_offset=False)
        elif event.key == "tab" and self.offers:
            self.post_message(self.Completed())
        elif event.key == "backspace" and self.selection.is_empty and self.cursor_at_start_of_text:
            self.post_message(self.BackspacedAtStart(event.time))
        elif not await self._edit(event.key):
            if event.key.startswith("alt+"):  # a terminal sends the letter with it, which nobody meant to write
                event.prevent_default()
            return
        event.stop()
        event.prevent_default()

    async def _edit(self, key: str) -> bool:
        """Do what a key is for here; whether it is for anything.

        Textual hands a bound key up to the app before it acts, and what is typed meanwhile would overtake it: in "cat",
        Backspace, "r", written while the app is busy, Backspace would delete the "r".
        """
        bindings = self._bindings.key_to_bindings.get(key, ())
        return any([await self.app.run_action(binding.action, self) for binding in bindings])

    def action_cursor_up(self, select: bool = False) -> None:
        """Up: a line, or out of the text."""
        if not select and (self.offers or self._row(self.cursor_location) == 0):
            self.post_message(self.Left(-1))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down: a line, or out of the text."""
        if not select and (self.offers or self._row(self.cursor_location) == self.wrapped_document.height - 1):
            self.post_message(self.Left(1))
        else:
            super().action_cursor_down(select)

    def action_cursor_page_up(self) -> None:
        """PageUp: for the screen, unless there is more text than is shown."""
        self._only_when_scrolled()
        super().action_cursor_page_up()

    def action_cursor_page_down(self) -> None:
        """PageDown: for the screen, unless there is more text than is shown."""
        self._only_when_scrolled()
        super().action_cursor_page_down()

    def _only_when_scrolled(self) -> None:
        if self.wrapped_document.height <= self.size.height:
            raise SkipAction

    def _row(self, location: Location) -> int:
        """The row of a place in the text, long lines being wrapped."""
        offset: Offset = self.wrapped_document.location_to_offset(location)
        return offset.y
