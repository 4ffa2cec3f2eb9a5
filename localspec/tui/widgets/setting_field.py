"""One setting in a row: its name, an editor as its kind asks, and where its value comes from."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input, Label, Select, Static

from localspec.decoding.drafter_names import WORDS
from localspec.decoding.rules import labelled
from localspec.errors import UsageError
from localspec.settings import Key
from localspec.settings.texts import text_of, title_of, value_of_text, words_of_default
from localspec.tui.widgets.drop_down import DropDown
from localspec.tui.widgets.line_input import LineInput

_HOW_TO_WRITE = {
    "stop": 'none; several: ["one", "two"]; \\n: new line',
    "system": "the model's own, if it has one",
    "logit_bias": "none; ID=BIAS, ID=BIAS, ...",
}


class OnOff(Static, can_focus=True):
    """A switch that says which way it stands."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space,enter", "turn", "turn", show=False)]

    on: reactive[bool] = reactive(False)

    class Changed(Message):
        """It was turned."""

    def __init__(self, *, on: bool) -> None:
        super().__init__(markup=False)
        self.set_reactive(OnOff.on, on)

    def render(self) -> str:
        """The two words, the chosen one marked."""
        return "(●) on   ( ) off" if self.on else "( ) on   (●) off"

    def watch_on(self) -> None:
        """Tell."""
        self.post_message(self.Changed())

    def action_turn(self) -> None:
        """The other way."""
        self.on = not self.on

    def on_click(self, event: Click) -> None:
        """The other way, too."""
        event.stop()
        self.action_turn()


class Options(DropDown[str], inherit_bindings=False):
    """A choice of a few words. Up and down go to the next row, as everywhere else in the form."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "show_overlay", "choose", show=False)]


class SettingField(Horizontal):
    """A row.

    Attributes:
        key: the setting.
        origin: where the value comes from that it began with.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "screen.previous_field", show=False),
        Binding("down", "screen.next_field", show=False),
    ]
    DEFAULT_CSS = """
    SettingField {
        height: 1;
        & > .mark { width: 2; }
        & > .name { width: 19; }
        & > Input, & > Options, & > OnOff { width: 42; background: $panel; }
        & > OnOff:focus { background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold; }
        & > .origin { width: 12; margin-left: 1; color: $text-muted; }
        & > .help { width: 1fr; display: none; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        &.-edited > .name { text-style: bold; }
        &.-wrong > .mark, &.-wrong > .name { color: $text-error; text-style: bold; }
    }
    """

    class Changed(Message):
        """The person edited it, or went to it."""

    def __init__(self, key: Key, value: object, origin: str) -> None:
        """Begin with a value and where it comes from."""
        super().__init__()
        self.key = key
        self.origin = origin
        self._begin = value
        self._editor = _editor(key, value)
        self._mark = Label("", classes="mark", markup=False)
        self._origin = Label(origin, classes="origin", markup=False)

    def compose(self) -> ComposeResult:
        """The row."""
        yield self._mark
        yield Label(title_of(self.key), classes="name", markup=False)
        yield self._editor
        yield self._origin
        yield Label(self.key.help, classes="help", markup=False)

    @property
    def value(self) -> object:
        """What is set now.

        Raises:
            UsageError: it cannot be set.
        """
        if isinstance(self._editor, OnOff):
            return self._editor.on
        given = self._editor.value
        return value_of_text(self.key, given if isinstance(given, str) else "")

    @property
    def problem(self) -> str:
        """Why it cannot be set to what was typed; "" when it can."""
        try:
            _ = self.value
        except UsageError as error:
            return error.title
        return ""

    @property
    def edited(self) -> bool:
        """Whether it has another value than it began with."""
        return bool(self.problem) or self.value != self._begin

    def show(self, value: object) -> None:
        """Put a value into the editor."""
        if isinstance(self._editor, OnOff):
            self._editor.on = bool(value)
        else:
            self._editor.value = text_of(value)
        self._judge()

    def take_focus(self) -> None:
        """Let the person type here."""
        self._editor.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Judge what was typed."""
        self._tell(event)

    def on_select_changed(self, event: Select.Changed) -> None:
        """Judge what was chosen."""
        self._tell(event)

    def on_on_off_changed(self, event: OnOff.Changed) -> None:
        """Judge what was turned."""
        self._tell(event)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next row."""
        event.stop()
        self.screen.focus_next()

    def on_descendant_focus(self) -> None:
        """Have the setting explained."""
        self.post_message(self.Changed())

    def _tell(self, event: Message) -> None:
        event.stop()
        self._judge()
        self.post_message(self.Changed())

    def _judge(self) -> None:
        self.set_class(self.edited, "-edited")
        self.set_class(bool(self.problem), "-wrong")
        # A glyph as well as a weight: where no weight is shown, it still tells.
        self._mark.update("✗" if self.problem else "*" if self.edited else "")
        self._origin.update("edited" if self.edited else self.origin)


def _words_of(key: Key, option: str) -> str:
    """An option, with what it stands for where the word alone does not say."""
    if key.name == "drafter":
        return f"{option}: {WORDS[option]}"
    return labelled(option) if key.name == "acceptance" else option


def _editor(key: Key, value: Any) -> Input | Options | OnOff:
    if not key.kind.metavar:
        return OnOff(on=value)
    if key.kind.options:
        words = [(_words_of(key, option), option) for option in key.kind.options]
        return Options(words, value=value, allow_blank=False, compact=True)
    placeholder = _HOW_TO_WRITE.get(key.name, words_of_default(key))
    return LineInput(text_of(value), placeholder=placeholder, compact=True)
