"""The settings of the pair that runs: what each means, where it comes from, and whether the models load again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label, Static

from localspec.decoding.rules import LOSSY_RULES, lossy_words
from localspec.errors import UsageError
from localspec.settings import KEYS, Key, Settings
from localspec.settings.choice import Choice
from localspec.settings.keys import ANSWER, MACHINE, MODELS, SAMPLING, SPECULATION
from localspec.settings.overrides import plain, with_overrides
from localspec.settings.presets import PRESETS
from localspec.settings.texts import title_of
from localspec.terminal import visible
from localspec.tui.screens.closing import ClosesOnce
from localspec.tui.widgets.key_row import KeyRow
from localspec.tui.widgets.setting_field import SettingField

_SECTIONS = {
    SPECULATION: "Speculation",
    SAMPLING: "Sampling",
    ANSWER: "Answer",
    MACHINE: "Machine (a change loads the models again)",
}
_ELSEWHERE = {"stats"}
"""A line of figures after each answer: the app always shows them."""


class SettingsScreen(ModalScreen[Settings | None], ClosesOnce[Settings | None]):
    """Leaves with the settings to have from now on and to keep for this pair, or None when nothing is to change.

    Who shows it calls `Choice.keeping` with them, and loads again when `Choice.loading` is another one then.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", key_display="^s"),
        Binding("ctrl+r", "reset", "recommended", key_display="^r"),
        *(
            Binding(f"f{5 + number}", f"take_preset({number})", preset.name, tooltip=preset.help)
            for number, preset in enumerate(PRESETS)
        ),
        Binding("escape", "leave", "back"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (130, "-wide")]  # noqa: RUF012 - as textual types it
    DEFAULT_CSS = """
    SettingsScreen {
        align: center middle;
        & > Vertical {
            width: 80; max-width: 100%; height: 100%; max-height: 38;
            border: round $primary; background: $surface; padding: 0 0 0 1;
        }
        &.-wide > Vertical { width: 150; }
        & VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
        & .section { width: 1fr; text-style: bold; color: $text-primary; }
        &.-wide SettingField > .help { display: block; }
        & #told { height: 6; border-top: solid $panel-lighten-2; }
        & Footer { dock: bottom; }
    }
    """

    def __init__(self, choice: Choice, overrides: Mapping[str, Any] | None = None) -> None:
        """Show what is set.

        Args:
            choice: what runs.
            overrides: what the conversation sets beside it, as `About.settings` has it.
        """
        super().__init__()
        self._choice = choice
        self._overrides = dict(overrides or {})
        self._now = with_overrides(choice.settings, self._overrides)
        self._fields: dict[str, SettingField] = {}
        self._told = Static(id="told", markup=False)

    def compose(self) -> ComposeResult:
        """The sections, what there is to say, the keys."""
        # Only now, as an input cannot be made before there is an app.
        self._fields = {
            key.name: self._field(key) for key in KEYS if key.group != MODELS and key.name not in _ELSEWHERE
        }
        with Vertical() as frame:
            frame.border_title = Content(f"Settings of {visible(self._choice.name)}")
            with VerticalScroll(can_focus=False):
                for group, words in _SECTIONS.items():
                    yield Label(words, classes="section", markup=False)
                    yield from (field for field in self._fields.values() if field.key.group == group)
            yield self._told
            yield KeyRow()

    def on_mount(self) -> None:
        """Begin with the first row."""
        next(iter(self._fields.values())).take_focus()

    def on_setting_field_changed(self, event: SettingField.Changed) -> None:
        """Say what there is to say now."""
        event.stop()
        self._tell()

    def action_next_field(self) -> None:
        """One row down."""
        self.focus_next()

    def action_previous_field(self) -> None:
        """One row up."""
        self.focus_previous()

    def action_save(self) -> None:
        """Leave with the settings, unless one of them is impossible: then go to it."""
        try:
            settings = self._settings()
        except UsageError as error:
            wrong = next((field for field in self._fields.values() if field.problem), self._fields["acceptance"])
            wrong.take_focus()
            self.notify(visible(error.title), severity="error", markup=False)
            return
        self.dismiss(None if settings == self._now else settings)

    def action_reset(self) -> None:
        """Show what the pair recommends, under what the person set elsewhere; it is not saved yet."""
        recommended = self._choice.without_kept
        for name, field in self._fields.items():
            field.show(getattr(recommended, name))

    def action_take_preset(self, number: int) -> None:
        """Show the values of a preset; they are not saved yet."""
        values = PRESETS[number].over(self._choice.without_kept)
        for name, field in self._fields.items():
            if name in values:
                field.show(values[name])

    def action_leave(self) -> None:
        """Leave it all as it was."""
        self.dismiss(None)

    def _field(self, key: Key) -> SettingField:
        origin = "conversation" if key.name in self._overrides else self._choice.layers.origin(key.name)
        return SettingField(key, getattr(self._now, key.name), origin)

    def _settings(self) -> Settings:
        """What is set now.

        Raises:
            UsageError: something of it is impossible, alone or together.
        """
        return with_overrides(self._now, {name: plain(field.value) for name, field in self._fields.items()})

    def _tell(self) -> None:
        """Say what is wrong and what follows from what was edited; then explain the row that has the focus."""
        above = self.focused.ancestors if self.focused is not None else []
        row = next((widget for widget in above if isinstance(widget, SettingField)), None)
        parts = [Content.assemble(("✗ ", "bold $text-error"), (words, "$text-error")) for words in self._problems()]
        parts += [Content.assemble(("! ", "bold $text-warning"), words) for words in self._warnings()]
        if row is not None:
            parts.append(Content.assemble((title_of(row.key), "bold"), f": {row.key.help}"))
        # Its height is fixed: what is told of one row must not move the others.
        self._told.update(Content("\n").join(parts), layout=False)

    def _problems(self) -> list[str]:
        alone = [field.problem for field in self._fields.values() if field.problem]
        if alone:
            return alone
        try:
            self._settings()
        except UsageError as error:
            return [f"{error.title}. {error.hint}"]
        return []

    def _warnings(self) -> list[str]:
        acceptance = self._fields["acceptance"]
        rule = "" if acceptance.problem else str(acceptance.value)
        again = [title_of(field.key) for field in self._fields.values() if field.key.group == MACHINE and field.edited]
        return [
            *([f"{lossy_words(rule)}."] if rule in LOSSY_RULES else []),
            *([f"Saving loads the models again, for {', '.join(again)}."] if again else []),
        ]
