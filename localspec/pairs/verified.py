"""Hashes model files once: a file of the same size and time as when it was hashed is taken to be the same."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localspec import locations
from localspec.errors import DownloadStoppedError
from localspec.pairs.names import is_sha256
from localspec.pairs.progress import never
from localspec.records import changing, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 4 << 20


def digest_of(path: Path, like: str, cancelled: Callable[[], bool] = never) -> str:
    """The hash of a file: sha256, or git's own when `like` has its 40 digits.

    Raises:
        OSError: it cannot be read.
        DownloadStoppedError: `cancelled` said so.
    """
    digest = new_digest(like, path.stat().st_size)
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            if cancelled():
                raise DownloadStoppedError("Stopped while checking a file")
    return str(digest.hexdigest())


def new_digest(like: str, size: int) -> Any:
    """The hash of the kind of `like`: sha256, or git's own, which begins with the size of the file."""
    return hashlib.sha256() if is_sha256(like) else hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)


def sha256_of(path: Path, cancelled: Callable[[], bool] = never) -> str:
    """The sha256 of a file; it is read only when it was not hashed before, or was changed since.

    Raises:
        OSError: it cannot be read.
        DownloadStoppedError: `cancelled` said so.
    """
    known = _record().get(_key(path))
    if known is not None and known[:2] == _state(path) and is_sha256(known[2]):
        return str(known[2])
    found = digest_of(path, "0" * 64, cancelled)
    remember_verified(path, found)
    return found


def is_verified(path: Path, digest: str) -> bool:
    """Whether the file was found to have this hash, and was not changed since."""
    return _record().get(_key(path)) == [*_state(path), digest]


def remember_verified(path: Path, digest: str) -> None:
    """Note that the file has this hash now; where that cannot be written, it is only hashed again another time."""
    with suppress(OSError), changing(locations.verified_files_file()):
        kept = {known: entry for known, entry in _record().items() if Path(known).exists()}
        kept[_key(path)] = [*_state(path), digest]
        write_whole(locations.verified_files_file(), json.dumps(kept, indent=1).encode())


def verified_copies(digest: str) -> list[Path]:
    """All files that were found to have this hash and were not changed since."""
    paths = [Path(known) for known, entry in _record().items() if entry[-1] == digest]
    return [path for path in paths if path.is_file() and is_verified(path, digest)]


def _key(path: Path) -> str:
    # A link and what it links to are one file.
    return str(path.resolve())


def _state(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _record() -> dict[str, list[Any]]:
    """What was hashed so far; an unreadable record only means to hash again."""
    with suppress(OSError, ValueError):
        found = json.loads(locations.verified_files_file().read_bytes())
        if isinstance(found, dict) and all(isinstance(entry, list) and len(entry) == 3 for entry in found.values()):
            return found
    return {}
