"""How a pull comes along: one measure over both files, of which the bytes that were there already are told apart."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from localspec.pairs.sizes import gigabytes

_WINDOW = 10.0  # seconds that the speed is averaged over
_OFTEN = 0.1  # seconds between two reports


@dataclass(frozen=True, slots=True)
class PullProgress:
    """Where a pull stands.

    Attributes:
        what: what is going on: "downloading FILE", "checking FILE", "waiting ...".
        done: bytes of both files that are here.
        total: bytes of both files.
        resumed: bytes of `done` that an earlier pull had fetched.
        per_second: bytes a second over the last ten seconds; 0 when nothing moves.
        note: something to know for a moment, for instance that a connection was lost; mostly "".
    """

    what: str
    done: int
    total: int
    resumed: int = 0
    per_second: float = 0.0
    note: str = ""

    @property
    def seconds_left(self) -> float | None:
        """Until all is here at this speed; None while that cannot be told."""
        return (self.total - self.done) / self.per_second if self.per_second else None

    @property
    def words(self) -> str:
        """All of it in one line without colours or controls, what may be cut off at the edge of a terminal last."""
        if not self.total:
            return " - ".join(part for part in (self.what, self.note) if part)
        parts = [f"{gigabytes(self.done)} of {gigabytes(self.total)} ({self.done / self.total:.0%})"]
        if self.note:
            parts.append(self.note)
        elif self.seconds_left is not None:
            parts += [f"{self.per_second / 1e6:.1f} MB/s", f"{_duration(self.seconds_left)} left"]
        if self.resumed:
            parts.append(f"{gigabytes(self.resumed)} from before")
        return f"{', '.join(parts)}: {self.what}"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


Report = Callable[[PullProgress], None]


def never() -> bool:
    """The `cancelled` of a pull that only Ctrl-C stops."""
    return False


class Meter:
    """Counts the bytes of a pull and reports them, ten times a second at most."""

    def __init__(self, report: Report, cancelled: Callable[[], bool] = never) -> None:
        """Start at nothing; `total` is set once it is known."""
        self._report = report
        self.cancelled = cancelled
        self.total = 0
        self.done = 0
        self.resumed = 0
        self._what = ""
        self._note = ""
        self._moments: deque[tuple[float, int]] = deque()
        self.fetched_bytes = 0
        self._last = 0.0

    def begin(self, what: str) -> None:
        """Something else is going on now."""
        self._what, self._note = what, ""
        self._moments.clear()
        self._tell()

    def note(self, text: str) -> None:
        """Say something about it."""
        self._note = text
        self._tell()

    def fetched(self, count: int) -> None:
        """So many bytes came over the network."""
        self.done += count
        self.fetched_bytes += count
        self._note = ""
        now = time.monotonic()
        if now - self._last >= _OFTEN:
            self._moments.append((now, self.fetched_bytes))
            while now - self._moments[0][0] > _WINDOW:
                self._moments.popleft()
            self._tell()

    def found(self, count: int) -> None:
        """So many bytes were on this machine already."""
        self.done += count
        self._tell()

    def resume(self, count: int) -> None:
        """So many bytes are there from an earlier pull."""
        self.done += count
        self.resumed += count
        self._tell()

    def lost(self, count: int) -> None:
        """So many bytes turned out to be of no use."""
        self.done -= count
        self.resumed = max(0, self.resumed - count)
        self._tell()

    def _speed(self) -> float:
        if len(self._moments) < 2:
            return 0.0
        (begin, before), (end, after) = self._moments[0], self._moments[-1]
        return (after - before) / (end - begin) if end > begin else 0.0

    def _tell(self) -> None:
        self._last = time.monotonic()
        self._report(PullProgress(self._what, self.done, self.total, self.resumed, self._speed(), self._note))
