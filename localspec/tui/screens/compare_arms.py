"""The settings of the two sides of a comparison, as a small table to fill in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Center, Grid, Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Select, Static

from localspec.chat.events import SpeculationSettings
from localspec.decoding.draft_length import LONGEST_DRAFT, WantedLength
from localspec.decoding.drafter_names import CHOSEN
from localspec.decoding.rules import ACCEPTANCE_RULES, LOSSY_RULES, lossy_words
from localspec.terminal import visible
from localspec.tui.comparison import Arm, Comparison, NamedPair, why_impossible
from localspec.tui.screens.closing import ClosesOnce
from localspec.tui.widgets.drop_down import DropDown
from localspec.tui.widgets.line_input import LineInput

_SWITCH = (("on", True), ("off", False))
_SOURCES = {
    CHOSEN: "the fastest",
    "hybrid": "model and text",
    "model": "draft model",
    "ngram": "text itself",
    "tree": "model, as a tree",
    "lookahead": "lookahead",
    "cascade": "cascade",
    "pruned": "own layers",
    "none": "nothing",
}
"""Words for each drafter, as a column has room for them."""

_RULE_WORDS = {rule: f"{rule} (not the target's)" for rule in LOSSY_RULES}


class _Fields:
    """What can be set of one arm."""

    def __init__(self, arm: Arm, pairs: Sequence[NamedPair]) -> None:
        speculation = arm.request.speculation
        self._arm = arm
        self._pairs = {pair.name: pair for pair in pairs}
        self.on = DropDown(_SWITCH, value=speculation.enabled, allow_blank=False, compact=True)
        self.drafter = DropDown(
            [(words, name) for name, words in _SOURCES.items()],
            value=speculation.drafter,
            allow_blank=False,
            compact=True,
        )
        self.length = LineInput(str(speculation.draft_length), max_length=4, compact=True)
        self.acceptance = DropDown(
            [(_RULE_WORDS.get(rule, rule), rule) for rule in ACCEPTANCE_RULES],
            value=speculation.acceptance,
            allow_blank=False,
            compact=True,
        )
        self.pair = DropDown(
            [(Content(visible(name)), name) for name in self._pairs],
            value=arm.pair.name,
            allow_blank=False,
            compact=True,
        )

    @property
    def problem(self) -> str:
        """What is wrong, in words; "" when nothing is."""
        if self._length is None:
            return f"The guesses a round must be auto or a number from 0 to {LONGEST_DRAFT}."
        return why_impossible(self._speculation, self._arm.request.sampling)

    @property
    def arm(self) -> Arm:
        """The arm as it is filled in; only when there is no problem."""
        pair = self._pairs[str(self.pair.value)]
        return Arm(replace(self._arm.request, speculation=self._speculation), pair)

    @property
    def _length(self) -> WantedLength | None:
        """As it is filled in; None when it is no length."""
        given = self.length.value.strip()
        if given == "auto":
            return "auto"
        return int(given) if given.isascii() and given.isdecimal() else None

    @property
    def _speculation(self) -> SpeculationSettings:
        return SpeculationSettings(
            enabled=self.on.value is True,
            drafter=str(self.drafter.value),
            draft_length="auto" if self._length is None else self._length,
            acceptance=str(self.acceptance.value),
        )


class ArmsForm(ModalScreen[tuple[Arm, Arm] | None], ClosesOnce[tuple[Arm, Arm] | None]):
    """Asks for the settings of both arms; None when the person leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "back", show=False)]
    DEFAULT_CSS = """
    ArmsForm {
        align: center middle;
        & > Vertical {
            width: 90%; max-width: 90; height: auto; max-height: 100%;
            padding: 0 1; border: round $primary; background: $surface;
        }
        & .title { text-style: bold; margin-bottom: 1; }
        & Grid {
            grid-size: 3; grid-columns: 15 1fr 1fr; grid-rows: 1; grid-gutter: 0 1; height: auto;
        }
        & .head { text-style: bold; }
        & .says { margin-top: 1; height: auto; min-height: 2; }
        & Input, & Select { width: 1fr; background: $boost; }
        & Center { height: auto; }
        & Horizontal { width: auto; height: auto; }
        & Button { margin: 0 1; }
    }
    """

    def __init__(self, arms: tuple[Arm, Arm], pairs: Sequence[NamedPair]) -> None:
        """Begin with the arms as they are.

        Args:
            arms: the two sides.
            pairs: what an arm may answer with; those of the arms among them.
        """
        super().__init__()
        self._fields = (_Fields(arms[0], pairs), _Fields(arms[1], pairs))
        self._says = Static(classes="says", markup=False)
        self._run = Button("Run", variant="primary", id="run", compact=True)

    def compose(self) -> ComposeResult:
        """A row for each setting, a column for each side."""
        first, second = self._fields
        rows: list[tuple[str, Widget, Widget]] = [
            ("speculation", first.on, second.on),
            ("guesses from", first.drafter, second.drafter),
            ("guesses a round", first.length, second.length),
            ("acceptance", first.acceptance, second.acceptance),
            ("pair", first.pair, second.pair),
        ]
        with Vertical():
            yield Static("What to compare", classes="title")
            with Grid():
                yield Static("")
                yield Static("first", classes="head")
                yield Static("second", classes="head")
                for label, one, other in rows:
                    yield Static(label)
                    yield one
                    yield other
            yield self._says
            with Center(), Horizontal():
                yield self._run
                yield Button("Back", id="back", compact=True)

    @on(Input.Changed)
    @on(Select.Changed)
    def _validate(self) -> None:
        """Say at once what is wrong, or what to expect."""
        self._says.update(Content(self._words()))
        self._run.disabled = bool(self._problem)

    @on(Input.Submitted)
    @on(Button.Pressed, "#run")
    def _accept(self) -> None:
        if not self._problem:
            self.dismiss((self._fields[0].arm, self._fields[1].arm))

    @on(Button.Pressed, "#back")
    def _back(self) -> None:
        self.dismiss(None)

    @property
    def _problem(self) -> str:
        return next(filter(None, (fields.problem for fields in self._fields)), "")

    def _words(self) -> str:
        if self._problem:
            return f"✗ {self._problem}"
        first, second = (fields.arm for fields in self._fields)
        lossy = {arm.request.speculation.acceptance for arm in (first, second)} & LOSSY_RULES
        if lossy and first.request.sampling.temperature > 0:
            return f"! {'. '.join(map(lossy_words, sorted(lossy)))}."
        if first == second:
            return "Both sides are the same: this will show how far the speed of equal runs differs."
        if not Comparison((first, second)).same_text_expected:
            return "The texts will differ: with these settings they depend on more than the seed."
        return "Both sides should write the same text."
