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
        self._chips = Chips(markup=False)
        self._area = PromptArea(placeholder)
        self._last_backspace = 0.0

    def compose(self) -> ComposeResult:
        """Chips above, then the text."""
        yield self._chips
        with Horizontal():
            yield Static(">", classes="prompt-mark", markup=False)
            yield self._area

    @property
    def text(self) -> str:
        """What is written, control characters and all."""
        return self._area.text

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
        self._chips.show(self._attachments)

    def paste(self, text: str) -> None:
        """Take a text that was pasted while the composer was not in focus."""
        self._area.paste(text)

    def clear(self) -> None:
        """Forget text and attachments."""
        self.set_text("")
        self._attachments.clear()
        self._chips.show(())

    def focus(self, scroll_visible: bool = True) -> Composer:
        """Let the person write."""
        self._area.focus(scroll_visible)
        return self

    def send(self) -> None:
        """Send what is written, or do what it asks for."""
        text = self._area.text
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
                self.post_message(self.Submitted(slash.literal(text), attachments))

    @on(PromptArea.Entered)
    def _enter(self, event: PromptArea.Entered) -> None:
        event.stop()
        self.send()

    @on(PromptArea.Left)
    def _walk_through_history(self, event: PromptArea.Left) -> None:
        event.stop()
        walk = self._walk or Walk(self._history)
        shown = walk.older(self.text) if event.by < 0 else walk.newer(self.text)
        if shown is None:
            return
        self._area.load_text(shown)
        first = (0, len(self._area.document.get_line(0)))
        # Going up, the next Up leads on; going down, the next Down does.
        self._area.move_cursor(first if event.by < 0 else self._area.document.end)
        self._walk = walk

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
            self._chips.show(self._attachments)

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()

    def _attach_text(self, text: str) -> None:
        pasted = sum(attachment.name.startswith("pasted text") for attachment in self._attachments)
        self.attach(Attachment("pasted text" + (f" {pasted + 1}" if pasted else ""), text))

    def _remember(self, text: str) -> None:
        self._history.add(text)
        self._walk = None
