"""Which pair is wanted, whether it is loaded, and what is in the way: what the app knows of its engine."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from localspec.engine.messages import Loaded, LoadPair, LoadProgress, MeasurePasses, PassTimes
from localspec.errors import EngineDiedError, LocalspecError
from localspec.tui.engine_link import EngineLink, Job

if TYPE_CHECKING:
    from localspec.settings.choice import Choice

_MEASURED_PASSES = 7


class Stage(StrEnum):
    """How far the engine is."""

    CHOOSING = "choosing"
    """It is not decided yet which pair to load."""
    LOADING = "loading"
    MEASURING = "measuring"
    """Loaded; the speed without speculation is being measured. Questions may be asked."""
    READY = "ready"
    FAILED = "failed"
    """The pair could not be loaded, or the engine died: `error` says why."""


class EngineState:
    """Follows one pair from the wish to readiness; looked at and driven from the app's thread.

    Attributes:
        choice: the pair that is wanted; None before the choice.
        loaded: what is loaded; None until then.
        off_tokens_per_second: measured without speculation on this machine with this pair; None until then.
        progress: how far the loading is.
        error: why nothing can be answered.
        refusal: why no pair could be chosen; None while that is open, and once one is.
        loads: how many loads were begun: what was asked before the last one was asked of another engine.
    """

    def __init__(self, link: EngineLink) -> None:
        """Begin with no pair wanted."""
        self.choice: Choice | None = None
        self.refusal: LocalspecError | None = None
        self.loaded: Loaded | None = None
        self.off_tokens_per_second: float | None = None
        self.progress: LoadProgress | None = None
        self.error: LocalspecError | None = None
        self.loads = 0
        self._link = link
        self._load: Job[LoadProgress | Loaded] | None = None
        self._measure: Job[PassTimes] | None = None

    @property
    def stage(self) -> Stage:
        """How far it is."""
        if self.error is not None:
            return Stage.FAILED
        if self._load is not None:
            return Stage.LOADING
        if self._measure is not None:
            return Stage.MEASURING
        return Stage.READY if self.loaded is not None else Stage.CHOOSING

    @property
    def busy(self) -> bool:
        """Whether something will come that `advance` must take."""
        return self._load is not None or self._measure is not None

    @property
    def usable(self) -> bool:
        """Whether a question can be answered now."""
        return self.loaded is not None and self.error is None and self._link.alive

    def want(self, choice: Choice) -> None:
        """Load a pair in place of what is loaded or loading."""
        self._begin(choice, self._link.load)

    def load_again(self) -> None:
        """Load the wanted pair once more, in a new process when the old one died."""
        if self.choice is not None:
            self.want(self.choice)

    def start_anew(self) -> None:
        """Load the wanted pair in a new process, whatever the old one does or hangs in."""
        if self.choice is not None:
            self._begin(self.choice, self._link.load_anew)

    def stop(self) -> None:
        """Stop what is being loaded or measured."""
        for job in (self._load, self._measure):
            if job is not None:
                job.cancel()
        self._load = self._measure = None

    def failed(self, error: LocalspecError) -> None:
        """Note that an answer failed; when the engine died of it, nothing is loaded any more."""
        if isinstance(error, EngineDiedError) or not self._link.alive:
            self.stop()
            self.loaded = None
            self.error = error

    def advance(self) -> None:
        """Take what has come."""
        self._advance_load()
        self._advance_measure()
        if self.error is None and self.loaded is not None and not self._link.alive:
            self.failed(EngineDiedError("The engine ended", "It was not asked to.", "Start it again."))

    def _begin(self, choice: Choice, load: Callable[[LoadPair], Job[LoadProgress | Loaded]]) -> None:
        self.stop()
        self.loads += 1
        self.choice = choice
        self.loaded = self.off_tokens_per_second = self.progress = self.error = self.refusal = None
        self._load = load(choice.loading)

    def _advance_load(self) -> None:
        job = self._load
        if job is None:
            return
        for event in job.take():
            if isinstance(event, Loaded):
                self.loaded = event
            else:
                self.progress = event
        if job.over:
            self._load = None
            self.error = job.error
            if self.loaded is not None:
                self._measure = self._link.measure(MeasurePasses(widths=(1,), repeats=_MEASURED_PASSES))

    def _advance_measure(self) -> None:
        job = self._measure
        if job is None:
            return
        for times in job.take():
            seconds = dict(times.target).get(1)
            self.off_tokens_per_second = 1 / seconds if seconds else None
        if job.over:
            self._measure = None
            if job.error is not None and not self._link.alive:
                self.failed(job.error)
