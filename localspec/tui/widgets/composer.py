"""Where a person writes to the model: text of several lines, attachments, commands, and the prompts of earlier days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static, TextArea

from localspec.conversations.conversation import Attachment
from localspec.tui import slash
from localspec.tui.prompt_history import PromptHistory, Walk
from localspec.tui.widgets.chips import Chips
from localspec.tui.widgets.prompt_area import PromptArea, is_large
from localspec.tui.widgets.suggestions import Suggestions

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from localspec.tui.actions import Action

_KEY_REPEAT = 0.1
"""Seconds between two Backspaces that no finger makes: a key held down deletes text, and nothing else."""


class Composer(Vertical):
    """Takes down what the person asks.

    Attributes:
        hold: why nothing can be sent just now, in words; "" when it can. The person can go on writing.
    """

    DEFAULT_CSS = """
    Composer {
        height: auto;
        border: round $border-blurred;
        padding: 0 1;
        &:focus-within { border: round $border; }
        & > Horizontal { height: auto; }
        & .prompt-mark { width: 2; color: $primary; text-style: bold; }
    }
    """

    @dataclass
    class Submitted(Message):
        """A question was sent; the composer is empty again."""

        text: str
        attachments: tuple[Attachment, ...]

    @dataclass
    class Commanded(Message):
        """A slash command was given; `argument` is what was written after it."""

        action: Action
        argument: str

    @dataclass
    class Refused(Message):
        """Enter did nothing, and why; what was written is still there."""

        reason: str

    def __init__(
        self,
        history: PromptHistory,
        *,
        placeholder: str = "Ask something. / for commands.",
        id: str | None = None,  # noqa: A002 - as Textual calls it
    ) -> None:
        """Begin empty.

        Args:
            history: prompts of earlier runs, and of this one as it goes on.
            placeholder: what an empty composer says.
            id: of the widget.
        """
        super().__init__(id=id)
        self.hold = ""
        self._history = history
        self._walk: Walk | None = None
        self._attachments: list[Attachment] = []
        self._suggestions = Suggestions()
        self._chips = Chips()
        self._area = PromptArea(placeholder)
        self._recalled: str | None = None
        self._last_backspace = 0.0

    def compose(self) -> ComposeResult:
        """The list of commands and the chips above, then the text."""
        yield self._suggestions
        yield self._chips
        with Horizontal():
            yield Static(">", classes="prompt-mark", markup=False)
            yield self._area

    @property
    def text(self) -> str:
        """What is written, control characters and all."""
        return self._area.text

    @property
    def selected_text(self) -> str:
        """What of it is selected; "" for nothing."""
        return self._area.selected_text

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """What goes along."""
        return tuple(self._attachments)

    def set_text(self, text: str) -> None:
        """Write `text` instead of what is there; a large one becomes an attachment."""
        self._walk = None
        if is_large(text):
            self._area.load_text("")
            self._attach_text(text)
        else:
            self._area.load_text(text)
            self._area.move_cursor(self._area.document.end)

    def attach(self, attachment: Attachment) -> None:
        """Let something go along."""
        self._attachments.append(attachment)
        self._show_attachments()

    def paste(self, text: str) -> None:
        """Take a text that was pasted while the composer was not in focus."""
        self._area.paste(text)

    def clear(self) -> None:
        """Forget text and attachments."""
        self.set_text("")
        self._attachments.clear()
        self._show_attachments()

    def focus(self, scroll_visible: bool = True) -> Composer:
        """Let the person write."""
        self._area.focus(scroll_visible)
        return self

    def send(self) -> None:
        """Send what is written, or do what it asks for."""
        text = self._area.text
        if self._area.offers and not isinstance(slash.parse(text), slash.Command) and self._choice_is_meant(text):
            text = self._complete()
            if text.endswith(" "):  # what it takes is still to be written
                return
        match slash.parse(text):
            case slash.Command(action, argument):
                self._remember(text)
                self.set_text("")
                self.post_message(self.Commanded(action, argument))
            case slash.Slip(message):
                self.post_message(self.Refused(message))
            case None if not text.strip() and not self._attachments:
                pass
            case None if self.hold:
                self.post_message(self.Refused(self.hold))
            case None:
                self._remember(text)
                attachments = self.attachments
                self.clear()
                # Until who takes it says otherwise: the next Enter may come before.
                self.hold = "The question before this one is just being taken up."
                self.post_message(self.Submitted(slash.literal(text), attachments))

    @on(PromptArea.Entered)
    def _enter(self, event: PromptArea.Entered) -> None:
        event.stop()
        self.send()

    @on(PromptArea.Left)
    def _leave_text(self, event: PromptArea.Left) -> None:
        event.stop()
        if self._area.offers:
            self._suggestions.move(event.by)
        else:
            self._recall(event.by)

    @on(PromptArea.Completed)
    def _tab(self, event: PromptArea.Completed) -> None:
        event.stop()
        self._complete()

    @on(PromptArea.PastedLarge)
    def _attach_paste(self, event: PromptArea.PastedLarge) -> None:
        event.stop()
        self._attach_text(event.text)

    @on(PromptArea.BackspacedAtStart)
    def _take_last_away(self, event: PromptArea.BackspacedAtStart) -> None:
        event.stop()
        repeated = event.time - self._last_backspace < _KEY_REPEAT
        self._last_backspace = event.time
        if self._attachments and not repeated:
            self._attachments.pop()
            self._show_attachments()

    @on(Chips.TakenAway)
    def _take_away(self, event: Chips.TakenAway) -> None:
        event.stop()
        del self._attachments[event.index]
        self._show_attachments()

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        document = self._area.document
        commanding = document.line_count == 1 and document.get_line(0).startswith("/")
        # A command that was recalled must not catch the keys that walk on.
        fresh = commanding and self._area.text != self._recalled
        self._suggestions.show(slash.matching(self._area.text) if fresh else ())
        self._area.offers = self._suggestions.chosen is not None

    def _choice_is_meant(self, text: str) -> bool:
        """Whether Enter takes what the list has chosen: not when only the slash was written."""
        return len(text) > 1 or self._suggestions.moved

    def _complete(self) -> str:
        """Write the chosen command out, with room for what it takes."""
        action = self._suggestions.chosen
        if action is not None:
            self._area.load_text(f"/{action.slash} " if action.takes else f"/{action.slash}")
            self._area.move_cursor(self._area.document.end)
        return self._area.text

    def _recall(self, by: int) -> None:
        """Walk through the earlier prompts."""
        walk = self._walk or Walk(self._history)
        recalled = walk.older(self.text) if by < 0 else walk.newer(self.text)
        if recalled is None:
            return
        self._area.load_text(recalled)
        first = (0, len(self._area.document.get_line(0)))
        # Going up, the next Up leads on; going down, the next Down does.
        self._area.move_cursor(first if by < 0 else self._area.document.end)
        self._walk, self._recalled = walk, recalled

    def _show_attachments(self) -> None:
        self._chips.show(self._attachments)
        self.border_subtitle = "Backspace takes the last one away" if self._attachments else ""

    def _attach_text(self, text: str) -> None:
        pasted = sum(attachment.name.startswith("pasted text") for attachment in self._attachments)
        self.attach(Attachment("pasted text" + (f" {pasted + 1}" if pasted else ""), text))

    def _remember(self, text: str) -> None:
        self._history.add(text)
        self._walk = None
