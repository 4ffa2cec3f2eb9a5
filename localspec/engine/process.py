"""The child process and its two pipes, seen from the program: start, send, receive, end."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import IO, cast

from localspec import locations
from localspec.engine.diagnosis import explain_death
from localspec.engine.messages import Message, Reply, ReplyBody, Shutdown
from localspec.errors import EngineDiedError, LocalspecError

START_MARK = b"localspec engine\n"
"""The child writes this line before its first reply: whatever a start-up file of Python printed stands before it."""

_TUNABLES = "GLIBC_TUNABLES"

_PATIENCE_SECONDS = 2.0
_LOGS_KEPT = 10
_LOG_PART_BYTES = 65536

# Ctrl-C in a terminal reaches the whole process group; the child must ignore it before the imports, which take a while.
_BOOTSTRAP = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from localspec.engine.worker import main; main()"
)

_starts = itertools.count(1)

Inbox = SimpleQueue[ReplyBody | None]
"""The replies to one command; None when there will be no more, since the process is over."""


class EngineProcess:
    """One child process, from its start to its end.

    It is started like any program, with `multiprocessing` left aside: that would run the caller's main module again in
    the child, and would not start from a script without a main guard at all.

    Attributes:
        log_file: what the child and llama.cpp write.
    """

    def __init__(self) -> None:
        """Start it.

        Raises:
            LocalspecError: the system refused.
        """
        self.log_file = _new_log_file()
        self._inboxes: dict[int, Inbox] = {}
        self._outbox: SimpleQueue[Message | None] = SimpleQueue()
        self._over = threading.Event()
        self._closing = False
        self._death: EngineDiedError | None = None
        self._process = _start(self.log_file)
        self._commands = cast("IO[bytes]", self._process.stdin)
        self._events = cast("IO[bytes]", self._process.stdout)
        self._threads = [
            threading.Thread(target=work, name=f"engine {what}", daemon=True)
            for what, work in (("writer", self._write), ("reader", self._read))
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can still answer."""
        return not self._over.is_set()

    @property
    def death(self) -> EngineDiedError:
        """Why it is over, as an error to raise."""
        if self._death is None:
            return EngineDiedError("The engine was stopped", "", "Start it again.")
        return EngineDiedError(self._death.title, self._death.message, self._death.hint)

    def send(self, message: Message) -> None:
        """Queue a message. Never blocks and takes no lock, so that a signal handler may call it."""
        self._outbox.put(message)

    @contextlib.contextmanager
    def inbox(self, number: int) -> Iterator[Inbox]:
        """Where the replies to command `number` arrive."""
        inbox = self._inboxes[number] = SimpleQueue()
        if self._over.is_set():
            inbox.put(None)
        try:
            yield inbox
        finally:
            self._inboxes.pop(number, None)

    @property
    def running(self) -> tuple[int, ...]:
        """Numbers of the commands that wait for replies."""
        return tuple(self._inboxes)

    def close(self) -> None:
        """End it: ask, then insist, then kill; returns within a few seconds. A second call does nothing."""
        atexit.unregister(self.close)
        self._closing = True
        self._outbox.put(Shutdown())
        self._outbox.put(None)
        try:
            if not self._over.wait(_PATIENCE_SECONDS):
                self._process.terminate()
                self._over.wait(_PATIENCE_SECONDS)
        finally:
            # Who presses Ctrl-C once more, out of patience, must not leave a child behind that hangs.
            if not self._over.is_set():
                self._process.kill()
        for thread in self._threads:
            thread.join(_PATIENCE_SECONDS)

    def _write(self) -> None:
        """Send what is queued, until None or the child is gone."""
        with contextlib.suppress(OSError), self._commands:
            while (message := self._outbox.get()) is not None:
                pickle.dump(message, self._commands)
                self._commands.flush()

    def _read(self) -> None:
        """Sort replies into the inboxes until the child is gone; then say so in each of them."""
        try:
            with self._events:
                for reply in _replies(self._events):
                    inbox = self._inboxes.get(reply.number)
                    # Replies to a command that nobody waits for any more are dropped.
                    if inbox is not None:
                        inbox.put(reply.body)
        finally:
            self._death = self._reap()
            self._over.set()
            for inbox in tuple(self._inboxes.values()):
                inbox.put(None)
            self._outbox.put(None)

    def _reap(self) -> EngineDiedError | None:
        """Wait for the end of a child that has closed its pipe; say why, unless it was asked to end."""
        try:
            code = self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if self._closing:
            return None
        return explain_death(code, _beginning_and_end_of(self.log_file), self.log_file)


def _start(log_file: Path) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        # The same modules as here, whatever the current folder holds (-P).
        "PYTHONPATH": os.pathsep.join(sys.path),
        # llama.cpp would start a debugger on itself to print a backtrace.
        "GGML_NO_BACKTRACE": "1",
        **huge_pages(os.environ.get(_TUNABLES, "")),
    }
    try:
        with log_file.open("wb") as log, _interrupts_held_back():
            return subprocess.Popen(  # noqa: S603 - our own interpreter and our own code
                [sys.executable, "-P", "-c", _BOOTSTRAP, str(log_file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
            )
    except OSError as error:
        raise LocalspecError("The engine could not be started", f"The system says: {error}.") from error


def huge_pages(tunables: str) -> dict[str, str]:
    """Ask the C library to ask Linux for large pages, as most distributions give them to those who ask.

    A pass reads all weights once: with pages of 4 KiB the processor looks up a new address every few cache lines. On
    two cores of an EPYC a Q8_0 model of 1.6 GB took 64 ms a token instead of 80, and 125 instead of 151 for four.
    Other C libraries ignore the variable.
    """
    if sys.platform != "linux" or "glibc.malloc.hugetlb" in tunables:
        return {}
    return {_TUNABLES: ":".join(filter(None, (tunables, "glibc.malloc.hugetlb=1")))}


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Let a child inherit a blocked SIGINT: a Ctrl-C in its first moments waits until it ignores them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _replies(pipe: IO[bytes]) -> Iterator[Reply]:
    """The replies in the order they were sent, up to one that the child's death cut short."""
    while (line := pipe.readline()) != START_MARK:
        if not line:
            return
    try:
        while True:
            yield pickle.load(pipe)  # noqa: S301 - written by our own child
    except (EOFError, pickle.UnpicklingError):
        return


def _new_log_file() -> Path:
    """A log of its own for each start; the oldest ones are removed."""
    folder = locations.log_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for log in sorted(folder.glob("engine-*.log"), key=_age)[_LOGS_KEPT - 1 :]:
            log.unlink(missing_ok=True)
    except OSError as error:
        raise LocalspecError(
            "The engine's log cannot be written",
            f"The system says: {error}.",
            "Set LOCALSPEC_DATA_DIR to a folder of yours.",
        ) from error
    return folder / f"engine-{os.getpid()}-{next(_starts)}.log"


def _age(log_file: Path) -> float:
    """Seconds since it was last written; one that another engine has just removed is the oldest."""
    try:
        return time.time() - log_file.stat().st_mtime
    except FileNotFoundError:
        return math.inf


def _beginning_and_end_of(log_file: Path) -> str:
    """What matters of a log: how llama.cpp was built stands at its beginning, why it died at its end."""
    try:
        with log_file.open("rb") as log:
            beginning = log.read(_LOG_PART_BYTES)
            log.seek(max(_LOG_PART_BYTES, log.seek(0, os.SEEK_END) - _LOG_PART_BYTES))
            return (beginning + log.read()).decode("utf-8", "replace")
    except OSError:
        # A person may have removed it.
        return ""
