"""The chat: the conversation has the room, the readout one glance, and nothing waits in the thread that draws."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message

from localspec.chat.events import Role
from localspec.conversations.conversation import Conversation, Entry
from localspec.conversations.history_file import DeletedMeanwhileError
from localspec.decoding.rounds import Finish
from localspec.errors import ContextFullError, LocalspecError
from localspec.tui.actions import ACTIONS
from localspec.tui.answering import Advance
from localspec.tui.memory import MemoryWatch
from localspec.tui.pace import Pace
from localspec.tui.screens.chat_commands import ChatCommands
from localspec.tui.screens.dialogs import Ask
from localspec.tui.widgets.composer import Composer
from localspec.tui.widgets.key_row import KeyRow
from localspec.tui.widgets.notice import Notice, what_is_wrong
from localspec.tui.widgets.readout import Readout
from localspec.tui.widgets.status_line import StatusLine
from localspec.tui.widgets.title_bar import Heading, TitleBar, heading_of
from localspec.tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from localspec.engine.messages import Loaded
    from localspec.pairs.choosing import FirstChoice
    from localspec.settings.choice import Choice
    from localspec.tui.services import Opening, Services

_SHARE_ON_CPU = 0.018
_SHARE_ON_GPU = 0.25
"""Of one core's time, for drawing while an answer is written: see `Pace`."""

_WATCH_SECONDS = 1.0
_FIGURES_SECONDS = 0.4
_WRITING = "An answer is being written: Esc stops it."
_WIDE = 100
"""Columns from which on the readout has room beside the conversation."""


