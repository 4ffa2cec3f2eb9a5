"""Waiting for what is done elsewhere: a condition with a deadline, never a nap that is hoped to be long enough."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

from textual._context import active_app


def wait_until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Poll until `condition` is true; fail when it is not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to this in time"
        time.sleep(0.005)


_SOON = 1 / 50
"""Seconds; longer than what Textual waits for before it takes up a new size, or draws."""


async def settle(min_sleep: float = 0, max_sleep: float = 2.0) -> None:  # noqa: ARG001 - as Textual's
    """Wait until the app has nothing more to do by itself soon, and has drawn it.

    Textual's own guesses that from the time the process took of late, and is wrong where other programs take it. What
    another thread does it does not wait for: neither can a person see when that is done, so a test waits for what is
    to come of it.
    """
    loop: Any = asyncio.get_running_loop()
    deadline = loop.time() + max_sleep
    app = active_app.get()
    while loop.time() < deadline:
        await _what_is_due(loop, loop.time() + _SOON)
        while loop._ready and loop.time() < deadline:
            await asyncio.sleep(0)
        if app._running and app._screen_stack:
            app.screen._on_timer_update()
        await asyncio.sleep(0)
        if not loop._ready:
            return


async def _what_is_due(loop: Any, until: float) -> None:
    """Wait for the timers that come by then, and for none else: most keys set none."""
    await asyncio.sleep(0)
    while loop._ready and loop.time() < until:
        await asyncio.sleep(0)
    while (due := _next_time(loop)) <= until:
        await asyncio.sleep(max(due - loop.time(), 0))


def _next_time(loop: Any) -> float:
    """When the next timer of the loop comes."""
    return min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=math.inf)
