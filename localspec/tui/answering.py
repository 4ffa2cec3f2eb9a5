"""How a question becomes an answer: waits for the engine, asks it, takes what comes, and settles however it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localspec.chat.events import AnswerEnd, AnswerEvent, AnswerRequest, AnswerRound, PromptProgress
from localspec.conversations.conversation import Entry
from localspec.engine.messages import LoadPair
from localspec.errors import LocalspecError
from localspec.settings import Settings
from localspec.tui.engine_link import EngineLink, Job
from localspec.tui.engine_state import EngineState, Stage
from localspec.tui.figures import Figures
from localspec.tui.live import LiveFigures, figures_of_past
from localspec.tui.talk import Talk

_WORTH_TELLING = 64
"""Tokens of a prompt from which on reading it takes long enough for words about it to be read."""


@dataclass(frozen=True, slots=True)
class Advance:
    """What has happened since the last look.

    Attributes:
        begun: the answer that was begun, still empty.
        rounds: what came of the answer under way.
        settled: the answer that is over now, as it stays.
        error: why it is over, when it failed.
    """

    begun: Entry | None = None
    rounds: Sequence[AnswerRound] = ()
    settled: Entry | None = None
    error: LocalspecError | None = None


class Answering:
    """One answer at a time, over an engine that may still be loading or may die.

    Attributes:
        talk: the conversation; replaced to open another one, between answers.
        settings: as they are for the next answer.
    """

    def __init__(
        self,
        link: EngineLink,
        engine: EngineState,
        talk: Talk,
        rounds_of: Callable[[str], Sequence[AnswerRound] | None],
    ) -> None:
        """Begin with nothing asked.

        Args:
            link: to the engine.
            engine: which pair is loaded.
            talk: the conversation.
            rounds_of: the rounds of an answer that is kept; None while they are read.
        """
        self.talk = talk
        self.settings = Settings()
        self._link = link
        self._engine = engine
        self._rounds_of = rounds_of
        self._job: Job[AnswerEvent] | None = None
        self._wanted: Callable[[], Entry] | None = None
        self._progress: PromptProgress | None = None
        self._measured: float | None = None
        self._asked_of = 0
        self._live = LiveFigures()
        self._followed = ""
        """The answer that the live figures are of."""
        self._past: tuple[Entry, Figures] | None = None

    @property
    def busy(self) -> bool:
        """Whether an answer is under way or waits for the engine."""
        return self._job is not None or self._wanted is not None

    @property
    def waiting(self) -> bool:
        """Whether an answer waits for the engine, and none is under way."""
        return self._wanted is not None and self._job is None

    @property
    def words(self) -> str:
        """What the person waits for; "" when text is coming, or nothing is asked."""
        if self.waiting:
            return "waiting for the models" if self._engine.refusal is None else "waiting for a pair"
        if self._job is None or (self.talk.writing and self.talk.writing.rounds):
            return ""
        progress = self._progress
        if progress is None or progress.total < _WORTH_TELLING:
            return "thinking of the first token"
        return f"reading your prompt ({progress.total:,} tokens, {progress.evaluated / progress.total:.0%})"

    def answer(self, question: Entry) -> None:
        """Answer a question, as soon as the engine can."""
        self._want(lambda: self.talk.begin_answer(question, self._loading()))

    def go_on(self, entry: Entry, rounds: Sequence[AnswerRound]) -> None:
        """Continue an answer that ended too early, after these rounds of it."""
        self._want(lambda: self.talk.continue_answer(entry, rounds))

    def stop(self) -> bool:
        """Stop what is under way; what came stays. Returns whether there was anything."""
        stopped = self.busy
        self._wanted = None
        if self._job is not None:
            self._job.cancel()
        return stopped

    def leave(self) -> None:
        """The app ends: keep what has come, as an answer that was stopped."""
        self._wanted = None
        job = self._job
        if job is not None:
            job.cancel()
            _, end = self._take(job)
            self._settle(end, None)

    def request(self, until: Entry | None = None) -> AnswerRequest | None:
        """What would be asked to have what comes after `until` (None: the end); None while nothing is loaded."""
        loaded = self._engine.loaded
        return self.talk.request(self.settings, loaded, until) if loaded else None

    def figures(self, answer: Entry | None) -> Figures:
        """The figures of an answer: as they grow, or as they were when it ended. None: what is known without one."""
        if answer is None or answer.facts is None:
            return Figures(off=self._live.off_tokens_per_second)
        if answer.id == self._followed:
            return self._live.figures()
        if self._past is None or self._past[0] is not answer:
            rounds = self._rounds_of(answer.id)
            if rounds is None:
                return figures_of_past(answer.facts, ())
            self._past = (answer, figures_of_past(answer.facts, rounds))
        return self._past[1]

    def advance(self) -> Advance:
        """Take what has come; begin what waited."""
        self._engine.advance()
        self._learn_off_speed()
        # One at a time: an answer that was asked for while another is written waits for its end.
        may_begin = self._wanted is not None and self._job is None and self._engine.usable
        begun = self._begin() if may_begin else None
        if self._wanted is not None and self._engine.stage is Stage.FAILED:
            self._wanted = None
        job = self._job
        if job is None:
            return Advance(begun=begun)
        rounds, end = self._take(job)
        if not job.over:
            return Advance(begun, rounds)
        # An engine that was replaced ended on a person's wish: its answer was stopped.
        error = job.error if self._engine.loads == self._asked_of else None
        return Advance(begun, rounds, self._settle(end, error), error)

    def _want(self, begin: Callable[[], Entry]) -> None:
        self._wanted = begin
        if self._engine.stage is Stage.FAILED:
            self._engine.load_again()

    def _begin(self) -> Entry:
        assert self._wanted is not None  # the caller looked
        begin, self._wanted = self._wanted, None
        entry = begin()
        request = self.request()
        assert request is not None  # the engine is usable
        self._progress = None
        self._followed = entry.id
        self._live.begin(time.monotonic(), request, self._engine.loaded.context_size if self._engine.loaded else 0)
        self._asked_of = self._engine.loads
        self._job = self._link.answer(request)
        return entry

    def _take(self, job: Job[AnswerEvent]) -> tuple[list[AnswerRound], AnswerEnd | None]:
        events = job.take()
        rounds = [event for event in events if isinstance(event, AnswerRound)]
        if rounds:
            self.talk.take(rounds)
            self._live.take(rounds, time.monotonic())
        for event in events:
            if isinstance(event, PromptProgress):
                self._progress = event
        return rounds, next((event for event in events if isinstance(event, AnswerEnd)), None)

    def _settle(self, end: AnswerEnd | None, error: LocalspecError | None) -> Entry:
        self._job = None
        if end is not None:
            self._live.end(end)
        else:
            self._live.stop()
        if error is not None:
            self._engine.failed(error)
        return self.talk.settle(end=end, error=error, off_tokens_per_second=self._live.off_tokens_per_second)

    def _learn_off_speed(self) -> None:
        """Tell the figures what was measured, once: they refine it themselves."""
        if self._engine.off_tokens_per_second != self._measured:
            self._measured = self._engine.off_tokens_per_second
            self._live.off_tokens_per_second = self._measured

    def _loading(self) -> LoadPair:
        assert self._engine.choice is not None  # a pair is loaded
        return self._engine.choice.loading
