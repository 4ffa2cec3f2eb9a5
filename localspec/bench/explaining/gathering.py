"""Measures what `localspec explain` tells, in a minute or two, on an engine that has a pair loaded."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from localspec.bench import theory
from localspec.bench.bandwidth import Bandwidth, bandwidth_of_device, measure_bandwidth
from localspec.bench.explaining.facts import Arm, Facts, Guesses
from localspec.bench.records import summed
from localspec.bench.roofline import work_of_file
from localspec.bench.task_files import Task, built_in_tasks, chosen_tasks
from localspec.chat.events import AnswerEnd, AnswerRequest, Message, Role, SpeculationSettings
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.doctor import examine
from localspec.engine.client import EngineClient
from localspec.engine.messages import (
    BatchTime,
    BatchTimes,
    Loaded,
    LoadPair,
    MeasureBatch,
    MeasurePasses,
    PassTimes,
    TraceAnswer,
)
from localspec.engine.traces import AnswerTrace, TracedRound
from localspec.errors import EngineDiedError, LocalspecError

_SLOW_PASS = 0.2
_SEED = 1
_REPLAY_TEMPERATURE = 1.0
"""For a person who decodes at temperature 0, where chance has nothing to decide and there is little to show."""

Tell = Callable[[str], None]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure.

    Attributes:
        kinds: of the built-in tasks, one prompt each.
        watched: tokens a draft while the guesses are watched.
        longest: the longest draft that is weighed: passes of one token more are timed.
        most_tokens: of an answer; slow models write fewer, as many as they do in `seconds`.
        least_tokens: of an answer of a slow model.
        seconds: for an answer without drafts.
        sequences: texts at once, fewest first.
        batch_seconds: after so long no larger number of texts is begun.
    """

    kinds: tuple[str, ...] = ("code", "explain", "story")
    watched: int = 4
    longest: int = 8
    most_tokens: int = 48
    least_tokens: int = 16
    seconds: float = 8.0
    sequences: tuple[int, ...] = (1, 2, 4, 8, 16)
    batch_seconds: float = 15.0


FULL = Effort()
"""Half a minute with a model of 100 MB, a minute or two with one of 2 GB."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is explained: the pair as loaded, how it was loaded, and the person's sampling settings."""

    loaded: Loaded
    loading: LoadPair
    sampling: SamplingSettings


def gather(client: EngineClient, subject: Subject, tell: Tell, effort: Effort = FULL) -> Facts:
    """Measure everything.

    Args:
        client: with the pair loaded.
        subject: the pair and its settings.
        tell: called with what is being done.
        effort: how much to measure.

    Raises:
        LocalspecError: a model failed, or a file cannot be read.
    """
    sampling = subject.sampling
    if sampling.seed is None:
        subject = replace(subject, sampling=replace(sampling, seed=_SEED))
    return _Gathering(client, subject, tell, effort).facts()


