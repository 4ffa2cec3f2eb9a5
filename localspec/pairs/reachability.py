"""Whether the hub answers at all: found out in a few seconds, before a person waits for longer tries."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

from huggingface_hub import constants, get_session
from huggingface_hub.utils import httpx

from localspec.pairs.hub_words import HUB_ERRORS, Asked, in_words

if TYPE_CHECKING:
    from localspec.pairs.pair import ModelFile

_SECONDS = 4.0


def check_hub(file: ModelFile, seconds: float = _SECONDS) -> None:
    """Ask the hub for nothing, once, because `file` is to be fetched from it; any answer will do.

    Args:
        file: what an error names.
        seconds: how long to wait. Looking its name up counts: the resolver of the system has a patience of its own.

    Raises:
        HubUnreachableError: it does not answer, or must not be asked.
    """
    outcome: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=seconds)
        except HUB_ERRORS as error:
            outcome.put(error)
        else:
            outcome.put(None)

    threading.Thread(target=ask, daemon=True).start()
    error: Exception | None
    try:
        error = outcome.get(timeout=seconds)
    except queue.Empty as late:
        error = late
    if isinstance(error, httpx.TimeoutException | queue.Empty):
        error = httpx.ConnectError(f"no answer within {seconds:.0f} s")
    if error is not None:
        raise in_words(error, Asked(file.repo, file.revision, file.file)) from error
