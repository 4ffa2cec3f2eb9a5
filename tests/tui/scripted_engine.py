"""An engine that plays a script: the events a real one sends, at the pace a test asks for, and its faults."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from localspec.chat.answer import AnswerInProgress
from localspec.chat.events import AnswerEnd, AnswerEvent, AnswerRequest, AnswerRound, PromptProgress
from localspec.chat.stream import AnswerStream
from localspec.chat.thinking import ThinkingMarker
from localspec.decoding.acceptance import rule_for
from localspec.decoding.rounds import DraftPass, Finish, Origin, Prediction, Round
from localspec.engine.messages import (
    Loaded,
    LoadedModel,
    LoadPair,
    LoadProgress,
    MeasurePasses,
    ModelSettings,
    PassTimes,
)
from localspec.errors import EngineDiedError, LocalspecError

CONTEXT = 4096
PAIR = LoadPair(ModelSettings(Path("big-q8_0.gguf")), ModelSettings(Path("small-q4_0.gguf")))


@dataclass
class ScriptedEngine:
    """Answers each request with the next of `answers` (the last one again and again), word by word.

    Attributes:
        answers: texts, or errors to raise in place of one.
        dies_after: rounds of an answer after which the process is gone, once.
        load_errors: raised by the next loads, one each.
        held: while True, a round comes out only when `step` lets it.
        seconds_off: decode seconds of a round without drafts.
        seconds_on: decode seconds of a round with drafts.
        requests: what was asked.
        loads: what was to be loaded.
    """

    answers: Sequence[str | LocalspecError] = ("It is **Paris**.",)
    dies_after: int | None = None
    load_errors: list[LocalspecError] = field(default_factory=list)
    held: bool = False
    seconds_off: float = 0.05
    seconds_on: float = 0.08
    requests: list[AnswerRequest] = field(default_factory=list)
    loads: list[LoadPair] = field(default_factory=list)
    alive: bool = False
    pid: int | None = None
    starts: int = 0
    _loaded: bool = False
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _steps: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def start(self) -> None:
        if not self.alive:
            self.alive = True
            self.starts += 1
            self._loaded = False

    def load(self, pair: LoadPair) -> Generator[LoadProgress | Loaded, None, None]:
        self.loads.append(pair)
        yield LoadProgress("target", 0.5)
        if self.load_errors:
            raise self.load_errors.pop(0)
        self._loaded = True
        yield Loaded(
            target=_model(pair.target.path.stem, 1_894_532_160),
            draft=_model(pair.draft.path.stem, 360_662_912) if pair.draft else None,
            context_size=pair.context or CONTEXT,
            threads=2,
            seconds=0.1,
        )

    def measure(self, request: MeasurePasses) -> Generator[PassTimes, None, None]:
        times = tuple((width, self.seconds_off * (1 + 0.15 * (width - 1))) for width in request.widths)
        yield PassTimes(target=times, draft=tuple((width, seconds / 6) for width, seconds in times))

    def answer(self, request: AnswerRequest) -> Generator[AnswerEvent, None, None]:
        if not self.alive or not self._loaded:
            raise EngineDiedError("The engine is not running", "", "Start it first.")
        self._cancelled.clear()
        self.requests.append(request)
        script = self.answers[min(len(self.requests), len(self.answers)) - 1]
        yield PromptProgress(reused=0, evaluated=10, total=10)
        if isinstance(script, LocalspecError):
            raise script
        yield from self._play(script, request)

    def cancel(self) -> None:
        self._cancelled.set()
        self._steps.release()

    def step(self, rounds: int = 1) -> None:
        """Let out so many rounds of a held engine."""
        self._steps.release(rounds)

    def go_on(self) -> None:
        """Hold nothing back any more."""
        self.held = False
        self._steps.release(10_000)

    def close(self) -> None:
        self.alive = False
        self._cancelled.set()
        self.go_on()

    def _play(self, script: str, request: AnswerRequest) -> Iterator[AnswerEvent]:
        words = re.findall(r"\s*\S+|\s+$", script)[: request.max_tokens]
        stream = AnswerStream(lambda token: words[token].encode(), request.stop, ThinkingMarker(opened=False))
        answer = AnswerInProgress(stream, frozenset())
        for number, (tokens, drafted) in enumerate(_cut(len(words), speculating=request.speculation.enabled)):
            if self.held:
                self._steps.acquire()
            if self.dies_after == number:
                self.alive, self.dies_after = False, None
                raise EngineDiedError("The engine was ended by signal SEGV", "It was killed.", "Start it again.")
            if self._cancelled.is_set():
                break
            last = tokens[-1] + 1 == len(words)
            finished = self._round(tokens, drafted, Finish.END if last else None)
            if request.speculation.draft_length == "auto":
                finished = replace(finished, predictions=(Prediction(5, 0.75),) * drafted)
            if request.speculation.drafter == "hybrid" and number % 8 == 0:
                finished = replace(finished, sources=("ngram",) * drafted)
            yield answer.take(finished, 20 + tokens[-1])
        yield _end(answer, request, answer.finish or Finish.CANCELLED)

    def _round(self, tokens: Sequence[int], drafted: int, finish: Finish | None) -> Round:
        accepted = len(tokens) - 1
        own = Origin.PLAIN if not drafted else Origin.BONUS if accepted == drafted else Origin.CORRECTION
        seconds = self.seconds_on if drafted else self.seconds_off
        return Round(
            drafted=tuple(range(drafted)),
            path=tuple(range(accepted)),
            tokens=tuple(tokens),
            origins=(*(Origin.DRAFT,) * accepted, own),
            sources=("model",) * drafted,
            predictions=(),
            passes=(DraftPass(1, seconds * 0.2),) if drafted else (),
            target_seconds=seconds * (0.75 if drafted else 0.98),
            seconds=seconds,
            finish=finish,
        )


def answer_text(events: Sequence[AnswerEvent]) -> str:
    """The text that rounds among these events bring."""
    return "".join(token.text for event in events if isinstance(event, AnswerRound) for token in event.tokens)


def _cut(count: int, *, speculating: bool) -> Iterator[tuple[list[int], int]]:
    """Rounds over so many tokens: one each, or 4, 3, 1, 2 in turn out of drafts of 3."""
    start, number = 0, 0
    while start < count:
        length = min((4, 3, 1, 2)[number % 4] if speculating else 1, count - start)
        yield list(range(start, start + length)), 3 if speculating else 0
        start, number = start + length, number + 1


def _end(answer: AnswerInProgress, request: AnswerRequest, finish: Finish) -> AnswerEnd:
    rule = rule_for(request.speculation.acceptance, request.sampling)
    return AnswerEnd(
        finish=finish,
        text=answer.text,
        prompt_tokens=10,
        reused_tokens=0,
        prompt_seconds=0.2,
        time_to_first_token=0.31,
        statistics=answer.statistics,
        seed=request.sampling.seed or 7,
        acceptance=rule.name,
        lossless=rule.lossless,
        context_used=20 + answer.statistics.emitted,
        context_size=CONTEXT,
        drafter=request.speculation.drafter if request.speculation.speculates else "none",
        draft_length=request.speculation.draft_length if request.speculation.speculates else 0,
    )


def _model(name: str, size: int) -> LoadedModel:
    return LoadedModel(name, "scripted 1.5B Q8_0", size, 1_543_714_304, 151_936, 32_768, "CPU")
