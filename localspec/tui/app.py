"""The app: puts engine, kept conversations and screens together, and takes them down again in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.theme import ThemeProvider
from textual.worker import WorkerFailed, get_current_worker

from localspec import locations
from localspec.errors import LocalspecError, UsageError
from localspec.terminal import visible
from localspec.tui.closed_widgets import look_styles_up_by_colours
from localspec.tui.command_palette import Palette, providers
from localspec.tui.late_timers import let_late_timers_ring
from localspec.tui.leaving import leave_on_signals
from localspec.tui.preferences import Preferences, keep_preferences, load_preferences
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.screens.dialogs import Ask
from localspec.tui.services import Opening, Services
from localspec.tui.terminal_input import terminal_driver
from localspec.tui.themes import THEMES

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from localspec.pairs.choosing import FirstChoice
    from localspec.pairs.progress import PullProgress, Report
    from localspec.settings.choice import Choice


class ChatApp(App[LocalspecError | None]):
    """A chat over one engine. Its result is the error that kept it from starting, or None."""

    TITLE = "localspec"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        # Before any dialog: a person can always leave.
        Binding("ctrl+q", "quit", "quit", tooltip="Leave; the conversation is kept.", priority=True)
    ]
    COMMANDS = providers()  # type: ignore[assignment] # textual's sets are invariant

    def __init__(self, services: Services, opening: Opening) -> None:
        """Prepare; the engine starts after the first frame.

        Args:
            services: what the screens share; the caller closes them.
            opening: the conversation to show first.
        """
        let_late_timers_ring()
        super().__init__(driver_class=terminal_driver())
        self.services = services
        self.chat = ChatScreen(services, opening)
        self._preferences = load_preferences(locations.preferences_file())
        self._asked_to_leave = False

    def on_mount(self) -> None:
        """Show the chat, then decide which pair answers: that may hash files for seconds."""
        look_styles_up_by_colours()
        leave_on_signals(lambda code: self.exit(return_code=code))
        for theme in THEMES:
            self.register_theme(theme)
        known = self._preferences.theme in self.available_themes
        self.theme = self._preferences.theme if known else Preferences().theme
        self.push_screen(self.chat)
        self.call_after_refresh(self._choose, self._first_choice, at_start=True)

    def on_unmount(self) -> None:
        """Keep how the screen looks."""
        shown = not self.chat.has_class("-without-readout")
        keep_preferences(locations.preferences_file(), Preferences(self.theme, shown))

    @property
    def mistake(self) -> Exception | None:
        """The mistake of ours that ended the app, if one did."""
        error = self._exception
        return error.error if isinstance(error, WorkerFailed) and isinstance(error.error, Exception) else error

    def _fatal_error(self) -> None:
        """End; who runs the app tells of the mistake, in words and with its traceback in a file."""
        self._close_messages_no_wait()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,  # noqa: ARG002 - what is told may hold other people's words
    ) -> None:
        """Say something for a few seconds, as the text it is."""
        super().notify(visible(message), title=title, severity=severity, timeout=timeout, markup=False)

    async def action_quit(self) -> None:
        """Leave; ask first when that would lose something."""
        trouble = self.services.saver.trouble
        if trouble is None or self._asked_to_leave:
            self.exit()
        else:
            self._asked_to_leave = True
            self._ask_to_leave(trouble)

    @work
    async def _ask_to_leave(self, trouble: LocalspecError) -> None:
        count = self.services.saver.pending
        question = f"{count:,} message{'' if count == 1 else 's'} could not be saved. Leave without?"
        chosen = await self.push_screen_wait(
            Ask(question, {"s": "stay", "l": "leave"}, f"{trouble}\n/export FILE writes the conversation elsewhere.")
        )
        if chosen == "l":
            self.exit()
        self._asked_to_leave = False

    def action_command_palette(self) -> None:
        """Find a command by its name."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    def search_themes(self) -> None:
        """Find colours by their name."""
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for colours"))

    @on(ChatScreen.DemoWanted)
    def _demo_wanted(self) -> None:
        self._choose(self._demo_choice)

    def _first_choice(self, report: Report) -> Choice | FirstChoice:
        from localspec.settings.choice import first_choice_without_asking  # noqa: PLC0415 - the first frame has no time for it

        return first_choice_without_asking(self.services.sources, report, draft_always=True)

    def _demo_choice(self, _: Report) -> Choice:
        from localspec.settings.choice import choice_of_demo  # noqa: PLC0415 - the first frame has no time for it

        return choice_of_demo(self.services.sources, draft_always=True)

    @work(thread=True, exclusive=True, group="choice")
    def _choose(self, decide: Callable[[Report], Choice | FirstChoice], *, at_start: bool = False) -> None:
        """Decide in a thread; what comes of it is told in the app's own."""
        worker = get_current_worker()

        def report(progress: PullProgress) -> None:
            if not worker.is_cancelled:
                self.call_from_thread(self.chat.tell_status, progress.words)

        try:
            chosen = decide(report)
        except LocalspecError as error:
            if not worker.is_cancelled:
                self.call_from_thread(self._refused, error, at_start)
            return
        if not worker.is_cancelled:
            self.call_from_thread(self._chosen, chosen)

    def _chosen(self, chosen: Choice | FirstChoice) -> None:
        from localspec.pairs.choosing import FirstChoice  # noqa: PLC0415 - the first frame has no time for it

        if self.services.engine.choice is not None:
            return  # the person was quicker
        if isinstance(chosen, FirstChoice):
            self.chat.propose(chosen)
        else:
            self.chat.use(chosen)

    def _refused(self, error: LocalspecError, at_start: bool) -> None:
        # A wrong call ends the program as it does everywhere; what can be mended in the app keeps it open.
        if at_start and isinstance(error, UsageError):
            self.exit(error)
        elif self.services.engine.choice is None:
            self.chat.tell_no_pair(error)
