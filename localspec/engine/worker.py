"""The child process: it owns the models, carries out commands one by one, and dies with the program."""

from __future__ import annotations

import faulthandler
import logging
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import IO

from localspec.chat.events import AnswerRequest
from localspec.engine.calibrations import Calibrate, CalibrationProgress
from localspec.engine.diagnosis import AMX_IN_USE
from localspec.engine.messages import (
    Cancel,
    Command,
    Failure,
    LoadPair,
    MeasureBatch,
    MeasurePasses,
    Message,
    Reply,
    ReplyBody,
    Shutdown,
    TraceAnswer,
)
from localspec.engine.pair import LoadedPair
from localspec.engine.process import START_MARK
from localspec.engine.pruning import Pruning
from localspec.engine.prunings import BeginPruning, JudgeCut, KeepCut, PruningProgress
from localspec.errors import LocalspecError, OutOfMemoryError, UsageError
from localspec.llama import devices, library

logger = logging.getLogger(__name__)

_LONGEST_FAREWELL_SECONDS = 10.0


def main() -> None:
    """Serve until told to shut down, or until the program is gone. Its one argument is the path of the log."""
    log_file = Path(sys.argv[1])
    commands, replies = _take_over_streams()
    faulthandler.enable()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    inbox = CommandInbox(commands)
    engine = Engine(log_file, inbox, replies)
    try:
        library.initialise()
        logger.info("llama.cpp %s", library.system_info())
        if devices.uses_amx():
            logger.info(AMX_IN_USE)
        replies.write(START_MARK)
        replies.flush()
        engine.serve()
    except BrokenPipeError:
        # The program is gone; there is nobody to tell.
        os._exit(0)
    finally:
        engine.close()


def _take_over_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Keep the two pipes for ourselves; whatever else is printed goes to the log, which is stderr."""
    commands = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return commands, replies


class CommandInbox:
    """Reads the program's messages in a thread of its own, so that a cancel is seen while a model is busy.

    When the program is gone the process ends at once, whatever it is doing.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._commands: SimpleQueue[Command | None] = SimpleQueue()
        self._cancelled: set[int] = set()
        self._stopping = False
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    def __iter__(self) -> Iterator[Command]:
        """The commands in the order they came, until the shutdown."""
        while (command := self._commands.get()) is not None:
            yield command

    def cancelled(self, number: int) -> bool:
        """Whether command `number` is to stop."""
        return self._stopping or number in self._cancelled

    def _read(self) -> None:
        while True:
            try:
                message: Message = pickle.load(self._pipe)  # noqa: S301 - written by the program that started us
            except (EOFError, pickle.UnpicklingError, OSError):
                os._exit(0)
            if isinstance(message, Command):
                self._commands.put(message)
            elif isinstance(message, Cancel):
                self._cancelled.add(message.number)
            elif isinstance(message, Shutdown):
                self._stopping = True
                self._commands.put(None)
                # The main thread frees the models and ends the process; should it hang, nobody may be left to kill it.
                time.sleep(_LONGEST_FAREWELL_SECONDS)
                os._exit(1)


