"""Whose processor time it was: only the arm at work may compute, for the memory is what all of them wait for."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped] # its stubs are a package of their own

_LOOK_SECONDS = 0.05
_QUIET_SECONDS = 0.011
"""A little more than one tick of the clock that counts processor time."""
_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Shares:
    """Processor time between two looks, as shares of what the machine has.

    Attributes:
        idle: of our processes that had nothing to do.
        elsewhere: of all that is not ours.
    """

    idle: float
    elsewhere: float


class Clock:
    """Counts the processor time of our processes and of the machine.

    Args:
        pids: of the processes that compute, each at its time.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        self._processes = {pid: psutil.Process(pid) for pid in pids}

    def wait_until_idle(self) -> None:
        """Wait until none of them computes; threads that wait for work spin for a while before they sleep."""
        deadline = time.monotonic() + _PATIENCE
        before = self._seconds()
        while time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
            now = self._seconds()
            if sum(now.values()) - sum(before.values()) < _QUIET_SECONDS:
                return
            before = now

    def start(self) -> None:
        """Begin to count."""
        self._before = (time.monotonic(), _busy(), self._seconds())

    def stop(self, working: int) -> Shares:
        """The shares since `start`, while process `working` had work to do."""
        began, busy, seconds = self._before
        capacity = max(time.monotonic() - began, 1e-9) * (psutil.cpu_count() or 1)
        spent = {pid: now - seconds[pid] for pid, now in self._seconds().items()}
        idle = sum(each for pid, each in spent.items() if pid != working)
        elsewhere = max(_busy() - busy - sum(spent.values()), 0.0)
        return Shares(idle / capacity, elsewhere / capacity)

    def _seconds(self) -> dict[int, float]:
        found = {}
        for pid, process in self._processes.items():
            try:
                times = process.cpu_times()
                found[pid] = float(times.user + times.system)
            except psutil.NoSuchProcess:  # who asks it next says so in words
                found[pid] = 0.0
        return found


def _busy() -> float:
    """Seconds that the machine's processors have worked."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))
