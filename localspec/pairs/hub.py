"""Asks the hub: what a file is (commit, hash, size), which files a repo has, and single ranges of a file's bytes.

All requests go through huggingface_hub's own session and headers, so HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and the
proxy variables mean here what they mean there.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from huggingface_hub import HfApi, constants, get_hf_file_metadata, get_session, hf_hub_url
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, httpx

from localspec.errors import DownloadError
from localspec.pairs.hub_words import HUB_ERRORS, Asked, in_words, not_a_hub
from localspec.pairs.names import is_commit, is_gguf_path, is_sha256
from localspec.pairs.pair import ModelFile
from localspec.pairs.patience import Patience, sleep
from localspec.pairs.progress import never
from localspec.pairs.reachability import check_hub

if TYPE_CHECKING:
    from collections.abc import Callable

QUICK = Patience(attempts=3, first_pause=0.5)
"""For small questions: a person waits for the answer, and "cannot be reached" must not take a minute."""

# What the client logs about its own tries would stand between our words, which say the same.
logging.getLogger("huggingface_hub").setLevel(logging.ERROR)

_EXPIRED = frozenset({401, 403, 404, 410})

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as the hub knows it.

    Attributes:
        repo: "owner/name".
        revision: what was asked for: a branch, a tag or a commit.
        commit: what that is now.
        file: path inside the repo.
        size: bytes.
        blob_name: hash of the contents, as the hub names them: sha256, or git's own hash of a small file.
    """

    repo: str
    revision: str
    commit: str
    file: str
    size: int
    blob_name: str

    @property
    def url(self) -> str:
        """Where its bytes are; they can never be others, as it names the commit."""
        return hf_hub_url(self.repo, self.file, revision=self.commit)


def look_up(file: ModelFile, patience: Patience = QUICK, cancelled: Callable[[], bool] = never) -> HubFile:
    """Ask the hub for a file's commit, hash and size.

    Raises:
        DownloadError: there is no such repo, revision or file, it is gated, the answer is no hub's, or it is another
            file than the catalog pins.
        HubUnreachableError: no answer, or offline mode.
    """
    url = hf_hub_url(file.repo, file.file, revision=file.revision)

    def ask() -> Any:
        return get_hf_file_metadata(url, timeout=constants.HF_HUB_ETAG_TIMEOUT)

    metadata = _insistently(ask, file, patience, cancelled)
    commit, etag, size = metadata.commit_hash or "", metadata.etag or "", metadata.size
    if not is_commit(commit) or size is None or size < 0:
        raise not_a_hub(f"The answer names no commit and no size of {file.file}")
    if not is_sha256(etag):
        # A mirror without hashes will do where the catalog knows the hash; nothing else may name a file here.
        etag = file.sha256 or etag
    if not (is_sha256(etag) or is_commit(etag)):
        raise not_a_hub(f"The answer names no hash of {file.file}, so it could not be checked")
    found = HubFile(file.repo, file.revision, commit, file.file, size, etag)
    _check_pin(file, found)
    return found


def _check_pin(file: ModelFile, found: HubFile) -> None:
    """What the catalog pins must be what the hub offers."""
    what = None
    if file.sha256 is not None and is_sha256(found.blob_name) and found.blob_name != file.sha256:
        what = f"its sha256 is {found.blob_name[:12]}…, not {file.sha256[:12]}…"
    elif file.bytes is not None and found.size != file.bytes:
        what = f"it has {found.size:,} bytes, not {file.bytes:,}"
    if what:
        raise DownloadError(
            f"The hub offers another file as {file.file} than the catalog names",
            f"{file.repo} at {file.revision}: {what}. It was changed under the same name, or the mirror is wrong.",
            "Nothing was downloaded. Pull the pair from another endpoint, or update localspec.",
        )


