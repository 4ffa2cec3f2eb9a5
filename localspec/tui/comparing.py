"""A comparison under way: loads and asks over the engine link, one arm after the other. A screen looks at it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from enum import StrEnum

from localspec.chat.events import AnswerEnd, AnswerEvent, AnswerRound, PromptProgress
from localspec.decoding.rounds import Finish
from localspec.decoding.statistics import DecodingStatistics
from localspec.engine.messages import Loaded, LoadProgress
from localspec.errors import LocalspecError
from localspec.tui.comparison import Answered, Arm, Comparison, NamedPair
from localspec.tui.engine_link import EngineLink, Job


class Phase(StrEnum):
    """What one side is doing."""

    WAITING = "waiting"
    LOADING = "loading"
    READING = "reading"
    WRITING = "writing"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    LEFT_OUT = "left out"
    """The run ended before its turn came."""


@dataclass(slots=True)
class Side:
    """One side's last answer, or what came of it so far.

    Attributes:
        phase: what it is doing.
        tokens: the texts of its tokens.
        statistics: counts and times of its rounds; positions and origins only come with the end.
        end: the figures, once it is over.
        loading: how far its pair is loaded, while it is.
        reading: how far the prompt is read, while it is.
    """

    phase: Phase = Phase.WAITING
    tokens: list[str] = field(default_factory=list)
    statistics: DecodingStatistics = field(default_factory=DecodingStatistics)
    end: AnswerEnd | None = None
    loading: LoadProgress | None = None
    reading: PromptProgress | None = None

    def take(self, event: AnswerEvent) -> None:
        """Count one thing that came."""
        if isinstance(event, PromptProgress):
            self.reading = event
        elif isinstance(event, AnswerRound):
            self.phase = Phase.WRITING
            self.tokens.extend(token.text for token in event.tokens)
            self.statistics = _with_round(self.statistics, event)
        else:
            self.end = event
            self.statistics = event.statistics

    @property
    def answered(self) -> Answered | None:
        """The whole answer; None when it did not come to its end."""
        if self.end is None or self.end.finish is Finish.CANCELLED:
            return None
        return Answered(tuple(self.tokens), self.end)


class Comparing:
    """Runs a comparison, looked at and driven from the app's thread.

    Attributes:
        comparison: the complete runs so far.
        sides: what each arm wrote last.
        error: why the last run ended early; None when it did not, or the person stopped it.
        loaded: the pair that the engine holds; None when it holds none, or none that is known.
    """

    def __init__(self, link: EngineLink, comparison: Comparison, loaded: NamedPair) -> None:
        """Begin with nothing run.

        Args:
            link: to the engine.
            comparison: the arms.
            loaded: the pair that the chat has loaded.
        """
        self.comparison = comparison
        self.sides = (Side(), Side())
        self.error: LocalspecError | None = None
        self.loaded: NamedPair | None = loaded if link.alive else None
        self._link = link
        self._to_run: deque[int] = deque()
        self._job: Job[LoadProgress | Loaded] | Job[AnswerEvent] | None = None

    @property
    def running(self) -> bool:
        """Whether something will come that `advance` must take."""
        return self._job is not None

    def begin(self) -> None:
        """Begin one more run; nothing when one is under way. What the sides wrote before stays until they write."""
        if self.running:
            return
        self.error = None
        self._to_run = deque(self.comparison.order)
        for side in self.sides:
            side.phase = Phase.WAITING
        if not self._link.alive:
            self.loaded = None
        self._next()

    def take_arms(self, arms: tuple[Arm, Arm]) -> None:
        """Compare these instead, from nothing; only between runs."""
        self.comparison = Comparison(arms)
        self.sides = (Side(), Side())

    def stop(self) -> None:
        """Stop the run under way, within one pass; it does not count."""
        if self._job is not None:
            self._job.cancel()

    def advance(self) -> None:
        """Take what has come, and go on with the next step when one is over."""
        job = self._job
        if job is None:
            return
        arm = self._to_run[0]
        for event in job.take():
            if isinstance(event, Loaded):
                self.loaded = self.comparison.arms[arm].pair
            elif isinstance(event, LoadProgress):
                self.sides[arm].loading = event
            else:
                self.sides[arm].take(event)
        if job.over:
            self._job = None
            self._step_over(arm, job)

    def _step_over(self, arm: int, job: Job[LoadProgress | Loaded] | Job[AnswerEvent]) -> None:
        side = self.sides[arm]
        if job.error is not None or job.cancelled:
            self.error = None if job.cancelled and self._link.alive else job.error
            for waiting in self._to_run:
                self.sides[waiting].phase = Phase.LEFT_OUT
            side.phase = Phase.FAILED if self.error else Phase.STOPPED
            self._to_run.clear()
            if not self._link.alive:
                self.loaded = None
        elif side.phase is Phase.LOADING:
            self._next()
        else:
            side.phase = Phase.DONE
            self._to_run.popleft()
            self._next()

    def _next(self) -> None:
        """Begin the next step of the run, or count the run."""
        if not self._to_run:
            first, second = (side.answered for side in self.sides)
            if first is not None and second is not None:
                self.comparison = self.comparison.with_run(first, second)
            return
        arm = self.comparison.arms[self._to_run[0]]
        if self.loaded is None or self.loaded.loading != arm.pair.loading:
            self._set(Side(Phase.LOADING))
            self.loaded = None
            self._job = self._link.load(arm.pair.loading)
        else:
            self._set(Side(Phase.READING))
            self._job = self._link.answer(arm.request)

    def _set(self, side: Side) -> None:
        sides = list(self.sides)
        sides[self._to_run[0]] = side
        self.sides = (sides[0], sides[1])


def _with_round(statistics: DecodingStatistics, finished: AnswerRound) -> DecodingStatistics:
    return replace(
        statistics,
        rounds=statistics.rounds + 1,
        emitted=statistics.emitted + len(finished.tokens),
        drafted=statistics.drafted + finished.drafted,
        accepted=statistics.accepted + finished.accepted,
        seconds=statistics.seconds + finished.seconds,
    )
