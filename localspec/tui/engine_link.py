"""The engine as the app sees it: jobs that run one after the other in a thread, and are looked at from the app's.

Nothing here waits in the app's thread, and no event is handed over one by one: the app takes what has come whenever it
draws. So the engine never waits for a screen, and a slow screen loses no text.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from localspec.chat.events import AnswerEvent, AnswerRequest
from localspec.engine.messages import Loaded, LoadPair, LoadProgress, MeasurePasses, PassTimes
from localspec.errors import LocalspecError

Event = TypeVar("Event")


class Engine(Protocol):
    """What of `EngineClient` the app uses."""

    @property
    def alive(self) -> bool:
        """Whether it can answer."""

    @property
    def pid(self) -> int | None:
        """The process that holds the models, or None."""

    def start(self) -> None:
        """Start it, unless it is alive."""

    def load(self, pair: LoadPair) -> Generator[LoadProgress | Loaded, None, None]:
        """Load a pair."""

    def answer(self, request: AnswerRequest) -> Generator[AnswerEvent, None, None]:
        """Answer."""

    def measure(self, request: MeasurePasses) -> Generator[PassTimes, None, None]:
        """Time passes of the models."""

    def cancel(self) -> None:
        """Stop what is going on."""

    def close(self) -> None:
        """End it."""


class Job(Generic[Event]):
    """One load, answer or measurement, from when it was asked for."""

    def __init__(self, work: Callable[[], Generator[Event, None, None]], stop: Callable[[], None]) -> None:
        """Begin with nothing done.

        Args:
            work: does it, in the link's thread.
            stop: tells the engine to stop what it is doing.
        """
        self.error: LocalspecError | None = None
        """Why it failed; what came before is still to be taken."""
        self._work = work
        self._stop = stop
        self._running = False
        self._events: deque[Event] = deque()
        self._done = threading.Event()
        self._cancelled = False

    @property
    def over(self) -> bool:
        """Whether nothing will come any more, and all that came was taken."""
        return self._done.is_set() and not self._events

    @property
    def cancelled(self) -> bool:
        """Whether the person wanted no more of it."""
        return self._cancelled

    def take(self) -> list[Event]:
        """What has come since the last call."""
        return [self._events.popleft() for _ in range(len(self._events))]

    def cancel(self) -> None:
        """Stop it, within one pass; one that waits is not begun, and one that is over stays as it is."""
        self._cancelled = True
        if self._running:
            self._stop()

    def run(self) -> None:
        """Do it; called in the link's thread."""
        told = False
        try:
            self._running = True
            if not self._cancelled:
                with closing(self._work()) as events:
                    for event in events:
                        self._events.append(event)
                        if self._cancelled and not told:
                            # It may have been cancelled before the engine knew of it.
                            told = True
                            self._stop()
        except LocalspecError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - a thread that ended would let every later job wait for ever
            self.error = LocalspecError("This failed", f"An error of localspec itself: {error!r}.", "F10 begins anew.")
        finally:
            self._running = False
            self._done.set()


class EngineLink:
    """Runs jobs in the order they were asked for, starting the engine when it is not alive."""

    def __init__(self, engine: Engine) -> None:
        """Start the thread; the engine itself is started by the first job."""
        self._engine = engine
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="engine link", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The process that holds the models, or None."""
        return self._engine.pid

    @property
    def alive(self) -> bool:
        """Whether the engine can answer."""
        return self._engine.alive

    def load(self, pair: LoadPair) -> Job[LoadProgress | Loaded]:
        """Load a pair, starting the engine first when it is not alive; see `EngineClient.load`."""

        def work() -> Generator[LoadProgress | Loaded, None, None]:
            self._engine.start()
            return self._engine.load(pair)

        return self._put(Job(work, self._engine.cancel))

    def load_anew(self, pair: LoadPair) -> Job[LoadProgress | Loaded]:
        """End the engine, whatever it does or hangs in, and load a pair in a new process."""
        ending = threading.Thread(target=self._engine.close, name="engine end", daemon=True)
        ending.start()

        def work() -> Generator[LoadProgress | Loaded, None, None]:
            ending.join()
            self._engine.start()
            return self._engine.load(pair)

        return self._put(Job(work, self._engine.cancel))

    def answer(self, request: AnswerRequest) -> Job[AnswerEvent]:
        """Answer a request; see `EngineClient.answer`."""
        return self._put(Job(lambda: self._engine.answer(request), self._engine.cancel))

    def measure(self, request: MeasurePasses) -> Job[PassTimes]:
        """Time passes of the loaded models; see `EngineClient.measure`."""
        return self._put(Job(lambda: self._engine.measure(request), self._engine.cancel))

    def close(self) -> None:
        """End the engine and the thread; returns within seconds."""
        self._jobs.put(None)
        self._engine.close()
        self._thread.join(5)

    def _put(self, job: Job[Event]) -> Job[Event]:
        self._jobs.put(job)
        return job

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
