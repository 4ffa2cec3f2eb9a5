"""What the chat and its commands work on: the conversation that is shown, and the settings it is held with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from localspec.chat.events import AnswerRound, Role
from localspec.conversations.conversation import About, Conversation, Entry
from localspec.errors import UsageError
from localspec.settings import KEYS, Settings, merge
from localspec.settings.keys import ANSWER, SAMPLING, SPECULATION
from localspec.settings.overrides import plain, with_overrides
from localspec.settings.sources import refuse_contradictions
from localspec.tui.answering import Answering
from localspec.tui.kept_rounds import KeptRounds
from localspec.tui.services import Opening, Services
from localspec.tui.talk import Talk
from localspec.tui.welcome import welcome
from localspec.tui.widgets.transcript import Transcript
from localspec.tui.widgets.transcript_entry import Shown

if TYPE_CHECKING:
    from localspec.settings.choice import Choice

_HELD_WITH = tuple(key.name for key in KEYS if key.group in {SPECULATION, SAMPLING, ANSWER} and key.name != "system")
"""Settings that a conversation is resumed with."""

_PATIENCE_SECONDS = 10.0

WRITE_SECONDS = 1.0
"""How long to wait for what was written a moment ago to reach the disk, before reading there."""


class ChatBase(Screen[None]):
    """Holds the conversation; knows neither keys nor layout."""

    def __init__(self, services: Services, opening: Opening) -> None:
        """Begin with `opening`; nothing is asked yet.

        Args:
            services: what the screens share.
            opening: the conversation to show, and what goes along with its next question.
        """
        super().__init__()
        self.services = services
        self.opening = opening
        self._turn = asyncio.Lock()
        self._rounds = KeptRounds(
            self.kept_rounds,
            begin=lambda reading: self.run_worker(reading, group="rounds"),
            came=self.rounds_came,
            failed=lambda error: self.notify(str(error), severity="error", markup=False),
        )
        self.transcript = Transcript(self.rounds_of, welcome=welcome(), id="transcript")
        self.answering = Answering(
            services.link, services.engine, self.talk_about(opening.conversation), self.rounds_of
        )
        # What is known before a pair is chosen.
        self.answering.settings = merge(*services.sources)

    def talk_about(self, conversation: Conversation) -> Talk:
        """The conversation, kept by the saver."""
        return Talk(conversation, self.services.saver)

    def new_conversation(self) -> Conversation:
        """One with the settings that count now; before a pair is chosen these are not known."""
        settings = self._settings_now() if self.services.engine.choice else {}
        return Conversation(About(system=self.answering.settings.system, settings=settings))

    def pair_chosen(self) -> Choice | None:
        """The pair that is wanted; before one is, the person is told so."""
        if self.services.engine.choice is None:
            self.notify("The models are not chosen yet.")
        return self.services.engine.choice

    def take_settings(self, choice: Choice) -> None:
        """Go on with what `settings_for` says; a conversation that only begins takes the pair's system prompt, too."""
        talk, before = self.answering.talk, self.answering.settings.system
        self.answering.settings = settings = self.settings_for(choice)
        answered = any(entry.role is Role.ASSISTANT for entry in talk.conversation.entries)
        # One that is not what was set before was given to this conversation alone.
        if not answered and talk.about.system == before and settings.system != before:
            talk.tell_about(replace(talk.about, system=settings.system))

    def settings_for(self, choice: Choice) -> Settings:
        """The pair's settings, with those this conversation was held with that can be had; a flag is stronger."""
        about = self.answering.talk.about
        held = {name: value for name, value in about.settings.items() if name not in self.services.sources.flags}
        with suppress(UsageError):
            settings = with_overrides(choice.settings, held)
            refuse_impossible(choice, settings)
            return settings
        settings = choice.settings
        refused: list[str] = []
        for name, value in held.items():
            try:
                changed = with_overrides(settings, {name: value})
                refuse_impossible(choice, changed)
            except UsageError as error:
                refused.append(f"{name.replace('_', ' ')}: {error}")
            else:
                settings = changed
        words = "\n".join(["Of the settings of this conversation some are left out.", *refused])
        self.notify(words, severity="warning", markup=False)
        return settings

    def remember_settings(self) -> None:
        """Keep with the conversation what it is held with; nothing while no pair is chosen."""
        choice = self.services.engine.choice
        if choice is None:
            return
        about = replace(self.answering.talk.about, settings=self._settings_now(), pair=choice.kept_as)
        if about != self.answering.talk.about:
            self.answering.talk.tell_about(about)

    def rounds_of(self, entry_id: str) -> Sequence[AnswerRound] | None:
        """The rounds of an answer: none, and a word about it, when they cannot be read; None while they are read."""
        at_hand = self.answering.talk.rounds_written(entry_id)
        return at_hand if at_hand is not None else self._rounds.of(entry_id)

    def rounds_came(self, entry_id: str) -> None:
        """The rounds of an answer were read."""
        self.transcript.rounds_came(entry_id)

    def kept_rounds(self, entry_id: str) -> Sequence[AnswerRound]:
        """The rounds of an answer, of this run or of an earlier one; any thread may ask.

        Raises:
            HistoryError: they cannot be read.
        """
        at_hand = self.answering.talk.rounds_written(entry_id)
        if at_hand is not None:
            return at_hand
        # What was written a moment ago may still be on its way to the disk.
        self.services.saver.flush(WRITE_SECONDS)
        return self.services.store.rounds(entry_id)

    def shown(self, entry: Entry) -> Shown:
        """An entry as the transcript draws it."""
        siblings = [sibling.id for sibling in self.answering.talk.conversation.siblings(entry.id)]
        model = PurePath(entry.facts.target).stem if entry.facts else ""
        writing = self.answering.talk.writing
        is_written = writing is not None and writing.entry.id == entry.id
        return Shown(entry, model, siblings.index(entry.id) + 1, len(siblings), writing=is_written)

    def show_branch(self) -> None:
        """Draw the branch that is shown from its beginning."""
        self.transcript.show([self.shown(entry) for entry in self.answering.talk.conversation.path])

    def show_conversation(self, conversation: Conversation) -> None:
        """Show another conversation, at its end; the screen knows how."""
        raise NotImplementedError

    async def quiet(self, *, keep_waiting: bool = False) -> bool:
        """Stop an answer that is being written, and wait until it is over; whether it is.

        It must not be awaited in a handler of this screen's messages: its timers would not run meanwhile. Several that
        wait come in turn, each after what the one before it began. So who waited looks anew at the conversation.

        Args:
            keep_waiting: let a question that waits for the engine go on waiting: whatever pair comes answers it.
        """
        async with self._turn:
            if keep_waiting and self.answering.waiting:
                return True
            self.answering.stop()
            patience = time.monotonic() + _PATIENCE_SECONDS
            while self.answering.busy and time.monotonic() < patience:
                await asyncio.sleep(0.02)
            if self.answering.busy:
                words = (
                    "The engine has not stopped yet: it may be in a long step. F10 starts it again; every word is kept."
                )
                self.notify(words, severity="error")
            return not self.answering.busy

    def _settings_now(self) -> dict[str, Any]:
        return {name: plain(getattr(self.answering.settings, name)) for name in _HELD_WITH}


def refuse_impossible(choice: Choice, settings: Settings) -> None:
    """Let settings pass that the models of a pair can be asked with as they are loaded.

    Raises:
        UsageError: the settings contradict each other, or want another draft.
    """
    refuse_contradictions(settings)
    wanted = choice.with_settings(settings).loading.draft
    if settings.drafter == "pruned" and settings.speculates and wanted != choice.loading.draft:
        raise UsageError("The draft made of the target's own layers is not loaded", "", "Set it in F3: that loads it.")
