"""Main memory that the engine and the app take, looked at seldom: each look reads files of the system."""

from __future__ import annotations

import psutil  # type: ignore[import-untyped] # its stubs are a package of their own

from localspec.tui.explanations import MemoryUse

_SECONDS_BETWEEN = 2.0


class MemoryWatch:
    """Looks at most every two seconds."""

    def __init__(self) -> None:
        self._looked: float | None = None
        self._use: MemoryUse | None = None
        self._app = psutil.Process()

    def look(self, engine_pid: int | None, now: float) -> MemoryUse | None:
        """What is in use; what the last look found when that was not long ago. None when the system does not tell.

        Args:
            engine_pid: the process that holds the models, or None.
            now: seconds of a steady clock.
        """
        if self._looked is None or now - self._looked >= _SECONDS_BETWEEN:
            self._looked = now
            self._use = self._measured(engine_pid)
        return self._use

    def _measured(self, engine_pid: int | None) -> MemoryUse | None:
        try:
            used = self._app.memory_info().rss
            if engine_pid is not None:
                used += psutil.Process(engine_pid).memory_info().rss
            return MemoryUse(used, psutil.virtual_memory().total)
        except psutil.Error:
            # The engine has just ended.
            return None
