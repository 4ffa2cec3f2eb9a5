"""What the hub client raises, told to a person: what happened, why, what to do."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from huggingface_hub import constants
from huggingface_hub.utils import EntryNotFoundError as HubEntryNotFoundError
from huggingface_hub.utils import (
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    get_token,
    httpx,
)

from localspec.errors import DownloadError, HubUnreachableError
from localspec.pairs.names import harmless
from localspec.pairs.patience import asked_to_wait

HUB_ERRORS = (httpx.HTTPError, OfflineModeIsEnabled, FileMetadataError, HubEntryNotFoundError, httpx.InvalidURL)
"""What a request to the hub may raise; OSError of the disk is none of them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the hub was asked about: `file` of `repo` at `revision`."""

    repo: str
    revision: str
    file: str


def in_words(error: Exception, asked: Asked) -> DownloadError:
    """The error to raise instead of `error`, which came up while the hub was asked about a file."""
    for kind, tell in _TELLERS.items():
        if isinstance(error, kind):
            return tell(error, asked)
    return _connection(error)


def in_short(error: Exception) -> str:
    """What went wrong for a moment, in a few words."""
    if isinstance(error, HfHubHTTPError):
        return f"the hub answered {error.response.status_code}"
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    if isinstance(error, httpx.ConnectError):
        return "no connection"
    return "the connection broke off"


def not_a_hub(why: str) -> DownloadError:
    """The answer is not one that a hub gives."""
    return DownloadError(
        f"{constants.ENDPOINT} does not answer as a hub does",
        f"{harmless(why, 200)}.",
        "Check HF_ENDPOINT, and whether a proxy or a log-in page stands between.",
    )


def disk_error(error: OSError, kept: str) -> DownloadError:
    """The disk refuses to be written; `kept` says what stays of the download."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DownloadError(
            "The disk is full",
            f"Something else filled it during the download. {kept}",
            f"Make room on the disk of {constants.HF_HUB_CACHE}, then pull again; or set HF_HOME to another disk.",
        )
    return DownloadError(
        f"{constants.HF_HUB_CACHE} cannot be written",
        f"{error.strerror or error}. {kept}",
        "Check the rights of the folder, or set HF_HOME to another one.",
    )


def _offline(_error: Any, asked: Asked) -> DownloadError:
    return HubUnreachableError(
        "The hub must not be asked: offline mode is on",
        f"{asked.file} of {asked.repo} is not on this machine, and HF_HUB_OFFLINE forbids to fetch it.",
        "Unset HF_HUB_OFFLINE, or choose a pair that is here: `localspec list`.",
    )


def _gated(_error: Any, asked: Asked) -> DownloadError:
    page = f"{constants.ENDPOINT}/{asked.repo}"
    if get_token():
        return DownloadError(
            f"{asked.repo} is gated, and your account may not read it",
            "Its authors want their terms accepted first, by the account that the token belongs to.",
            f"Accept them at {page}, with that account, then pull again.",
        )
    return DownloadError(
        f"{asked.repo} is gated",
        "Its authors want their terms accepted first, and no token says who you are.",
        f"Accept them at {page}, then log in with `hf auth login` or set HF_TOKEN.",
    )


def _no_revision(_error: Any, asked: Asked) -> DownloadError:
    return DownloadError(
        f"{asked.repo} has no revision {asked.revision}",
        "The branch, tag or commit is not there: its owner may have rewritten the repo.",
        f"Look at {constants.ENDPOINT}/{asked.repo} and name another revision, or none.",
    )


def _no_file(_error: Any, asked: Asked) -> DownloadError:
    return DownloadError(
        f"{asked.repo} has no file {asked.file}",
        f"It is not in revision {asked.revision}.",
        f"Look at {constants.ENDPOINT}/{asked.repo}/tree/{asked.revision} for its name.",
    )


def _no_repo(_error: Any, asked: Asked) -> DownloadError:
    who = "the account of your token may not read it" if get_token() else "it is private and no token says who you are"
    return DownloadError(
        f"The hub has no repo {asked.repo}",
        f"Its name is wrong, it was taken down, or {who}.",
        f"Look at {constants.ENDPOINT}/{asked.repo}. For a private repo log in with `hf auth login` or set HF_TOKEN.",
    )


def _no_metadata(error: Any, _asked: Asked) -> DownloadError:
    return not_a_hub(str(error))


def _status(error: Any, asked: Asked) -> DownloadError:
    status = error.response.status_code
    if status == 401:
        hint = "Log in again with `hf auth login`, or correct HF_TOKEN."
        return DownloadError("The hub refuses your token", "It is wrong or has expired (401).", hint)
    if status == 403:
        return DownloadError(
            f"The hub does not let you read {asked.repo}",
            "Your token has not the right to (403).",
            "Use another token.",
        )
    if status == 429:
        seconds = asked_to_wait(error)
        when = "in some minutes" if seconds is None else f"in {max(1, round(seconds / 60))} min"
        return DownloadError(
            "The hub asks to wait: too many requests (429)",
            "It limits how much one address, or one account, may ask for.",
            f"Pull again {when}; logging in with `hf auth login` raises the limit.",
        )
    if status >= 500:
        return HubUnreachableError(
            f"The hub is in trouble ({status})",
            f"{constants.ENDPOINT} answered with an error of its own, each time it was asked.",
            "Pull again later: what came so far is kept.",
        )
    return DownloadError(f"The hub refuses the request ({status})", f"It was about {asked.repo}.", "Try again later.")


def _connection(error: Exception) -> DownloadError:
    why = harmless(str(error).rstrip(".") or type(error).__name__, 160)
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError):
        return HubUnreachableError(
            "The connection to the hub broke off, again and again",
            f"{why}.",
            "Check the connection and pull again: what came so far is kept.",
        )
    if isinstance(error, httpx.ProxyError):
        return HubUnreachableError(
            "The proxy does not let us through to the hub", f"{why}.", "Check HTTPS_PROXY and HTTP_PROXY."
        )
    if isinstance(error, httpx.TimeoutException):
        return HubUnreachableError(
            "The hub does not answer in time",
            f"{constants.ENDPOINT} was silent for {constants.HF_HUB_DOWNLOAD_TIMEOUT} s, each time it was asked.",
            "Check the connection and pull again: what came so far is kept.",
        )
    return HubUnreachableError(
        "The hub cannot be reached",
        f"{constants.ENDPOINT}: {why}.",
        "Check the connection (and HF_ENDPOINT and the proxy, if set), then pull again. `localspec chat --pair demo` "
        "needs no network.",
    )


# From the special to the general: a gated repo is a kind of missing repo, and both are kinds of HTTP error.
_TELLERS: dict[type[Exception], Callable[[Any, Asked], DownloadError]] = {
    OfflineModeIsEnabled: _offline,
    GatedRepoError: _gated,
    RevisionNotFoundError: _no_revision,
    HubEntryNotFoundError: _no_file,
    RepositoryNotFoundError: _no_repo,
    HfHubHTTPError: _status,
    FileMetadataError: _no_metadata,
}
