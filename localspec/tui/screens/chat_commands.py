"""What a person can do in a chat: each action of ACTIONS is a method, whether a key, a word or the palette asks."""

from __future__ import annotations

import asyncio
import inspect
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import work

from localspec.conversations.conversation import Entry
from localspec.errors import HistoryError, LocalspecError, UsageError
from localspec.settings import Settings
from localspec.settings.overrides import differences
from localspec.tui.actions import Action
from localspec.tui.clipboard import copy
from localspec.tui.screens.chat_base import refuse_impossible
from localspec.tui.screens.dialogs import AskText
from localspec.tui.screens.screen_commands import ScreenCommands
from localspec.tui.widgets.composer import Composer

if TYPE_CHECKING:
    from localspec.settings.choice import Choice

_TWICE_SECONDS = 2.0
_CUT = frozenset({"cancelled", "length", "context", "failed", "writing"})
"""Finishes of answers that can be continued."""


class ChatCommands(ScreenCommands):
    """The actions that ask the engine for something."""

    _interrupted = 0.0

    async def carry_out(self, action: Action, argument: str = "") -> None:
        """Do what a slash command asks for."""
        method = getattr(self, f"action_{action.name}")
        result = method(argument) if action.takes else method()
        if inspect.isawaitable(result):
            await result

    def begin_answer(self, question: Entry) -> None:
        """Answer a question, at the end of the branch that is shown."""
        self.answering.answer(question)
        # Who asks wants to see what comes, and its figures.
        self.transcript.selected = None
        self.show_branch()
        self.keep_ticking()

    async def continue_answer(self, answer: Entry) -> None:
        """Go on with an answer that ended too early, with what it had got."""
        talk = self.answering.talk
        try:
            rounds = await asyncio.to_thread(self.kept_rounds, answer.id)
        except HistoryError as error:
            self.notify(str(error), severity="error", markup=False)
            rounds = ()
        if self.answering.busy or self.answering.talk is not talk:
            return  # another one was asked for meanwhile
        self.answering.go_on(answer, rounds)
        self.transcript.selected = None
        self.keep_ticking()

    def keep_ticking(self) -> None:
        """Look at the engine until there is nothing more to come; the screen knows how."""
        raise NotImplementedError

    # What is said

    def action_send(self) -> None:
        """Send what is written."""
        self.query_one(Composer).send()

    def action_stop(self) -> None:
        """Stop the answer; with none, take back what was chosen."""
        if not self._stop():
            self.transcript.selected = None
            self.query_one(Composer).focus()

    def _stop(self) -> bool:
        """Stop the answer, and say so when the engine does not; whether there was any."""
        stopped = self.answering.stop()
        if stopped:
            self.run_worker(self._stopped(), exclusive=True, group="stop")
        return stopped

    async def _stopped(self) -> None:
        if self.answering.busy:
            await self.quiet()

    async def action_interrupt(self) -> None:
        """Ctrl+C: copy what is selected, else stop the answer, else leave when it comes twice."""
        selected = self.get_selected_text() or ""
        now = time.monotonic()
        if selected:
            copy(self.app, selected, "the selection")
        elif self._stop():
            pass
        elif now - self._interrupted < _TWICE_SECONDS:
            await self.app.action_quit()
        else:
            self._interrupted = now
            self.notify("Ctrl+C once more leaves.")

    @work
    async def action_regenerate(self) -> None:
        """Answer a question anew."""
        if not await self.quiet():
            return
        question = self._question()
        if question is None:
            self.notify("There is no question yet.")
        else:
            self.begin_answer(question)

    @work
    async def action_continue(self) -> None:
        """Go on with the last answer."""
        if not await self.quiet(keep_waiting=True):
            return
        answer = self.answering.talk.last_answer
        if answer is None or answer.facts is None or answer.facts.finish not in _CUT:
            self.notify("The last answer is complete: there is nothing to continue.")
        else:
            await self.continue_answer(answer)

    @work
    async def action_edit(self) -> None:
        """Edit a question and branch off there."""
        question, talk = self._question(), self.answering.talk
        if question is None:
            self.notify("There is no question yet.")
            return
        text = await self.app.push_screen_wait(
            AskText("Edit the question; the old branch stays", question.text, multi_line=True)
        )
        if text and text.strip() and await self.quiet() and self.answering.talk is talk:
            self.begin_answer(talk.edit(question.id, text, question.attachments))

    @work
    async def action_previous_branch(self) -> None:
        """Show the branch before."""
        await self._step_branch(-1)

    @work
    async def action_next_branch(self) -> None:
        """Show the branch after."""
        await self._step_branch(1)

    async def drop_oldest_and_go_on(self) -> None:
        """Answer again with room made by leaving out the oldest turns."""
        talk = self.answering.talk
        talk.tell_about(replace(talk.about, drop_oldest=True))
        answer = talk.last_answer
        if answer is not None and answer.text:
            await self.continue_answer(answer)
        elif (question := talk.last_question) is not None:
            self.begin_answer(question)

    # Speculation

    def action_toggle_speculation(self, wanted: str = "") -> None:
        """Turn speculation on or off."""
        choice = self.pair_chosen()
        if choice is None:
            return
        on = {"on": True, "off": False}.get(wanted.lower(), not self.answering.settings.speculation)
        changed = replace(self.answering.settings, speculation=on)
        try:
            refuse_impossible(choice, changed)
        except UsageError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self.answering.settings = changed
        self.remember_settings()
        loaded = self.services.engine.loaded
        if on and loaded is not None and loaded.draft is None:
            self.notify("Speculation is on, but no draft model is loaded: F4 chooses a pair with one.")
        else:
            when = ", from the next answer on" if self.answering.busy else ""
            self.notify(f"Speculation is {'on' if on else 'off'}{when}.")
        self.refresh_bindings()

    @work
    async def action_compare(self) -> None:
        """Answer the last question with two settings in turn."""
        from localspec.tui.comparison import NamedPair  # noqa: PLC0415 - the first frame has no time for it
        from localspec.tui.offers import pairs_here  # noqa: PLC0415 - the first frame has no time for it
        from localspec.tui.screens.compare import CompareScreen  # noqa: PLC0415 - the first frame has no time for it

        try:
            others = await asyncio.to_thread(pairs_here, self.services.sources)
        except LocalspecError:
            # Two settings of the pair that is loaded can be compared all the same.
            others = []
        if not await self.quiet(keep_waiting=True):
            return
        question, choice, loaded = self._question(), self.services.engine.choice, self.services.engine.loaded
        request = self.answering.request(question) if question else None
        if request is None or choice is None or loaded is None or self.answering.waiting:
            self.notify("Ask something first, and let the models load: the last question is compared.")
            return
        pair = NamedPair(choice.name, choice.loading)
        screen = CompareScreen(self.services.link, request, pair, pairs=others, context_size=loaded.context_size)
        result = await self.app.push_screen_wait(screen)
        if not result.pair_loaded:
            self.services.engine.load_again()
            self.keep_ticking()

    # The machine

    @work
    async def action_settings(self) -> None:
        """Change settings; those that need it load the models again."""
        choice = self.pair_chosen()
        if choice is None:
            return
        from localspec.tui.screens.settings import SettingsScreen  # noqa: PLC0415 - the first frame has no time for it

        talk = self.answering.talk
        shown = replace(self.answering.settings, system=talk.about.system)
        try:
            screen = SettingsScreen(choice, differences(shown, choice.settings))
            changed = await self.app.push_screen_wait(screen)
            if changed is None:
                return
            # A system prompt that is this conversation's alone does not become the pair's with another change.
            own = changed.system == shown.system
            settings = replace(changed, system=choice.settings.system) if own else changed
            choice.with_settings(settings)
        except UsageError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        kept = self._keep(choice, settings)
        self.answering.settings = settings
        if not own:
            talk.tell_about(replace(talk.about, system=settings.system))
        self.remember_settings()
        if kept.loading != choice.loading and await self.quiet(keep_waiting=True):
            self.services.engine.want(kept)
            self.keep_ticking()
        else:
            self.services.engine.choice = kept

    @work
    async def action_pairs(self) -> None:
        """Choose a pair, or pull one."""
        from localspec.tui.screens.pairs import PairsScreen  # noqa: PLC0415 - the first frame has no time for it

        screen = PairsScreen(self.services.sources, self.services.engine.choice)
        choice = await self.app.push_screen_wait(screen)
        if choice is not None and await self.quiet(keep_waiting=True):
            self.use(choice)

    def use(self, choice: Choice) -> None:
        """Talk with this pair from now on; the screen knows how."""
        raise NotImplementedError

    def action_restart_engine(self) -> None:
        """Start the engine again."""
        if self.pair_chosen() is None:
            return
        if not self.answering.waiting:
            self.answering.stop()
        self.services.engine.start_anew()
        self.keep_ticking()

    def _question(self) -> Entry | None:
        """The question that the chosen message is or answers, else the last one."""
        chosen = self.chosen()
        talk = self.answering.talk
        return talk.question_of(chosen.id) if chosen else talk.last_question

    async def _step_branch(self, step: int) -> None:
        """Show the branch before or after, at the chosen message or at the last one that has branches."""
        if self._fork() is None:
            self.notify("There are no branches here: regenerate an answer or edit a question to make one.")
        elif await self.quiet() and (fork := self._fork()) is not None:
            talk = self.answering.talk
            siblings = talk.conversation.siblings(fork.id)
            place = (siblings.index(talk.conversation[fork.id]) + step) % len(siblings)
            talk.show(siblings[place].id)
            self.show_branch()

    def _fork(self) -> Entry | None:
        """The chosen message, or the last one of the branch that is shown, that has alternatives."""
        conversation = self.answering.talk.conversation
        chosen = self.chosen()
        entries = [chosen] if chosen else reversed(conversation.path)
        return next((entry for entry in entries if len(conversation.siblings(entry.id)) > 1), None)

    def _keep(self, choice: Choice, settings: Settings) -> Choice:
        """The choice with these settings, kept for the pair when that can be done."""
        try:
            return choice.keeping(settings)
        except LocalspecError as error:
            self.notify(str(error), severity="warning", markup=False)
            return choice.with_settings(settings)
