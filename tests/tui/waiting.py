"""Waiting for what another thread does: a condition with a deadline, never a nap that is hoped to be long enough."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Poll until `condition` is true; fail when it is not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to this in time"
        time.sleep(0.005)
