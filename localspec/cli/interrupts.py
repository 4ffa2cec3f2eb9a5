"""Ctrl-C while the engine works: the first one stops what it does, the second one leaves."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self


class Interrupts:
    """Inside its `with` block the first SIGINT calls `stop`, the next one raises KeyboardInterrupt.

    Attributes:
        seen: whether one came.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        """`stop` runs inside the signal handler, between two steps of whatever the program does."""
        self.seen = False
        self._stop = stop

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True
        self._stop()
