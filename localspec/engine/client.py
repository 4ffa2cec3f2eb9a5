"""The engine as the program sees it: load a pair, ask, cancel; nothing that happens to it ends the program."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from contextlib import closing
from types import TracebackType
from typing import Self

from localspec import errors
from localspec.chat.events import AnswerEnd, AnswerEvent, AnswerRequest, AnswerRound, PromptProgress
from localspec.engine.calibrations import Calibrate, Calibration, CalibrationProgress
from localspec.engine.messages import (
    LAST_REPLIES,
    BatchTimes,
    Cancel,
    Command,
    CommandBody,
    Failure,
    Loaded,
    LoadPair,
    LoadProgress,
    MeasureBatch,
    MeasurePasses,
    PassTimes,
    ReplyBody,
    TraceAnswer,
)
from localspec.engine.process import EngineProcess
from localspec.engine.prunings import BeginPruning, JudgeCut, JudgedCut, KeepCut, KeptCut, PruningBegun, PruningProgress
from localspec.engine.traces import AnswerTrace
from localspec.errors import EngineDiedError, LocalspecError


class EngineClient:
    """Owns the child process. Use it in a `with` block, or call `start` and `close`.

    `load`, `answer` and `measure` may be iterated in any thread; commands are carried out one after the other.
    `cancel` may come from any thread and from a signal handler.
    """

    def __init__(self) -> None:
        self._process: EngineProcess | None = None
        self._numbers = itertools.count(1)

    def start(self) -> None:
        """Start the child process, unless it is alive. It holds no models yet.

        Raises:
            LocalspecError: the system refused.
        """
        if not self.alive:
            self.close()
            self._process = EngineProcess()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the child process can answer."""
        return self._process is not None and self._process.alive

    @property
    def pid(self) -> int | None:
        """The child's process id, or None before the start."""
        return self._process.pid if self._process else None

    def load(self, pair: LoadPair) -> Generator[LoadProgress | Loaded, None, None]:
        """Load a pair in place of the one that is loaded; the last item is `Loaded`.

        After a failure no pair is loaded. Abandoning the iterator stops the loading.

        Raises:
            UsageError: no such file or device, not a GGUF, impossible settings.
            ModelFileError: a file llama.cpp cannot load.
            PairMismatchError: the tokenizers differ.
            OutOfMemoryError: it does not fit.
            EngineDiedError: the child process died.
        """
        with closing(self._replies(pair)) as replies:
            for body in replies:
                if isinstance(body, LoadProgress | Loaded):
                    yield body

    def answer(self, request: AnswerRequest) -> Generator[AnswerEvent, None, None]:
        """Answer a request (see `ChatSession.answer`). Abandoning the iterator cancels the answer.

        Raises:
            UsageError: impossible settings.
            ContextFullError: the prompt does not fit.
            EngineDiedError: the child process died; every event it had sent came first.
            LocalspecError: no pair is loaded, or a model failed.
        """
        with closing(self._replies(request)) as replies:
            for body in replies:
                if isinstance(body, PromptProgress | AnswerRound | AnswerEnd):
                    yield body

    def measure(self, request: MeasurePasses) -> Generator[PassTimes, None, None]:
        """Time passes of the loaded models; the one item is the last. Abandoning the iterator cancels.

        Raises:
            UsageError: a width no pass can have, or no repeats.
            EngineDiedError: the child process died.
            LocalspecError: no pair is loaded, or a model failed.
        """
        with closing(self._replies(request)) as replies:
            for body in replies:
                if isinstance(body, PassTimes):
                    yield body

    def measure_batch(self, request: MeasureBatch) -> Generator[BatchTimes, None, None]:
        """Time passes over several texts at once; the one item is the last. Abandoning the iterator cancels.

        Raises:
            UsageError: a number that is not possible.
            OutOfMemoryError: so many texts do not fit beside what is loaded.
            EngineDiedError: the child process died.
            LocalspecError: no pair is loaded, or a model failed.
        """
        with closing(self._replies(request)) as replies:
            for body in replies:
                if isinstance(body, BatchTimes):
                    yield body

    def calibrate(self, request: Calibrate) -> Generator[CalibrationProgress | Calibration, None, None]:
        """Measure what passes cost and keep it; the last item is the `Calibration`. Abandoning the iterator cancels.

        Raises:
            EngineDiedError: the child process died.
            LocalspecError: no pair is loaded, a model failed, it was cancelled, or the target cannot take guesses back.
        """
        with closing(self._replies(request)) as replies:
            for body in replies:
                if isinstance(body, CalibrationProgress | Calibration):
                    yield body

    def trace(self, request: TraceAnswer) -> Generator[AnswerTrace, None, None]:
        """Answer, and tell how each guess was judged; the one item is the last. Abandoning the iterator cancels.

        Raises:
            LocalspecError: as of `answer`.
        """
        with closing(self._replies(request)) as replies:
            for body in replies:
                if isinstance(body, AnswerTrace):
                    yield body

    def prune(
        self, request: BeginPruning | JudgeCut | KeepCut
    ) -> Generator[PruningProgress | PruningBegun | JudgedCut | KeptCut, None, None]:
        """Take a step of a search for a draft of the target's own layers; the last item is what came of it.

        A search begins with BeginPruning, whose texts hold until the next one or the next load. Abandoning the iterator
        cancels.

        Raises:
            OutOfMemoryError: a draft does not fit beside the target.
            EngineDiedError: the child process died.
            LocalspecError: no pair is loaded, a draft cannot be written, it was cancelled, or the target takes no
                guess back.
        """
        with closing(self._replies(request)) as replies:
            for body in replies:
                if isinstance(body, PruningProgress | PruningBegun | JudgedCut | KeptCut):
                    yield body

    def cancel(self) -> None:
        """Stop what is being loaded, answered or measured, within one pass; nothing when the engine is idle."""
        process = self._process
        if process is not None:
            for number in process.running:
                process.send(Cancel(number))

    def close(self) -> None:
        """End the child process and free the models; returns within seconds even when the child hangs."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def restart(self) -> None:
        """End the child process and start another one, with no pair loaded.

        Raises:
            LocalspecError: the system refused.
        """
        self.close()
        self.start()

    def _replies(self, body: CommandBody) -> Generator[ReplyBody, None, None]:
        process = self._process
        if process is None:
            raise EngineDiedError("The engine is not running", "", "Start it first.")
        number = next(self._numbers)
        over = False
        with process.inbox(number) as inbox:
            process.send(Command(number, body))
            try:
                while not over:
                    reply = inbox.get()
                    over = reply is None or isinstance(reply, LAST_REPLIES)
                    if reply is None:
                        raise process.death
                    if isinstance(reply, Failure):
                        raise _error(reply)
                    yield reply
            finally:
                # The consumer went away, or Ctrl-C interrupted the wait.
                if not over:
                    process.send(Cancel(number))


def _error(failure: Failure) -> LocalspecError:
    """The error that the child met, as it was."""
    kind = getattr(errors, failure.kind, LocalspecError)
    error: LocalspecError = kind(failure.title, failure.message, failure.hint)
    error.exit_code = failure.exit_code
    return error
