"""An app of a composer and nothing else, that writes down what it is told."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from localspec.tui.actions import ACTIONS
from localspec.tui.prompt_history import PromptHistory
from localspec.tui.widgets.composer import Composer
from localspec.tui.widgets.prompt_area import PromptArea


class HostScreen(Screen[None]):
    """Binds every key of ACTIONS, as the chat does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"do({action.name!r})") for action in ACTIONS for key in action.keys
    ]

    def __init__(self, history: PromptHistory) -> None:
        super().__init__()
        self.composer = Composer(history)
        self.messages: list[Message] = []
        self.done: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static("transcript", id="transcript")
        yield self.composer

    def on_mount(self) -> None:
        self.query_one("#transcript").styles.height = "1fr"
        self.composer.focus()

    def action_do(self, name: str) -> None:
        self.done.append(name)

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        self.messages.append(event)

    def on_composer_commanded(self, event: Composer.Commanded) -> None:
        self.messages.append(event)

    def on_composer_refused(self, event: Composer.Refused) -> None:
        self.messages.append(event)


class ComposerHost(App[None]):
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, history: PromptHistory | None = None) -> None:
        super().__init__()
        self.host = HostScreen(history or PromptHistory(None))

    def on_mount(self) -> None:
        self.push_screen(self.host)

    async def action_quit(self) -> None:
        self.host.done.append("quit")

    @property
    def composer(self) -> Composer:
        return self.host.composer

    @property
    def area(self) -> PromptArea:
        return self.composer.query_one(PromptArea)

    @property
    def sent(self) -> list[tuple[str, int]]:
        """Text and number of attachments of each question that was sent."""
        return [(m.text, len(m.attachments)) for m in self.host.messages if isinstance(m, Composer.Submitted)]
