"""The pairs: what each is, whether it is here and fits; choose one, pull one, delete one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.timer import Timer
from textual.widgets import OptionList, Static

from localspec.errors import DownloadStoppedError, LocalspecError
from localspec.pairs import demo
from localspec.pairs.catalog import load_catalog
from localspec.pairs.choosing import FirstChoice
from localspec.pairs.machine_memory import machine_memory
from localspec.pairs.progress import Meter
from localspec.pairs.pull import Pulled, PullPlan, carry_out
from localspec.pairs.remove import Removed, remove_pair
from localspec.pairs.sizes import gigabytes
from localspec.pairs.words import forgotten_words, plan_rows, plan_title, pulled_words, removed_rows, removed_title
from localspec.settings import Sources
from localspec.settings.choice import Choice
from localspec.tui.errand import Errand, Work
from localspec.tui.offers import Offer, checking, key_of, offers
from localspec.tui.pair_phase import Phase
from localspec.tui.screens.closing import ClosesOnce
from localspec.tui.widgets.key_row import KeyRow
from localspec.tui.widgets.pair_list import PairList
from localspec.tui.widgets.pair_pane import PairPane

Result = TypeVar("Result")

_LOOKS = 0.1
"""Seconds between two looks at an errand."""


class PairsScreen(ClosesOnce[Choice | None]):
    """Leaves with what to run from now on, its draft always loaded with it; None leaves all as it is.

    Nothing is lost when the person leaves or quits meanwhile: what a pull has fetched is kept, and the next one goes
    on from there.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "talk to it"),
        Binding("enter", "check", "pull it (asks first)"),
        Binding("enter", "pull", "pull it"),
        Binding("d", "delete", "delete"),
        Binding("y", "delete_now", "yes, delete"),
        Binding("escape", "stop", "stop; what came is kept"),
        Binding("c", "stop", "stop", show=False),
        Binding("escape", "abandon", "stop"),
        Binding("escape", "back", "no"),
        Binding("escape", "leave", "back to the chat"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (140, "-wide")]  # noqa: RUF012 - as textual types it
    DEFAULT_CSS = """
    PairsScreen {
        & > .heading { height: auto; padding: 0 1; background: $panel; }
        & > Container { height: 1fr; layout: vertical; }
        & .list { height: 1fr; }
        & .columns { height: 1; color: $text-muted; text-wrap: nowrap; text-overflow: clip; }
        & PairList { height: 1fr; scrollbar-size-vertical: 1; }
        & PairPane { height: 1fr; border-top: solid $panel-lighten-2; }
        &.-wide > Container { layout: horizontal; }
        &.-wide .list { width: 80; height: 1fr; max-height: 100%; }
        &.-wide PairPane { width: 1fr; height: 1fr; border-top: none; border-left: solid $panel-lighten-2; }
    }
    """

    def __init__(self, sources: Sources, current: Choice | None = None, proposal: FirstChoice | None = None) -> None:
        """Show what there is.

        Args:
            sources: what was set before the program ran.
            current: what runs.
            proposal: on a machine with no pair, the one to begin with.
        """
        super().__init__()
        self._sources = sources
        self._current = current
        self._proposal = proposal
        self._phase = Phase.LOOKING
        self._offers: dict[str, Offer] = {}
        self._shown: str | None = None
        self._plan: PullPlan | None = None
        self._errand: Errand[Any] | None = None
        self._timer: Timer | None = None
        self._heading = Static("Looking at the pairs ...", classes="heading", markup=False)
        self._list = PairList()
        self._pane = PairPane()

    def compose(self) -> ComposeResult:
        """A list, and what is known of the row that is highlighted."""
        yield self._heading
        with Container():
            with Container(classes="list"):
                yield Static(PairList.head(), classes="columns", markup=False)
                yield self._list
            yield self._pane
        yield KeyRow()

    def on_mount(self) -> None:
        """Make the list."""
        first = self._proposal.proposal.name if self._proposal else key_of(self._current) if self._current else None
        self._look(first)

    def on_unmount(self) -> None:
        """Let nothing go on that nobody sees."""
        if self._errand is not None:
            self._errand.cancel()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - textual's
        """Offer what can be done now."""
        if not self._phase.offers(action):
            return False
        offer = self._offer
        if action == "delete":
            return offer is not None and offer.deletable
        if action in {"choose", "check"}:
            return offer is not None and (offer.pair is None or offer.here == "yes") == (action == "choose")
        return True

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the pair that the person went to; what was said of another one is no more of interest."""
        event.stop()
        if self._phase is Phase.BROWSING and event.option_id != self._shown:
            self._pane.tell()
            self._show_offer()

    def action_choose(self) -> None:
        """Run this pair from now on."""
        offer = self._offer
        if offer is None:
            return
        if offer.is_choice(self._current):
            self.dismiss(None)
            return
        self._begin(Phase.WAITING, offer.choosing(self._sources), self.dismiss)

    def action_check(self) -> None:
        """Ask the hub about this pair, and check it."""
        pair = None if self._offer is None else self._offer.pair
        if pair is not None:
            self._begin(Phase.WAITING, checking(pair, self._sources), self._show_plan)

    def action_pull(self) -> None:
        """Fetch what the plan says."""
        plan = self._plan
        if plan is not None:
            self._begin(
                Phase.PULLING, lambda report, cancelled: carry_out(plan, Meter(report, cancelled)), self._show_pulled
            )

    def action_delete(self) -> None:
        """Ask whether to delete this pair, unless it runs."""
        offer = self._offer
        if offer is None:
            return
        if offer.is_used_by(self._current):
            self._pane.tell(
                error=LocalspecError(f"{offer.name} is in use", "Its files are loaded.", "Choose another pair first.")
            )
            return
        size = "" if offer.size is None or offer.here != "yes" else f" ({gigabytes(offer.size)})"
        self._enter(Phase.ASKING)
        self._pane.tell(f"Delete {offer.name}{size} from this machine? It can be pulled again.")

    def action_delete_now(self) -> None:
        """Delete it."""
        pair = None if self._offer is None else self._offer.pair
        if pair is not None:
            self._begin(Phase.DELETING, lambda _, __: remove_pair(pair, load_catalog()), self._show_removed)

    def action_stop(self) -> None:
        """Stop a pull."""
        if self._errand is not None:
            self._errand.cancel()
            self._enter(Phase.STOPPING)
            self._pane.tell("Stopping ...")

    def action_abandon(self) -> None:
        """Wait no longer for what writes nothing."""
        if self._errand is not None:
            self._errand.cancel()
        self._look(self._list_key, "Stopped.")

    def action_back(self) -> None:
        """Do nothing of what was asked."""
        self._enter(Phase.BROWSING)
        self._pane.tell()
        self._show_offer()

    def action_leave(self) -> None:
        """Go back, with all as it is."""
        self.dismiss(None)

    @property
    def _list_key(self) -> str | None:
        option = self._list.highlighted_option
        return None if option is None else option.id

    @property
    def _offer(self) -> Offer | None:
        return self._offers.get(self._list_key or "")

    def _heading_words(self) -> Content:
        memory = machine_memory()
        has = (
            f"This machine has {gigabytes(memory.total)} of {memory.name}; models may take {gigabytes(memory.usable)}."
        )
        if self._proposal is None:
            return Content(f"Pairs of models. {has}")
        name = self._proposal.proposal.name
        words = f"No pair of models is on this machine yet. For its memory localspec proposes {name}."
        answers = "Until there is one, the demo pair answers." if demo.find_demo_target() else ""
        return Content.assemble((words, "bold"), f" {has} {answers}".rstrip())

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._list.disabled = not phase.browses
        (self._list if phase.browses else self._pane).focus()
        self.refresh_bindings()

    def _begin(self, phase: Phase, work: Work[Result], done: Callable[[Result], object]) -> None:
        """Do something that takes a while."""
        self._pane.tell()
        self._enter(phase)
        errand = self._errand = Errand(work)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(_LOOKS, lambda: self._watch(errand, done))

    def _watch(self, errand: Errand[Result], done: Callable[[Result], object]) -> None:
        if errand is not self._errand or self.app.screen is not self:
            return  # with another screen over it, it could not leave with what was chosen
        if not errand.over:
            if errand.progress is not None and not errand.cancelled:
                self._pane.show_progress(errand.progress)
            return
        self._errand = None
        if self._timer is not None:
            self._timer.stop()
        try:
            result = errand.result
        except DownloadStoppedError as error:
            self._look(self._list_key, f"{error.title}. {error.message} Pulling it again goes on from there.")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no reason to end a chat
            told = _in_words(error)
            if self._phase is Phase.LOOKING:
                self._heading.update("The pairs cannot be listed.")
                self._enter(Phase.BROWSING)
                self._pane.tell(error=told)
            else:
                self._look(self._list_key, error=told)
        else:
            done(result)

    def _look(self, highlight: str | None, news: str = "", error: LocalspecError | None = None) -> None:
        """Make the list anew, and say what is new with it: words beside the old list would not fit it."""

        def show(found: list[Offer]) -> None:
            self._heading.update(self._heading_words())
            self._offers = {offer.key: offer for offer in found}
            self._list.fill(found, key_of(self._current) if self._current else None, highlight)
            self._enter(Phase.BROWSING)
            self._show_offer()
            self._pane.tell(news, error)

        self._begin(Phase.LOOKING, lambda _, __: offers(self._sources), show)

    def _show_offer(self) -> None:
        offer = self._offer
        self._shown = self._list_key
        if offer is not None:
            self._pane.show(f"{offer.name}: {offer.title}", offer.rows)
        self.refresh_bindings()

    def _show_plan(self, plan: PullPlan) -> None:
        self._plan = plan
        self._enter(Phase.PLANNED)
        self._pane.show(plan_title(plan), plan_rows(plan))
        words = f"pulls {gigabytes(plan.missing)}" if plan.missing else "takes it: all of it is on this machine"
        self._pane.tell(f"Both models fit each other. Enter {words}.")

    def _show_pulled(self, pulled: Pulled) -> None:
        self._look(pulled.pair.name, f"{pulled_words(pulled)} Enter talks to it.")

    def _show_removed(self, removed: Removed) -> None:
        rows = [f"{name}: {words}" for name, words in removed_rows(removed)]
        told = [removed_title(removed), *rows, forgotten_words(removed)]
        self._look(None if removed.forgotten else removed.pair.name, "\n".join(filter(None, told)))


def _in_words(error: Exception) -> LocalspecError:
    if isinstance(error, LocalspecError):
        return error
    if isinstance(error, OSError):
        return LocalspecError("The system refused", f"{error}.")
    return LocalspecError(f"A mistake in localspec: {type(error).__name__}: {error}", "", "Please report it.")
