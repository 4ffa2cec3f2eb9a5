"""Which files of the hub's cache are there because localspec fetched them: only those may it delete."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localspec import locations
from localspec.pairs.noting import noting
from localspec.records import changing, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def fetching(path: Path) -> Iterator[None]:
    """Note that localspec fetched the file that the block puts at `path`.

    It is noted first: of a file that is here and was not, nobody could say later whose it is.

    Raises:
        LocalspecError: it cannot be noted; then the block is not run.
    """
    # Whoever changes the record leaves out what is not there: nobody may before the block is done.
    with ExitStack() as lock:
        with noting("That it was fetched cannot be noted; it is kept for the next pull"):
            lock.enter_context(changing(locations.fetched_files_file()))
            _write(path)
        yield


def write_anew() -> None:
    """Write the record without the files that are gone: before a download it shows that what comes can be noted.

    Raises:
        LocalspecError: it cannot.
    """
    with noting("What localspec fetches cannot be noted"), changing(locations.fetched_files_file()):
        _write()


def forget_gone() -> None:
    """Note that files are gone, if any are: another program may fetch them again, and then they are its own.

    Raises:
        LocalspecError: it cannot be noted.
    """
    if not all(Path(known).exists() for known in _record()):
        write_anew()


def was_fetched(path: Path) -> bool:
    """Whether localspec fetched the file at `path`, and no other tool."""
    return str(path) in _record()


def _write(*more: Path) -> None:
    kept = {known for known in _record() if Path(known).exists()} | {str(path) for path in more}
    write_whole(locations.fetched_files_file(), json.dumps(sorted(kept), indent=1).encode())


def _record() -> list[str]:
    """What was fetched so far. An unreadable record means that nothing may be deleted."""
    with suppress(OSError, ValueError):
        found = json.loads(locations.fetched_files_file().read_bytes())
        if isinstance(found, list):
            return [str(path) for path in found]
    return []
