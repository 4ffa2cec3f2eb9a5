"""Work that takes a while and is not the engine's: done in a thread, looked at from the app's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from localspec.pairs.progress import PullProgress, Report

Result = TypeVar("Result")
Work = Callable[[Report, Callable[[], bool]], Result]
"""Takes where to report to, and whether to stop; raises DownloadStoppedError when it did stop."""


class Errand(Generic[Result]):
    """One piece of work, begun at once.

    Its thread is a daemon: a hub that does not answer keeps nobody from leaving the app.
    """

    def __init__(self, work: Work[Result]) -> None:
        """Begin."""
        self.progress: PullProgress | None = None
        """Where it stands, when it tells."""
        self._stop = threading.Event()
        self._done = threading.Event()
        self._result: Result | None = None
        self._error: BaseException | None = None
        threading.Thread(target=self._run, args=(work,), name="errand", daemon=True).start()

    @property
    def over(self) -> bool:
        """Whether it ended, well or not."""
        return self._done.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether the person wanted no more of it."""
        return self._stop.is_set()

    @property
    def result(self) -> Result:
        """What came of it.

        Raises:
            Exception: what kept it from coming.
        """
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value] # None only where the work returned it

    def cancel(self) -> None:
        """Ask it to stop."""
        self._stop.set()

    def _report(self, progress: PullProgress) -> None:
        self.progress = progress

    def _run(self, work: Work[Result]) -> None:
        try:
            self._result = work(self._report, self._stop.is_set)
        except BaseException as error:  # noqa: BLE001 (handed to the app's thread, which raises it)
            self._error = error
        finally:
            self._done.set()