class ChatScreen(ChatCommands):
    """One conversation with one pair; what opens over it comes back to it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(",".join(action.keys), action.name, action.title, show=action.in_footer, tooltip=action.help)
            for action in ACTIONS if action.keys),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
    ]  # fmt: skip
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012 - as textual types it

    class DemoWanted(Message):
        """The person wants no pair pulled."""

    def __init__(self, services: Services, opening: Opening) -> None:
        """Begin with `opening`; see `ChatBase`."""
        super().__init__(services, opening)
        # Held here and not looked for: a search of the screen at every frame costs more than what is drawn.
        self._title = TitleBar(id="title")
        self._readout = Readout(id="readout")
        self._status = StatusLine(id="status")
        self._notice = Notice(id="notice")
        self._composer = Composer(services.history, id="composer")
        self._pace = Pace(_SHARE_ON_CPU)
        self._memory = MemoryWatch()
        self._ticking = False
        self._trouble_shown = False
        self._figures_shown = 0.0
        self._heading: Heading | None = None

    def compose(self) -> ComposeResult:
        """A title, the conversation and its figures, what is wrong, where to write, the keys."""
        yield self._title
        with Horizontal(id="middle"):
            with Vertical(id="talk"):
                yield self.transcript
            yield self._readout
        yield self._status
        yield self._notice
        yield self._composer
        yield KeyRow()

    def on_mount(self) -> None:
        """Show the conversation and wait for the choice of a pair."""
        for attachment in self.opening.attachments:
            self._composer.attach(attachment)
        self.show_conversation(self.opening.conversation)
        self.set_interval(_WATCH_SECONDS, self._watch)
        self._composer.focus()

    def use(self, choice: Choice) -> None:
        """Talk with this pair from now on; a question that waits is for it."""
        self.take_settings(choice)
        self.services.engine.want(choice)
        if choice.trouble:
            self.notify(choice.trouble, severity="warning", markup=False)
        self.keep_ticking()

    def show_conversation(self, conversation: Conversation) -> None:
        """Show another conversation, at its end."""
        self.answering.talk = self.talk_about(conversation)
        if (choice := self.services.engine.choice) is not None:
            self.take_settings(choice)
        self.show_branch()

    def show_branch(self) -> None:
        """Draw the branch that is shown, and the figures of its last answer."""
        super().show_branch()
        self._show_figures()

    def rounds_came(self, entry_id: str) -> None:
        """Draw the answer anew, and its figures."""
        super().rounds_came(entry_id)
        self._show_figures()

    @on(Composer.Submitted)
    def _ask(self, event: Composer.Submitted) -> None:
        self.begin_answer(self.answering.talk.ask(event.text, event.attachments))

    @on(Composer.Commanded)
    async def _command(self, event: Composer.Commanded) -> None:
        await self.carry_out(event.action, event.argument)

    @on(Transcript.CodeClicked)
    def _code_clicked(self, event: Transcript.CodeClicked) -> None:
        self.copy_block(event.entry, event.number)

    @on(Transcript.Chosen)
    def _message_chosen(self) -> None:
        self._figures_shown = 0.0
        self._show_figures()

    @on(Transcript.TokenPointed)
    def _token_pointed(self, event: Transcript.TokenPointed) -> None:
        self._composer.border_subtitle = Content(event.words)

    def on_paste(self, event: events.Paste) -> None:
        """What is pasted while the transcript has the focus is meant for the composer."""
        self._composer.paste(event.text)
        self._composer.focus()

    @on(Readout.Left)
    def _left_readout(self) -> None:
        self._composer.focus()

    @on(Composer.Refused)
    def _refused(self, event: Composer.Refused) -> None:
        self.notify(event.reason, severity="warning", markup=False)

    def keep_ticking(self) -> None:
        """Look at the engine until there is nothing more to come."""
        self._look()
        if not self._ticking:
            self._ticking = True
            self._pace.begin()
            self.set_timer(self._pace.next_delay(), self._tick)

    def _tick(self) -> None:
        self._look()
        if self.answering.busy or self.services.engine.busy:
            self.set_timer(self._pace.next_delay(), self._tick)
        else:
            self._ticking = False

    def _look(self) -> None:
        """Take what has come, and show it."""
        was = self.services.engine.loaded
        advance = self.answering.advance()
        if advance.begun is not None:
            self.remember_settings()
            self.show_branch()
        if advance.rounds and self.answering.talk.writing is not None:
            self.transcript.stream(self.answering.talk.writing.entry.id, advance.rounds)
        elif advance.rounds and advance.settled is not None:
            self.transcript.stream(advance.settled.id, advance.rounds)
        if advance.settled is not None:
            self._settled(advance.settled, advance)
        self.transcript.waiting = self.answering.words
        loaded = self.services.engine.loaded
        if loaded is not None and loaded is not was:
            self._loaded(loaded)
        self._show_state()
        self._show_figures()

    def _settled(self, entry: Entry, advance: Advance) -> None:
        """An answer is over."""
        self._rounds.forget(entry.id)
        self.transcript.finish(self.shown(entry))
        finish = entry.facts.finish if entry.facts else ""
        if isinstance(advance.error, ContextFullError) or finish == Finish.CONTEXT:
            self.run_worker(self._make_room(advance.error), exclusive=True, group="room")
        elif advance.error is not None and self.services.engine.error is None:
            self._notice.tell(advance.error)

    async def _make_room(self, error: LocalspecError | None) -> None:
        """Let the person choose what a full context means."""
        talk = self.answering.talk
        alone = len(talk.conversation.path) <= 2
        if alone or talk.about.drop_oldest or self.answering.settings.drop_oldest:
            if error is not None:
                self._notice.tell(error)
            return
        size = self.services.engine.loaded.context_size if self.services.engine.loaded else 0
        chosen = await self.app.push_screen_wait(
            Ask(
                f"The context is full: {size:,} tokens.",
                {"g": "go on without the oldest turns", "n": "new conversation", "l": "leave it so"},
            )
        )
        if self.answering.talk is not talk or not await self.quiet():
            return  # another conversation was opened meanwhile
        if chosen == "g":
            await self.drop_oldest_and_go_on()
        elif chosen == "n":
            self.action_new()

    def _watch(self) -> None:
        """Notice what happens while nothing is asked: an engine that dies, a disk that fills or is free again."""
        if not self._ticking:
            self.services.engine.advance()
        if isinstance(self.services.saver.trouble, DeletedMeanwhileError):
            self.answering.talk.keep_again()
        self._show_state()

    def on_unmount(self) -> None:
        """Keep what has come of an answer when the app ends."""
        self.answering.leave()

    def _show_state(self) -> None:
        engine = self.services.engine
        self._say_heading(heading_of(engine, self.answering.talk.about.title))
        waiting = self.answering.waiting
        trouble, helps = what_is_wrong(engine, self.services.saver.trouble, waiting=waiting)
        if trouble is not None or self.answering.busy or self._trouble_shown:
            self._notice.tell(trouble, helps)
        self._trouble_shown = trouble is not None
        hold = "The question before this one still waits: Esc stops that." if waiting else _WRITING
        self._composer.hold = hold if self.answering.busy else ""

    def _show_figures(self) -> None:
        """Show the figures: at every frame they would only flicker, and cost what the engine could use."""
        now = time.monotonic()
        if self.answering.busy and now - self._figures_shown < _FIGURES_SECONDS:
            return
        self._figures_shown = now
        chosen = self.chosen()
        figures = self.answering.figures(self._answer_shown(chosen))
        speculating = self.answering.settings.speculates
        memory = self._memory.look(self.services.link.pid, now)
        self._readout.update(figures, memory=memory, next_speculating=speculating, of_chosen=chosen is not None)
        self._status.update(figures, next_speculating=speculating, of_chosen=chosen is not None)

    def _answer_shown(self, chosen: Entry | None) -> Entry | None:
        """The answer that is chosen or follows the chosen question; without a choice, the last one."""
        path = self.answering.talk.conversation.path
        seen = path[path.index(chosen) :] if chosen else reversed(path)
        return next((entry for entry in seen if entry.role is Role.ASSISTANT), None)

    def _loaded(self, loaded: Loaded) -> None:
        """Draw at a pace that these models can spare, and say what is to be known of them."""
        self._pace = Pace(_SHARE_ON_CPU if loaded.target.device == "CPU" else _SHARE_ON_GPU)
        for note in loaded.notes:
            self.notify(note, severity="warning", markup=False)

    def propose(self, first: FirstChoice) -> None:
        """No pair is here: propose one; who declines talks to the demo."""
        self.run_worker(self._choose_first(first), exclusive=True, group="first")

    async def _choose_first(self, first: FirstChoice) -> None:
        from localspec.tui.screens.pairs import PairsScreen  # noqa: PLC0415 - the first frame has no time for it

        choice = await self.app.push_screen_wait(PairsScreen(self.services.sources, proposal=first))
        if choice is not None:
            self.use(choice)
        else:
            self.post_message(self.DemoWanted())

    def tell_status(self, words: str) -> None:
        """Say what is done before a pair can be loaded."""
        self._say_heading(Heading(state=words))

    def _say_heading(self, heading: Heading) -> None:
        if heading != self._heading:
            self._heading = heading
            self._title.update(heading)

    def tell_no_pair(self, error: LocalspecError) -> None:
        """Say why no pair can be used, for as long as that is so."""
        self.services.engine.refusal = error
        self._show_state()
