"""Which files of the hub's cache are there because localspec fetched them: only those may it delete."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from localspec import locations
from localspec.records import changing, write_whole


def remember_fetched(path: Path) -> None:
    """Note that localspec fetched the file at `path`."""
    _change(add=path)


def forget_fetched(path: Path) -> None:
    """It is gone."""
    _change(drop=path)


def was_fetched(path: Path) -> bool:
    """Whether localspec fetched the file at `path`, and no other tool."""
    return str(path) in _record()


def _change(add: Path | None = None, drop: Path | None = None) -> None:
    file = locations.fetched_files_file()
    with changing(file):
        kept = {known for known in _record() if Path(known).exists() and known != str(drop)}
        kept |= {str(add)} if add else set()
        write_whole(file, json.dumps(sorted(kept), indent=1).encode())


def _record() -> list[str]:
    """What was fetched so far. An unreadable record means that nothing may be deleted."""
    with suppress(OSError, ValueError):
        found = json.loads(locations.fetched_files_file().read_bytes())
        if isinstance(found, list):
            return [str(path) for path in found]
    return []
