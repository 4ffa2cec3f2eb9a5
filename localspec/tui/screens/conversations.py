"""Saved conversations: find one, open it, rename it, delete it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from localspec.conversations.listing import Listed
from localspec.errors import HistoryError
from localspec.terminal import visible
from localspec.tui.screens.closing import ClosesOnce
from localspec.tui.screens.dialogs import Ask, AskText
from localspec.tui.widgets.conversation_list import ConversationList
from localspec.tui.widgets.line_input import LineInput

_AT_FIRST = 100
_TYPING_PAUSE = 0.12
"""Seconds of quiet after which is searched."""

_KEYS = "Enter open · F2 rename · Del delete · Esc back"


class Finder(Protocol):
    """What of `ConversationStore` is used here; it is called in a thread."""

    def list(self, limit: int, offset: int = 0) -> Sequence[Listed]:
        """The newest conversations."""

    def search(self, words: str, limit: int) -> Sequence[Listed]:
        """The conversations that hold the words."""


class Keeper(Protocol):
    """What of `Saver` is used here; it never blocks for long."""

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title."""

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation."""

    def flush(self, timeout: float = 0.0) -> bool:
        """Write at once what is waiting."""


class SearchField(LineInput):
    """Where words are typed; its Delete belongs to the list when there is nothing to delete here."""

    @dataclass
    class DeleteAtEnd(Message):
        """Delete was pressed with nothing behind the cursor."""

    def __init__(self, words: str) -> None:
        """Begin with some words."""
        super().__init__(words, placeholder="Search titles and messages", select_on_focus=False)
        self.cursor_blink = False

    def action_delete_right(self) -> None:
        """Delete what is behind the cursor."""
        if self.cursor_position >= len(self.value) and self.selection.is_empty:
            self.post_message(self.DeleteAtEnd())
        else:
            super().action_delete_right()


class ConversationsScreen(ModalScreen[str | None], ClosesOnce[str | None]):
    """A field to search with, and what was found. The result is the id of the one to open; None for Escape.

    Attributes:
        renamed: the new titles of those that were renamed here, by id.
    """

    DEFAULT_CSS = """
    ConversationsScreen {
        align: center middle;
        & > #frame {
            width: 110;
            max-width: 96%;
            height: 90%;
            border: round $primary;
            border-title-style: bold;
            background: $surface;
            padding: 0 1;
        }
        & SearchField, & SearchField:focus {
            height: 2;
            border: none;
            border-bottom: solid $border-blurred;
            background: $surface;
        }
        & .state { color: $foreground 65%; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Back", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("f2,ctrl+r", "rename", "rename", show=False),
    ]

    def __init__(self, finder: Finder, keeper: Keeper, words: str = "", *, current: str = "") -> None:
        """Search for `words`, or list all.

        Args:
            finder: where conversations are kept.
            keeper: changes them.
            words: what to begin with.
            current: id of the conversation that is open, which cannot be deleted under the person's hands.
        """
        super().__init__()
        self.renamed: dict[str, str] = {}
        self._finder = finder
        self._keeper = keeper
        self._current = current
        self._list = ConversationList()
        self._words = words
        self._state = Static("", classes="state", markup=False)
        self._listed: Sequence[Listed] = ()
        self._wanted = (words, _AT_FIRST)
        self._shown: tuple[str, int] | None = None
        self._reading = False
        self._opens = False

    def compose(self) -> ComposeResult:
        """Field, list, what can be done."""
        with Vertical(id="frame") as frame:
            frame.border_title = "Conversations"
            yield SearchField(self._words)
            yield self._list
            yield self._state

    def on_mount(self) -> None:
        """Read the list."""
        for field in self.query(SearchField):
            field.focus()
        self._read()

    @on(Input.Changed)
    def _want_words(self, event: Input.Changed) -> None:
        event.stop()
        self._wanted = (event.value, _AT_FIRST)
        self._read()

    @on(ConversationList.NearlyAtEnd)
    def _want_more(self, event: ConversationList.NearlyAtEnd) -> None:
        event.stop()
        words, most = self._wanted
        if self._shown == self._wanted and len(self._listed) >= most:
            self._wanted = (words, 2 * most)
            self._read()

    @work
    async def _read(self) -> None:
        """Read what is wanted until that is what is shown: one search at a time, the newest words last."""
        if self._reading:
            return
        self._reading = True
        try:
            while self._wanted != self._shown:
                wanted = self._wanted
                if self._shown is not None and wanted[0] != self._shown[0]:
                    self._say("searching…")
                    await asyncio.sleep(_TYPING_PAUSE)
                if wanted == self._wanted:
                    found = await asyncio.to_thread(self._find, *wanted)
                    self._show(wanted, found)
        except HistoryError as error:
            self._shown = self._wanted
            self._say(str(error))
        finally:
            self._reading = False

    def _find(self, words: str, most: int) -> Sequence[Listed]:
        """What the file holds, in a thread."""
        if self._shown is None:
            self._keeper.flush(1.0)
        return self._finder.search(words, most) if words.strip() else self._finder.list(most)

    def _show(self, wanted: tuple[str, int], found: Sequence[Listed]) -> None:
        other_words = self._shown is None or self._shown[0] != wanted[0]
        self._shown, self._listed = wanted, found
        self._list.show(found)
        if other_words:
            self._list.choose_first()
        self._say_what_is_there()
        self._open_what_is_meant()

    def _say_what_is_there(self) -> None:
        if self._listed:
            self._say(_KEYS)
        elif self._wanted[0].strip():
            self._say("Nothing holds these words.")
        else:
            self._say("No conversation is saved yet.")

    def _say(self, words: str) -> None:
        self._state.update(Content(visible(words).replace("\n", " ")))

    def action_move(self, by: int) -> None:
        """Choose another one."""
        self._list.move(by)

    def action_page(self, by: int) -> None:
        """Choose another one, a page away."""
        self._list.move(by * self._list.page)

    @on(Input.Submitted)
    @on(ConversationList.Opened)
    def _open(self, event: Message) -> None:
        event.stop()
        self._opens = True
        self._open_what_is_meant()

    def _open_what_is_meant(self) -> None:
        """Open the chosen one once the list is that of the words: Enter may come before what they find."""
        if self._opens and self._shown is not None and self._shown[0] == self._wanted[0]:
            self._opens = False
            if self._list.chosen is not None:
                self.dismiss(self._list.chosen.id)

    @work
    async def action_rename(self) -> None:
        """Give the chosen one another title."""
        chosen = self._list.chosen
        if chosen is None:
            return
        title = await self.app.push_screen_wait(AskText("Rename the conversation", chosen.title))
        if title is not None and title.strip():
            self._keeper.rename(chosen.id, title.strip())
            self.renamed[chosen.id] = title.strip()
            self._replace(chosen.id, replace(chosen, title=title.strip(), title_hits=()))

    @on(SearchField.DeleteAtEnd)
    @work
    async def _delete(self, event: SearchField.DeleteAtEnd) -> None:
        event.stop()
        chosen = self._list.chosen
        if chosen is None:
            return
        if chosen.id == self._current:
            self._say("This conversation is open: begin another one before you delete it.")
            return
        count = f"{chosen.messages:,} message{'' if chosen.messages == 1 else 's'}"
        question = f"Delete “{chosen.title or 'without a title'}”?"
        answer = await self.app.push_screen_wait(
            Ask(question, {"k": "keep it", "d": "delete it"}, f"{count}, and nothing brings them back.")
        )
        if answer == "d":
            self._keeper.delete(chosen.id)
            self._replace(chosen.id, None)

    def _replace(self, conversation_id: str, by: Listed | None) -> None:
        """Show a change at once; the file follows."""
        changed = (by if each.id == conversation_id else each for each in self._listed)
        self._listed = [each for each in changed if each is not None]
        self._list.show(self._listed)
        self._say_what_is_there()