@dataclass(slots=True)
class _Gathering:
    client: EngineClient
    subject: Subject
    tell: Tell
    effort: Effort
    notes: list[str] = field(default_factory=list)
    _contexts: list[int] = field(default_factory=list)
    _tokens: int = 0

    def facts(self) -> Facts:
        loading, sampling = self.subject.loading, self.subject.sampling
        target = work_of_file(loading.target.path, loading.kv_type)
        draft = work_of_file(loading.draft.path, loading.kv_type) if loading.draft else None
        bandwidth = self._bandwidth()
        ((_, single),) = self._passes((1,), 1).target
        effort = self.effort
        self._tokens = min(effort.most_tokens, max(effort.least_tokens, int(effort.seconds / single)))
        guesses = tuple(self._guesses(task) for task in self._tasks()) if draft else ()
        times = self._passes(tuple(range(1, effort.longest + 2)), 3 if single > _SLOW_PASS / 4 else 7)
        pass_seconds = tuple(seconds for _, seconds in times.target)
        draft_step = times.draft[0][1] if times.draft else None
        lengths = _lengths(guesses, pass_seconds, draft_step, effort.watched)
        arms = self._arms(lengths)
        return Facts(
            loaded=self.subject.loaded,
            target=target,
            draft=draft,
            bandwidth=bandwidth,
            context=round(sum(self._contexts) / len(self._contexts)),
            temperature=sampling.temperature,
            pass_seconds=pass_seconds,
            draft_step=draft_step,
            guesses=guesses,
            traced_length=effort.watched,
            arms=arms,
            batch=self._batch(lengths, single),
            replay=self._replay(guesses) if draft else (),
            replay_temperature=sampling.temperature or _REPLAY_TEMPERATURE,
            notes=tuple(self.notes),
        )

    def _bandwidth(self) -> Bandwidth | None:
        device = self.subject.loaded.target.device
        if device == "CPU":
            self.tell("Measuring how fast memory is read")
            return self._unless_it_fails(lambda: measure_bandwidth(self.subject.loaded.threads))
        if "," in device or self.subject.loading.target.gpu_layers > 0:
            self.notes.append(f"The target lies on several devices ({device}): no one memory bounds its speed.")
            return None
        self.tell("Asking for the device")
        found = self._unless_it_fails(lambda: examine(None))
        described = (
            next((each.description for each in found.devices if each.name == device), device) if found else device
        )
        bandwidth = bandwidth_of_device(described)
        if bandwidth is None:
            self.notes.append(f"The memory bandwidth of {described} is not in the device table, so there is no bound.")
        return bandwidth

    def _passes(self, widths: tuple[int, ...], repeats: int) -> PassTimes:
        self.tell(f"Timing passes of up to {max(widths)} tokens")
        (times,) = self.client.measure(MeasurePasses(widths, repeats))
        return times

    def _tasks(self) -> tuple[Task, ...]:
        return chosen_tasks(built_in_tasks(), self.effort.kinds, limit=1)

    def _guesses(self, task: Task) -> Guesses:
        self.tell(f"Watching the draft guess ({task.kind})")
        return Guesses(task.kind, self._trace(task, self.subject.sampling).rounds)

    def _trace(self, task: Task, sampling: SamplingSettings) -> AnswerTrace:
        (trace,) = self.client.trace(TraceAnswer(replace(self._request(task, self.effort.watched), sampling=sampling)))
        return trace

    def _replay(self, guesses: tuple[Guesses, ...]) -> tuple[TracedRound, ...]:
        if self.subject.sampling.temperature > 0:
            return tuple(each for one in guesses for each in one.rounds)
        self.tell("Watching one more answer, at a temperature")
        story = self._tasks()[-1]
        return self._trace(story, replace(self.subject.sampling, temperature=_REPLAY_TEMPERATURE)).rounds

    def _arms(self, lengths: tuple[int, ...]) -> tuple[Arm, ...]:
        """All lengths for a prompt before the next prompt: a machine that slows down slows all of them."""
        ends: dict[int, list[AnswerEnd]] = {length: [] for length in lengths}
        for task in self._tasks():
            for length in lengths:
                self.tell(f"Answering ({task.kind}) " + (f"with drafts of {length}" if length else "without drafts"))
                end = self._answer(task, length)
                ends[length].append(end)
                self._contexts.append(end.context_used)
        return tuple(Arm(length, summed(end.statistics for end in found)) for length, found in ends.items())

    def _answer(self, task: Task, length: int) -> AnswerEnd:
        *_, end = self.client.answer(self._request(task, length))
        assert isinstance(end, AnswerEnd)  # the last event of an answer that did not fail
        return end

    def _request(self, task: Task, length: int) -> AnswerRequest:
        return AnswerRequest(
            (Message(Role.USER, task.turns[0]),),
            sampling=self.subject.sampling,
            speculation=SpeculationSettings(enabled=length > 0, draft_length=length),
            max_tokens=self._tokens,
        )

    def _batch(self, lengths: tuple[int, ...], single: float) -> BatchTimes | None:
        """More and more texts, until time is up: how long they take is not known before."""
        longest = max(lengths)
        widths = tuple(sorted({1, 2, longest + 1})) if longest else (1,)
        target: list[BatchTime] = []
        draft: list[BatchTime] = []
        began = time.perf_counter()
        for count in self.effort.sequences:
            if target and time.perf_counter() - began > self.effort.batch_seconds:
                self.notes.append(f"Passes over {count} texts and more would have taken long.")
                break
            self.tell(f"Timing passes over {count} texts at once")
            request = MeasureBatch((count,), widths, repeats=1 if single > _SLOW_PASS else 3)
            times = self._unless_it_fails(partial(self._one_batch, request))
            if times is None:
                break
            target += times.target
            draft += times.draft
        return BatchTimes(tuple(target), tuple(draft)) if target else None

    def _one_batch(self, request: MeasureBatch) -> BatchTimes:
        (times,) = self.client.measure_batch(request)
        return times

    def _unless_it_fails(self, measure: Callable[[], _T]) -> _T | None:
        """A figure that the rest can do without."""
        try:
            return measure()
        except EngineDiedError:
            raise
        except LocalspecError as error:
            self.notes.append(f"{error.title}. {error.message}".strip())
            return None


def _lengths(
    guesses: tuple[Guesses, ...], pass_seconds: tuple[float, ...], draft_step: float | None, watched: int
) -> tuple[int, ...]:
    """Off, the length that was watched, and the best one if it is another."""
    if draft_step is None:
        return (0,)
    rounds = Guesses("all", tuple(each for one in guesses for each in one.rounds))
    best = theory.best_draft_length(rounds.acceptance or 0.0, pass_seconds, draft_step).drafted
    return tuple(sorted({0, watched, best}))
