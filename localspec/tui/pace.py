"""How often to draw while tokens stream: seldom enough that drawing costs the engine nothing that can be felt.

A model on the CPU keeps every core busy, and its threads wait for each other after each layer: whenever this process
computes, all of them stand still. So the time between two frames follows from what a frame costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """Spaces frames so that drawing takes no more than a share of the time.

    Args:
        share: of one core's time that drawing may take.
        fastest: seconds between two frames when they cost nothing.
        slowest: seconds between two frames at most, whatever they cost.
        clock: seconds of processor time this thread has used.
    """

    def __init__(
        self,
        share: float,
        fastest: float = 1 / 15,
        slowest: float = 0.5,
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._share = share
        self._fastest = fastest
        self._slowest = slowest
        self._clock = clock
        self._before = clock()

    def begin(self) -> None:
        """Leave out what was computed until now: it was not for frames."""
        self._before = self._clock()

    def next_delay(self) -> float:
        """Seconds to wait, after what was computed since the last call."""
        now = self._clock()
        cost, self._before = now - self._before, now
        return min(max(cost / self._share, self._fastest), self._slowest)
