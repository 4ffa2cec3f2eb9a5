"""Brings one file from the hub into its cache: goes on where an earlier try stopped, and accepts only the right bytes.

Plain ranged requests instead of the hub client's own download, because that one starts at nothing after every stop and
checks no hash. Storage of the newer kind (Xet) answers ranged requests too; its own protocol writes a file in no order,
so that nothing could be kept of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

from huggingface_hub.utils import hf_raise_for_status, httpx

from localspec.errors import DownloadError, DownloadStoppedError
from localspec.pairs.fetched import fetching
from localspec.pairs.hub import HubFile, open_range
from localspec.pairs.hub_cache import Place
from localspec.pairs.hub_words import HUB_ERRORS, Asked, disk_error, in_short, in_words
from localspec.pairs.patience import Patience, sleep
from localspec.pairs.sizes import gigabytes
from localspec.pairs.verified import digest_of, is_verified, new_digest, remember_verified

if TYPE_CHECKING:
    from io import RawIOBase
    from pathlib import Path
    from types import TracebackType

    from localspec.pairs.progress import Meter

_CHUNK = 1 << 20
_ENOUGH = 64 << 10  # bytes that make a try count as one that brought something
_RANGE = re.compile(r"bytes (?P<first>\d+)-\d+/(\d+|\*)")


def download(file: HubFile, meter: Meter, patience: Patience | None = None) -> Path:
    """Fetch `file` into the hub's cache, unless it is there; returns the path by which every tool finds it.

    Only one process fetches a file at a time; another one waits and then finds it there. What came before a failure or
    a stop is kept, and the next call goes on from there.

    Raises:
        DownloadError: the hub refuses, sends something else than it promised, or the disk cannot be written.
        HubUnreachableError: it does not answer any more.
        DownloadStoppedError: `meter.cancelled` said so.
        LocalspecError: that it was fetched cannot be noted.
    """
    place = place_of(file)
    try:
        with place.locked(lambda: meter.note("another download of this file is running"), meter.cancelled):
            try:
                if not _is_there(place, file, meter):
                    _fetch(place, file, meter, patience or Patience())
                path = place.link()
                remember_verified(path, file.blob_name)
                place.remember_branch(file.revision)
            finally:
                # Still locked: the next process may be about to begin.
                place.tidy()
            return path
    except OSError as error:
        raise disk_error(error, _kept(place.partial)) from error


def place_of(file: HubFile) -> Place:
    """Where a file of the hub lies in the cache."""
    return Place(file.repo, file.commit, file.file, file.blob_name)


def kept_bytes(file: HubFile) -> int:
    """Bytes of `file` that an earlier download left; all of them when it is complete."""
    place = place_of(file)
    path = place.held or place.partial
    return min(path.stat().st_size, file.size) if path.is_file() else 0


def _is_there(place: Place, file: HubFile, meter: Meter) -> bool:
    """Whether the cache has the bytes, and they are what they should be."""
    path = place.held
    if path is None or path.stat().st_size != file.size:
        return False
    if not is_verified(path, file.blob_name):
        meter.begin(f"checking {file.file}")
        if digest_of(path, file.blob_name, meter.cancelled) != file.blob_name:
            return False
    meter.found(file.size)
    return True


def _fetch(place: Place, file: HubFile, meter: Meter, patience: Patience) -> None:
    """Complete the partial file, check it, and make it the blob."""
    with _Partial(place.partial, file, meter) as partial:
        resumed = partial.done > 0
        _fill(partial, file, meter, patience)
        if resumed and not partial.is_right():
            meter.note("what an earlier pull had fetched was damaged: fetching all of it")
            partial.restart()
            _fill(partial, file, meter, patience)
        right = partial.is_right()
    if not right:
        place.partial.unlink()
        raise DownloadError(
            f"{file.file} arrived with other contents than the hub promises",
            f"Its hash is not {file.blob_name[:12]}…, so it was damaged on the way or on the hub's side.",
            "It was deleted. Pull again; if that does not help, use another network or HF_ENDPOINT.",
        )
    # What cannot be noted stays a beginning, all of it: the next pull takes it up, and notes it.
    with fetching(place.snapshot):
        place.complete()
        place.link()


def _fill(partial: _Partial, file: HubFile, meter: Meter, patience: Patience) -> None:
    """Append to the partial until it has all its bytes, in as many tries as patience allows."""
    failed = 0
    meter.begin(f"downloading {file.file}")
    while partial.done < file.size:
        before = partial.done
        try:
            _stream(partial, file, meter)
        except HUB_ERRORS as error:
            failed = 1 if partial.done - before >= _ENOUGH else failed + 1
            pause = patience.pause_after(error, failed)
            if pause is None:
                raise in_words(error, Asked(file.repo, file.revision, file.file)) from error
            meter.note(f"{in_short(error)}, trying again in {pause:.0f} s ({failed} of {patience.attempts})")
            sleep(pause, meter.cancelled)


def _stream(partial: _Partial, file: HubFile, meter: Meter) -> None:
    """One request for the bytes that are missing, from the address that names the commit: never one that expires."""
    with open_range(file.url, partial.done) as response:
        if response.status_code != 416:
            hf_raise_for_status(response)
        _check_range(response, file, partial.done)
        if response.status_code == 200 and partial.done:
            partial.restart()
        for chunk in response.iter_bytes():
            partial.append(chunk)
            if meter.cancelled():
                raise DownloadStoppedError("Stopped during the download")
    if partial.done < file.size:
        # An answer that does not tell its length may end anywhere without being wrong to the client.
        raise httpx.RemoteProtocolError(f"the answer ended after {partial.done} of {file.size} bytes")


def _check_range(response: Any, file: HubFile, begin: int) -> None:
    """The answer must hold the bytes from `begin` on, or all, of a file of the promised length."""
    told = response.headers.get("Content-Range") or ""
    found = _RANGE.fullmatch(told)
    # Of 416 the whole header is "bytes */TOTAL".
    total = response.headers.get("Content-Length", "") if response.status_code == 200 else told.rpartition("/")[2]
    if total.isdigit() and int(total) != file.size:
        raise DownloadError(
            f"The hub sends {file.file} with another length than it promises",
            f"It should have {file.size:,} bytes, and its storage has {int(total):,}.",
            "Pull again later, or use another endpoint (HF_ENDPOINT).",
        )
    right = response.status_code == 200 or (response.status_code == 206 and found and int(found["first"]) == begin)
    if not right:
        raise httpx.RemoteProtocolError(f"{response.status_code} with the range {told!r} is no answer to {begin}-")


class _Partial:
    """The file that a download grows in, and the hash of what it holds. Use it in a `with` block."""

    def __init__(self, path: Path, file: HubFile, meter: Meter) -> None:
        """Open it and hash what an earlier download left in it.

        Raises:
            OSError: the folder cannot be written.
        """
        self._meter = meter
        self._file = file
        if path.is_file() and path.stat().st_size > file.size:
            path.unlink()
        self._handle = _open_with_folder(path)
        self._digest = new_digest(file.blob_name, file.size)
        self.done = self._hash_what_is_there()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handle.close()

    def append(self, chunk: bytes) -> None:
        """Write and hash the next bytes."""
        if self.done + len(chunk) > self._file.size:
            raise DownloadError(f"The hub sends more of {self._file.file} than it promises", "", "Pull again later.")
        view = memoryview(chunk)
        while view:
            view = view[self._handle.write(view) :]
        self._digest.update(chunk)
        self.done += len(chunk)
        self._meter.fetched(len(chunk))

    def restart(self) -> None:
        """Begin with nothing again."""
        self._meter.lost(self.done)
        self._handle.truncate(0)
        self._digest = new_digest(self._file.blob_name, self._file.size)
        self.done = 0

    def is_right(self) -> bool:
        """Whether the bytes are the ones that the hub names."""
        return self.done == self._file.size and self._digest.hexdigest() == self._file.blob_name

    def _hash_what_is_there(self) -> int:
        self._handle.seek(0)
        done = 0
        if self._handle.seek(0, 2):
            self._meter.begin(f"checking what an earlier pull fetched of {self._file.file}")
            self._handle.seek(0)
            while chunk := self._handle.read(_CHUNK):
                self._digest.update(chunk)
                done += len(chunk)
                self._meter.resume(len(chunk))
                if self._meter.cancelled():
                    raise DownloadStoppedError("Stopped while checking what was there")
        return done


def _open_with_folder(path: Path) -> RawIOBase:
    """Open a file to append, its folder made; once more when another process tidied that away in between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return path.open("a+b", buffering=0)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+b", buffering=0)


def _kept(partial: Path) -> str:
    size = partial.stat().st_size if partial.is_file() else 0
    return f"{gigabytes(size)} of it are kept for the next pull." if size else "Nothing of it was kept."