class Engine:
    """Carries out commands and replies to them."""

    def __init__(self, log_file: Path, inbox: CommandInbox, replies: IO[bytes]) -> None:
        """Begin with no models.

        Args:
            log_file: named to the person when something unforeseen happens.
            inbox: where commands come from.
            replies: the pipe back.
        """
        self._log_file = log_file
        self._inbox = inbox
        self._replies = replies
        self._pair: LoadedPair | None = None
        self._pruning: Pruning | None = None

    def serve(self) -> None:
        """Carry out commands until the shutdown."""
        for command in self._inbox:
            try:
                self._carry_out(command)
            except LocalspecError as error:
                self._fail(command, error)
            except BrokenPipeError:
                raise
            except MemoryError:
                self._fail(command, OutOfMemoryError("Not enough memory", "", "Ask for a shorter context."))
            except Exception as error:
                logger.exception("Command %d failed", command.number)
                self._fail(command, self._unforeseen(error))
            finally:
                # What cancelled this command must not cut short the passes of the next.
                if self._pair is not None:
                    self._pair.cancel_passes_when(None)

    def close(self) -> None:
        """Free the models."""
        pair, self._pair, self._pruning = self._pair, None, None
        if pair is not None:
            pair.close()

    def _carry_out(self, command: Command) -> None:
        number, body = command.number, command.body

        def reply(answer: ReplyBody) -> None:
            self._send(Reply(number, answer))

        def cancelled() -> bool:
            return self._inbox.cancelled(number)

        if isinstance(body, LoadPair):
            self.close()
            self._pair = LoadedPair(body, reply, cancelled)
            reply(self._pair.loaded)
        elif isinstance(body, MeasurePasses):
            reply(self._ready_pair().measured(body, cancelled))
        elif isinstance(body, MeasureBatch):
            reply(self._ready_pair().measured_together(body, cancelled))
        elif isinstance(body, Calibrate):
            reply(
                self._ready_pair().calibrated(
                    body, cancelled, lambda what, part: reply(CalibrationProgress(what, part))
                )
            )
        elif isinstance(body, TraceAnswer):
            reply(self._pair_for(body.request, cancelled).traced(body, cancelled))
        elif isinstance(body, BeginPruning | JudgeCut | KeepCut):
            self._prune(body, reply, cancelled)
        else:
            self._answer(body, reply, cancelled)

    def _prune(
        self,
        request: BeginPruning | JudgeCut | KeepCut,
        reply: Callable[[ReplyBody], None],
        cancelled: Callable[[], bool],
    ) -> None:
        def tell(what: str, part: float) -> None:
            reply(PruningProgress(what, part))

        if isinstance(request, BeginPruning):
            self._pruning = Pruning(self._ready_pair(), request)
            reply(self._pruning.begin(cancelled, tell))
        elif self._pruning is None:
            raise LocalspecError("No search for layers has begun", "", "Begin one first.")
        elif isinstance(request, JudgeCut):
            reply(self._pruning.judge(request, cancelled, tell))
        else:
            reply(self._pruning.keep(request, tell))

    def _answer(
        self, request: AnswerRequest, reply: Callable[[ReplyBody], None], cancelled: Callable[[], bool]
    ) -> None:
        for event in self._pair_for(request, cancelled).answered(request, cancelled):
            reply(event)

    def _pair_for(self, request: AnswerRequest, cancelled: Callable[[], bool]) -> LoadedPair:
        pair = self._ready_pair()
        _require_known_tokens(request, pair.loaded.target.vocabulary_size)
        pair.cancel_passes_when(cancelled)
        return pair

    def _ready_pair(self) -> LoadedPair:
        if self._pair is None:
            raise LocalspecError("No model is loaded", "", "Load a pair first.")
        return self._pair

    def _send(self, reply: Reply) -> None:
        pickle.dump(reply, self._replies)
        self._replies.flush()

    def _fail(self, command: Command, error: LocalspecError) -> None:
        failure = Failure(type(error).__name__, error.title, error.message, error.hint, error.exit_code)
        self._send(Reply(command.number, failure))

    def _unforeseen(self, error: Exception) -> LocalspecError:
        return LocalspecError(
            "The engine met an error that nobody foresaw",
            f"{type(error).__name__}: {error}",
            f"Please report it; the details are in {self._log_file}.",
        )


def _require_known_tokens(request: AnswerRequest, vocabulary_size: int) -> None:
    """Refuse a bias that would fall on no token: it would be ignored without a word."""
    unknown = next((token for token, _ in request.sampling.logit_bias if token >= vocabulary_size), None)
    if unknown is not None:
        raise UsageError(
            f"There is no token {unknown} to give a logit bias to",
            f"The target's tokens are 0 to {vocabulary_size - 1}.",
            "Take token ids of this model's own vocabulary.",
        )