def list_ggufs(repo: str, revision: str) -> list[ModelFile]:
    """The GGUFs in a repo, those whose names are safe as paths.

    Raises:
        DownloadError, HubUnreachableError: as look_up.
    """
    everything = ModelFile("", repo, revision, "the list of its files")
    # The client's own list asks again and again, for a minute: find out first whether anybody is there.
    check_hub(everything)
    entries = _insistently(
        lambda: list(HfApi().list_repo_tree(repo, revision=revision, recursive=True)), everything, QUICK, never
    )
    return [
        ModelFile(
            name="",
            repo=repo,
            revision=revision,
            file=entry.path,
            bytes=entry.size,
            sha256=entry.lfs.sha256 if entry.lfs and is_sha256(entry.lfs.sha256) else None,
        )
        for entry in entries
        if isinstance(entry, RepoFile) and is_gguf_path(entry.path)
    ]


class RemoteFile:
    """A file on the hub, read in ranges: a localspec.pairs.gguf_bytes.RangedFile.

    Attributes:
        transferred: bytes that came over the network so far.
    """

    def __init__(self, file: HubFile, cancelled: Callable[[], bool] = never) -> None:
        """Nothing is asked yet."""
        self._file = file
        self._cancelled = cancelled
        self._url = file.url
        self.transferred = 0

    @property
    def name(self) -> str:
        """The file's own name, without folders."""
        return self._file.file.rsplit("/", 1)[-1]

    @property
    def size(self) -> int:
        """Bytes of the file, by the hub's word."""
        return self._file.size

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of it.

        Raises:
            DownloadError: the hub refuses, or sends something else than what was asked for.
            HubUnreachableError: no answer.
        """
        if length <= 0:
            return b""
        return _insistently(lambda: self._read(offset, length), self._file, QUICK, self._cancelled)

    def _read(self, offset: int, length: int) -> bytes:
        end = min(offset + length, self.size) - 1
        with open_range(self._url, offset, end) as response:
            if response.status_code in _EXPIRED and self._url != self._file.url:
                # The storage's own addresses are good for an hour or so: ask the hub for a new one.
                self._url = self._file.url
                raise httpx.RemoteProtocolError("the address of the file has expired")
            hf_raise_for_status(response)
            if response.status_code != 206:
                raise no_ranges()
            content = bytes(response.read())
            self._url = str(response.url)
        self.transferred += len(content)
        if len(content) != end - offset + 1:
            raise httpx.RemoteProtocolError(f"{len(content)} bytes came, {end - offset + 1} were asked for")
        return content


def open_range(url: str, begin: int, end: int | None = None) -> Any:
    """Ask for bytes `begin` to `end` (inclusive; None for the last) of `url`; a context manager of the response.

    The token goes to the hub and to nobody that it redirects to.
    """
    asked = f"bytes={begin}-{'' if end is None else end}"
    headers = build_hf_headers() | {"Accept-Encoding": "identity", "Range": asked}
    if httpx.URL(url).netloc != httpx.URL(constants.ENDPOINT).netloc:
        headers.pop("authorization", None)
    timeout = httpx.Timeout(constants.HF_HUB_DOWNLOAD_TIMEOUT)
    return get_session().stream("GET", url, headers=headers, timeout=timeout, follow_redirects=True)


def no_ranges() -> DownloadError:
    """The server sends whole files only."""
    return DownloadError(
        f"{constants.ENDPOINT} does not send parts of files",
        "Without them nothing could be checked before the download, nor a download go on where it stopped.",
        "Use another endpoint (HF_ENDPOINT), or fetch the files with `hf download`: they are found then.",
    )


def _insistently(
    ask: Callable[[], _Answer],
    about: ModelFile | HubFile,
    patience: Patience,
    cancelled: Callable[[], bool],
) -> _Answer:
    """What `ask` returns, tried again as long as `patience` lasts."""
    failed = 0
    while True:
        try:
            return ask()
        except HUB_ERRORS as error:
            failed += 1
            pause = patience.pause_after(error, failed)
            if pause is None:
                raise in_words(error, Asked(about.repo, about.revision, about.file)) from error
        sleep(pause, cancelled)
