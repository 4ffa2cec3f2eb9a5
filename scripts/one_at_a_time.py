"""A lock between processes: what two runs of a script must not do at once."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def one_at_a_time(path: Path, waiting: Callable[[], None]) -> Iterator[IO[bytes]]:
    """Holds the lock file `path`, made with its folder; when another process has it, calls `waiting` once and waits.

    The operating system lets go of it when the process ends, however it ends. A child that inherits the yielded file
    keeps the lock until it too has ended, so an orphan of a killed run is waited for.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file
