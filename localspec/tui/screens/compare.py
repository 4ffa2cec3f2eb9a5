"""The last question answered with two settings in turn, side by side, and what that says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localspec.chat.events import AnswerRequest
from localspec.errors import LocalspecError
from localspec.terminal import visible
from localspec.tui.comparing import Comparing, Phase
from localspec.tui.comparison import Arm, Comparison, NamedPair, arms_on_and_off
from localspec.tui.difference import Difference, first_difference
from localspec.tui.engine_link import EngineLink
from localspec.tui.glyphs import glyphs
from localspec.tui.pace import Pace
from localspec.tui.screens.closing import ClosesOnce
from localspec.tui.screens.compare_arms import ArmsForm
from localspec.tui.verdict import speed_up_words, text_words, verdict, why_texts_differ
from localspec.tui.widgets.compared_column import ComparedColumn
from localspec.tui.widgets.key_row import KeyRow

_SHARE = 0.03
"""Of one core's time, for drawing: each burst stalls the threads of a model on the CPU."""


@dataclass(frozen=True, slots=True)
class CompareResult:
    """What the person leaves with.

    Attributes:
        comparison: the arms and their complete runs, maybe none.
        pair_loaded: whether the engine still holds the chat's pair; if not, it is to be loaded again.
    """

    comparison: Comparison
    pair_loaded: bool


class CompareScreen(ClosesOnce[CompareResult]):
    """Begins with one run of speculation off and on; further runs and other settings are for the person to ask."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back"),
        Binding("r,space", "run", "run again", key_display="r"),
        Binding("s", "stop", "stop"),
        Binding("e", "edit", "other settings"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-stacked"), (60, "-side-by-side")]  # noqa: RUF012 - as textual types it
    DEFAULT_CSS = """
    CompareScreen {
        & > .question {
            height: 1; padding: 0 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis;
        }
        & > #columns { height: 1fr; }
        & #second { border-left: solid $foreground 30%; }
        &.-stacked #columns { layout: vertical; overflow-y: auto; & > ComparedColumn { min-height: 8; } }
        &.-stacked #second { border-left: none; border-top: solid $foreground 30%; }
        & > #outcome { height: auto; max-height: 50%; padding: 0 1; border-top: solid $foreground 30%; }
    }
    """

    def __init__(
        self,
        link: EngineLink,
        request: AnswerRequest,
        pair: NamedPair,
        *,
        pairs: Sequence[NamedPair] = (),
        context_size: int | None = None,
    ) -> None:
        """Compare answers to a request.

        Args:
            link: to the engine.
            request: the last question, with the chat's settings.
            pair: what is loaded.
            pairs: other pairs that an arm may answer with.
            context_size: tokens the context holds, when it is known.
        """
        super().__init__()
        self._link = link
        self._pair = pair
        self._pairs = (pair, *(other for other in pairs if other.name != pair.name))
        self._comparing = Comparing(link, Comparison(arms_on_and_off(request, pair, context_size)), pair)
        self._pace = Pace(_SHARE)
        self._question = request.messages[-1].text if request.messages else ""
        self._columns = (ComparedColumn(id="first"), ComparedColumn(id="second"))
        self._outcome = Static(markup=False)

    def compose(self) -> ComposeResult:
        """The question, two columns, what came out, keys."""
        yield Static(Content(f"Compare: {' '.join(visible(self._question).split())}"), classes="question")
        yield Horizontal(*self._columns, id="columns")
        yield VerticalScroll(self._outcome, id="outcome", can_focus=False)
        yield KeyRow()

    def on_mount(self) -> None:
        """Begin."""
        self.action_run()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - textual's
        """Offer each key when it does something."""
        if action in {"run", "edit"}:
            return True if not self._comparing.running else None
        if action == "stop":
            return True if self._comparing.running else None
        return True

    def action_run(self) -> None:
        """Run both sides once more."""
        self._comparing.begin()
        for column, name in zip(self._columns, self._comparing.comparison.names, strict=True):
            column.show_name(name)
        self._pace.begin()
        self.refresh_bindings()
        self._draw()

    def action_stop(self) -> None:
        """Stop the run."""
        self._comparing.stop()

    def action_leave(self) -> None:
        """Stop what runs, and go back with what there is."""
        self._comparing.stop()
        loaded = self._comparing.loaded
        unchanged = loaded is not None and loaded.loading == self._pair.loading and self._link.alive
        self.dismiss(CompareResult(self._comparing.comparison, pair_loaded=unchanged))

    def action_edit(self) -> None:
        """Choose other settings for the sides."""
        self.app.push_screen(ArmsForm(self._comparing.comparison.arms, self._pairs), self._take_arms)

    def _take_arms(self, arms: tuple[Arm, Arm] | None) -> None:
        if arms is not None:
            self._comparing.take_arms(arms)
            self.action_run()

    def _draw(self) -> None:
        self._comparing.advance()
        comparing = self._comparing
        for number, (column, side) in enumerate(zip(self._columns, comparing.sides, strict=True)):
            column.show_side(side, comparing.comparison.speeds(number))
        self._outcome.update(self._outcome_now())
        if comparing.running:
            self.set_timer(self._pace.next_delay(), self._draw)
            return
        if (difference := self._difference()) is not None:
            for column, side in zip(self._columns, comparing.sides, strict=True):
                column.show_difference(side, difference)
        self.refresh_bindings()

    def _difference(self) -> Difference | None:
        """Where the texts part that are on the screen; None unless both are whole."""
        first, second = self._comparing.sides
        if first.phase is not Phase.DONE or second.phase is not Phase.DONE:
            return None
        return first_difference(first.tokens, second.tokens)

    def _outcome_now(self) -> Content:
        comparing = self._comparing
        comparison = comparing.comparison
        if comparing.error is not None:
            return _told(comparing.error)
        if comparing.running:
            return Content(_under_way(comparison))
        if not comparison.runs:
            return Content("Stopped before both sides had answered. r runs them again.")
        return _result(comparison)


def _under_way(comparison: Comparison) -> str:
    request = comparison.arms[0].request
    return (
        f"Run {len(comparison.runs) + 1}: the sides answer in turn, up to {request.max_tokens:,} tokens, "
        f"at temperature {request.sampling.temperature:g} with seed {request.sampling.seed}."
    )


def _result(comparison: Comparison) -> Content:
    """Speed-up and texts, where the texts part, and what that says."""
    speed_up, difference = comparison.speed_up, comparison.difference
    headline = [speed_up_words(speed_up)] if speed_up else []
    lines = [Content.styled(f" {glyphs().dot} ".join([*headline, text_words(comparison)]), "bold")]
    if difference is not None:
        lines.append(_parting(difference))
        lines.append(Content(why_texts_differ(comparison)))
    return Content("\n").join([*lines, Content(visible(verdict(comparison)))])


def _parting(difference: Difference) -> Content:
    """Where two texts part, with the words around that."""
    pointer = (glyphs().pointer, "bold")
    before = f"{glyphs().ellipsis}{visible(difference.before)}" if difference.before else ""
    first, second = ((visible(words) or "(ends)", "bold") for words in (difference.first, difference.second))
    where = f"Token {difference.token + 1:,}, character {difference.character + 1:,}: "
    return Content.assemble(where, before, pointer, first, "  or  ", pointer, second)


def _told(error: LocalspecError) -> Content:
    """An error, and what to do about it here."""
    words = " ".join(filter(None, [visible(error.message), visible(error.hint)]))
    return Content.assemble(
        (f"✗ {visible(error.title)}", "bold"), f"\n{words}\nWhat came is kept, here and in the chat. r tries again."
    )
