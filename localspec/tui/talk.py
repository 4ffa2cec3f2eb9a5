"""The conversation as the app holds it: asks, takes what comes of it, and hands every word over to be kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from localspec.chat.events import AnswerEnd, AnswerRequest, AnswerRound, Role
from localspec.chat.why import why_drafted_so
from localspec.conversations.conversation import About, AnswerFacts, Attachment, Conversation, Entry
from localspec.decoding.rounds import Finish
from localspec.decoding.statistics import DecodingStatistics
from localspec.engine.messages import Loaded, LoadPair
from localspec.errors import LocalspecError
from localspec.settings import Settings

_REMEMBERED = 8
"""Answers whose rounds are at hand without the disk."""


class Keeper(Protocol):
    """What of `Saver` is used here: it takes what is to be kept, and never blocks."""

    def about(self, about: About, head: str | None, updated: float) -> None:
        """Keep what is known of a conversation, and which branch is shown."""

    def entry(self, conversation_id: str, entry: Entry) -> None:
        """Keep an entry as it is now."""

    def rounds(self, entry_id: str, rounds: Sequence[AnswerRound]) -> None:
        """Keep more rounds of an answer."""


@dataclass(slots=True)
class Writing:
    """An answer that is being written.

    Attributes:
        entry: as it is in the tree.
        rounds: all of its rounds; when it is continued, those from before too.
        statistics: counts and times over `rounds`.
        end: the figures that came with its end.
    """

    entry: Entry
    rounds: list[AnswerRound] = field(default_factory=list)
    statistics: DecodingStatistics = field(default_factory=DecodingStatistics)
    thinking_seconds: float | None = None
    end: AnswerEnd | None = None

    def take(self, rounds: Sequence[AnswerRound]) -> str:
        """Count some more rounds; return their text."""
        for finished in rounds:
            self.rounds.append(finished)
            self.statistics = self.statistics.plus(finished.counted())
            if any(token.thinking for token in finished.tokens):
                self.thinking_seconds = (self.thinking_seconds or 0.0) + finished.seconds
        return "".join(token.text for finished in rounds for token in finished.tokens)


class Talk:
    """One conversation, and the answer that is being written in it, if any.

    Attributes:
        conversation: the tree of what was said.
        writing: the answer under way; None between answers.
    """

    def __init__(self, conversation: Conversation, keeper: Keeper) -> None:
        """Take up a conversation; nothing is kept before the first word of it."""
        self.conversation = conversation
        self.writing: Writing | None = None
        self._keeper = keeper
        self._written: dict[str, Sequence[AnswerRound]] = {}

    @property
    def about(self) -> About:
        """Title, system prompt, settings."""
        return self.conversation.about

    def tell_about(self, about: About) -> None:
        """Change title, system prompt or settings."""
        self.conversation.about = about
        if self.conversation.entries:
            self._keep_about()

    @property
    def last_question(self) -> Entry | None:
        """The last thing the person said on the branch that is shown."""
        return next((entry for entry in reversed(self.conversation.path) if entry.role is Role.USER), None)

    @property
    def last_answer(self) -> Entry | None:
        """The answer at the end of the branch that is shown; None when a question is."""
        head = self.conversation.head
        return head if head is not None and head.role is Role.ASSISTANT else None

    def question_of(self, entry_id: str) -> Entry | None:
        """The question an entry is, or answers."""
        entry: Entry | None = self.conversation[entry_id]
        while entry is not None and entry.role is not Role.USER:
            entry = self.conversation[entry.parent] if entry.parent else None
        return entry

    def rounds_written(self, entry_id: str) -> Sequence[AnswerRound] | None:
        """The rounds of an answer that is being written or was among the last ones; None when the disk has them."""
        if self.writing is not None and self.writing.entry.id == entry_id:
            return self.writing.rounds
        return self._written.get(entry_id)

    def ask(self, text: str, attachments: tuple[Attachment, ...] = ()) -> Entry:
        """Add a question at the end of the branch that is shown."""
        head = self.conversation.head
        return self._add_question(text, attachments, head.id if head else None)

    def edit(self, entry_id: str, text: str, attachments: tuple[Attachment, ...]) -> Entry:
        """Ask another question in place of an earlier one, on a branch of its own."""
        return self._add_question(text, attachments, self.conversation[entry_id].parent)

    def begin_answer(self, question: Entry, loading: LoadPair) -> Entry:
        """Begin an answer, on a branch of its own when the question has one already."""
        facts = AnswerFacts(target=loading.target.path.name, draft=loading.draft.path.name if loading.draft else "")
        entry = self.conversation.add(Role.ASSISTANT, "", parent=question.id, facts=facts)
        self.writing = Writing(entry)
        self._keep(entry)
        return entry

    def continue_answer(self, entry: Entry, rounds: Sequence[AnswerRound]) -> Entry:
        """Go on with an answer that ended too early; `rounds` are those it has."""
        self.writing = Writing(entry)
        self.writing.take(rounds)
        return self._changed(entry.text, "writing")

    def request(self, settings: Settings, loaded: Loaded, until: Entry | None = None) -> AnswerRequest:
        """Ask for what comes next after an entry; None for the end of the branch that is shown."""
        last = until or self.conversation.head
        sampling = settings.sampling()
        if sampling.seed is not None and last is not None and last.role is Role.ASSISTANT:
            # The same seed would write the same answer again.
            alternatives = len(self.conversation.siblings(last.id)) - 1
            sampling = replace(sampling, seed=(sampling.seed + alternatives) % 2**64)
        return AnswerRequest(
            messages=self.conversation.messages_to(last.id if last else None),
            sampling=sampling,
            speculation=settings.speculating(with_draft=loaded.draft is not None),
            max_tokens=settings.max_tokens,
            stop=settings.stop,
            drop_oldest=self.about.drop_oldest or settings.drop_oldest,
        )

    def take(self, rounds: Sequence[AnswerRound]) -> None:
        """Add what came to the answer under way."""
        writing = self._writing()
        text = writing.take(rounds)
        self._keeper.rounds(writing.entry.id, rounds)
        self._changed(writing.entry.text + text, "writing")

    def settle(
        self,
        *,
        end: AnswerEnd | None = None,
        error: LocalspecError | None = None,
        off_tokens_per_second: float | None = None,
    ) -> Entry:
        """The answer is over, with its figures or with an error; return it as it stays."""
        writing = self._writing()
        finish = str(end.finish) if end else "failed" if error else str(Finish.CANCELLED)
        facts = replace(
            self._facts(finish),
            error=str(error) if error else "",
            off_tokens_per_second=off_tokens_per_second,
        )
        if end is not None:
            facts = replace(
                facts,
                time_to_first_token=end.time_to_first_token,
                context_used=end.context_used,
                context_size=end.context_size,
                seed=end.seed,
                acceptance=end.acceptance,
                lossless=end.lossless,
                drafter=end.drafter,
                draft_length=end.draft_length,
                why=why_drafted_so(end),
            )
        entry = self.conversation.change(writing.entry.id, text=writing.entry.text, facts=facts)
        self.writing = None
        self._keep(entry)
        self._written[entry.id] = writing.rounds
        if len(self._written) > _REMEMBERED:
            del self._written[next(iter(self._written))]
        return entry

    def show(self, entry_id: str) -> None:
        """Show the branch through an entry."""
        self.conversation.show(entry_id)
        self._keep_about()

    def keep_again(self) -> None:
        """Hand over all of it: another window deleted the conversation that goes on here."""
        self._keep_about()
        for entry in self.conversation.entries:
            self._keeper.entry(self.about.id, entry)

    def _add_question(self, text: str, attachments: tuple[Attachment, ...], parent: str | None) -> Entry:
        entry = self.conversation.add(Role.USER, text, parent=parent, attachments=attachments)
        self._keep(entry)
        return entry

    def _changed(self, text: str, finish: str) -> Entry:
        """The answer under way, with this text, told to the keeper."""
        writing = self._writing()
        writing.entry = self.conversation.change(writing.entry.id, text=text, facts=self._facts(finish))
        self._keeper.entry(self.about.id, writing.entry)
        return writing.entry

    def _facts(self, finish: str) -> AnswerFacts:
        writing = self._writing()
        return replace(
            writing.entry.facts or AnswerFacts(),
            finish=finish,
            error="",
            statistics=writing.statistics,
            thinking_seconds=writing.thinking_seconds,
        )

    def _writing(self) -> Writing:
        assert self.writing is not None  # callers hold an answer under way
        return self.writing

    def _keep(self, entry: Entry) -> None:
        self._keep_about()
        self._keeper.entry(self.about.id, entry)

    def _keep_about(self) -> None:
        head = self.conversation.head
        self._keeper.about(self.about, head.id if head else None, time.time())
