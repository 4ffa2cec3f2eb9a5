"""Timers that ring once: they do so however late, though Textual forgets one that it comes to too late."""

from __future__ import annotations

from textual.timer import Timer

_start = Timer._start  # noqa: SLF001 - it has no other name


def let_late_timers_ring() -> None:
    """Have every timer that rings a fixed number of times ring, even when its time passed before it was waited for.

    Textual leaves out what a timer missed. One that rings once, and whose time passes between its start and the first
    look at the clock, is left out whole: on a busy machine that happens to a timer of a few milliseconds. Textual waits
    with such a one for a terminal's size to settle, and takes no other size while it waits: the app stayed as large as
    it was for ever. Answers are drawn by such timers, too.
    """
    Timer._start = _start_without_skipping  # type: ignore[method-assign, assignment] # noqa: SLF001 - as above


def _start_without_skipping(timer: Timer) -> None:
    if timer._repeat is not None:  # noqa: SLF001 - as above
        timer._skip = False  # noqa: SLF001 - as above
    _start(timer)
