"""Small questions and messages over any screen; the keyboard alone is enough, and Escape always leads back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Button, Static

from localspec.errors import LocalspecError
from localspec.terminal import visible
from localspec.tui.screens.closing import ClosesOnce
from localspec.tui.widgets.prompt_area import PromptArea


class Dialog(ModalScreen[ScreenResultType], ClosesOnce[ScreenResultType]):
    """A frame in the middle, with a title, and what its keys do below."""

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        & > #frame {
            width: 72;
            max-width: 90%;
            height: auto;
            max-height: 90%;
            border: round $primary;
            border-title-style: bold;
            background: $surface;
            padding: 1 2;
        }
        & .words { height: auto; max-height: 60vh; margin-bottom: 1; }
        & .words Static { height: auto; }
        & .keys { color: $foreground 65%; margin-top: 1; }
        & .choices { height: auto; }
        & .choices Button { width: auto; min-width: 8; margin-right: 2; }
        & #field { border: round $border-blurred; padding: 0 1; max-height: 40vh; background: $surface; }
        & #field:focus { border: round $border; }
    }
    """


def _words(text: str) -> Content:
    """Other people's text, as text."""
    return Content(visible(text))


class Ask(Dialog[str | None]):
    """A question with a few answers, each with its key. The result is the key, None for Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Back", show=False),
        Binding("left,up", "app.focus_previous", show=False),
        Binding("right,down", "app.focus_next", show=False),
    ]

    def __init__(self, question: str, choices: Mapping[str, str], more: str = "") -> None:
        """Ask.

        Args:
            question: in one sentence.
            choices: by key, a letter each, what that answer does; the first one is chosen to begin with.
            more: what the person should know before choosing.
        """
        super().__init__()
        self._question = question
        self._choices = choices
        self._more = more

    def compose(self) -> ComposeResult:
        """The question, and a button for each answer."""
        labels = {key: _label(key, does) for key, does in self._choices.items()}
        stacked = sum(label.cell_length + 6 for label in labels.values()) > 66
        with Vertical(id="frame"):
            with VerticalScroll(classes="words", can_focus=False):
                yield Static(_words(self._question).stylize("bold"))
                if self._more:
                    yield Static(_words(self._more))
            choices = Vertical if stacked else Horizontal
            with choices(classes="choices"):
                for key, label in labels.items():
                    yield Button(label, name=key, compact=True)
            yield Static("Enter or its letter chooses · Esc back", classes="keys", markup=False)

    def on_key(self, event: events.Key) -> None:
        """A letter chooses its answer."""
        key = (event.character or "").lower()
        if key in self._choices:
            event.stop()
            self.dismiss(key)

    @on(Button.Pressed)
    def _choose(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.name)


class AskText(Dialog[str | None]):
    """Asks for a text. The result is None for Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Back", show=False)]

    def __init__(self, title: str, value: str = "", *, multi_line: bool = False, placeholder: str = "") -> None:
        """Ask.

        Args:
            title: what for.
            value: what to begin with.
            multi_line: whether the text may have several lines.
            placeholder: what an empty field says.
        """
        super().__init__()
        self._title = title
        self._value = value
        self._multi_line = multi_line
        self._placeholder = placeholder

    def compose(self) -> ComposeResult:
        """A field with the text."""
        keys = "Enter done · Ctrl+J new line · Esc back" if self._multi_line else "Enter done · Esc back"
        with Vertical(id="frame") as frame:
            frame.border_title = _words(self._title)
            yield PromptArea(self._placeholder, single_line=not self._multi_line, id="field")
            yield Static(keys, classes="keys", markup=False)

    def on_mount(self) -> None:
        """Put the cursor at the end; when the app is left meanwhile, there is no field any more."""
        for area in self.query(PromptArea):
            area.load_text(self._value)
            area.move_cursor(area.document.end)

    @on(PromptArea.Entered)
    def _take(self, event: PromptArea.Entered) -> None:
        event.stop()
        self.dismiss(self.query_one(PromptArea).text)

    @on(PromptArea.PastedLarge)
    def _insert(self, event: PromptArea.PastedLarge) -> None:
        """Here is nothing to attach it to."""
        event.stop()
        area = self.query_one(PromptArea)
        area.replace(event.text, *area.selection, maintain_selection_offset=False)


class Tell(Dialog[None]):
    """Something the person should know: what, why, and what to do."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,space,q", "dismiss(None)", "Back", show=False)]

    def __init__(self, title: str, message: str = "", hint: str = "") -> None:
        """Tell.

        Args:
            title: what happened, one line.
            message: why.
            hint: what to do next.
        """
        super().__init__()
        self._title = title
        self._message = message
        self._hint = hint

    @classmethod
    def of(cls, error: LocalspecError) -> Tell:
        """Tell of an error."""
        return cls(error.title, error.message, error.hint)

    def compose(self) -> ComposeResult:
        """Title, reason, advice."""
        with Vertical(id="frame"):
            with VerticalScroll(classes="words"):
                yield Static(_words(self._title).stylize("bold"))
                for text in filter(None, (self._message, self._hint)):
                    yield Static(_words("\n" + text))
            yield Static("Enter or Esc back", classes="keys", markup=False)


def _label(key: str, does: str) -> Content:
    """What an answer does, with its key."""
    return Content.assemble((f" {key.upper()} ", "bold"), f" {visible(does)} ")
