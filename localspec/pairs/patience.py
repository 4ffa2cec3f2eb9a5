"""How long to go on trying when the hub fails: a few times with growing pauses, or as long as it asks to wait."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from huggingface_hub.utils import HfHubHTTPError, httpx, parse_ratelimit_headers

from localspec.errors import DownloadStoppedError

if TYPE_CHECKING:
    from collections.abc import Callable

_PASSING = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long.

    Attributes:
        attempts: tries in a row that bring nothing, before giving up.
        first_pause: seconds after the first; each next one is twice as long.
        longest_pause: seconds.
        longest_wait: seconds that the hub may ask to wait; more than that is told to the person instead.
    """

    attempts: int = 6
    first_pause: float = 1.0
    longest_pause: float = 20.0
    longest_wait: float = 300.0

    def pause_after(self, error: Exception, failed: int) -> float | None:
        """Seconds to wait before the next try, or None when there is no use in one.

        Args:
            error: what happened.
            failed: tries in a row that brought nothing, this one included.
        """
        if failed >= self.attempts or not passes(error):
            return None
        asked = asked_to_wait(error)
        if asked is not None:
            return asked if asked <= self.longest_wait else None
        return min(self.longest_pause, self.first_pause * 2.0 ** (failed - 1))


def passes(error: Exception) -> bool:
    """Whether an error may be gone the next time: a lost connection, a busy or a troubled server."""
    if isinstance(error, HfHubHTTPError):
        return error.response.status_code in _PASSING
    return isinstance(error, httpx.TransportError) and not isinstance(
        error, httpx.ProxyError | httpx.UnsupportedProtocol
    )


def sleep(seconds: float, cancelled: Callable[[], bool]) -> None:
    """Wait, but no longer than until `cancelled`.

    Raises:
        DownloadStoppedError: `cancelled` said so.
    """
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if cancelled():
            raise DownloadStoppedError("Stopped while waiting for the hub")
        time.sleep(min(left, 0.1))


def asked_to_wait(error: Exception) -> float | None:
    """The seconds to wait that an answer names in Retry-After or in its rate-limit header; None when it does not."""
    if not isinstance(error, HfHubHTTPError):
        return None
    headers = error.response.headers
    limit = parse_ratelimit_headers(headers)
    if error.response.status_code == 429 and limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    value = headers.get("Retry-After", "").strip()
    if value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
