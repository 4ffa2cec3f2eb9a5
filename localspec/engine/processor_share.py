"""Whether other programs use the processors: figures taken then would tell of them, not of the machine."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from localspec.decoding.costs import one_pass, room_behind
from localspec.llama.context import Context
from localspec.llama.threads import default_threads

LEAST_SHARE = 0.7
"""Of the time that the threads of a pass ask for, the part that they get on a machine with nothing else to do."""

_PASSES = 20
_LEAST_PASSES = 3
_SECONDS = 0.5


def processor_share(context: Context, cancelled: Callable[[], bool]) -> float | None:
    """What part of the time of its threads a model's passes get now; None where a GPU computes, and when cancelled.

    Threads of llama.cpp compute or wait for each other without sleeping, for microseconds at a time. So the processor
    time of the process is nearly the passes' time times the threads, unless other programs take some of it.

    Args:
        context: of the model; what it holds stays.
        cancelled: polled between passes.
    """
    if context.model.uses_gpu:
        return None
    threads = context.options.threads or default_threads()
    seconds = 0.0
    with room_behind(context, min(_PASSES, context.capacity)) as text:
        beginning = context.length
        before = time.process_time()
        for made in range(_PASSES):
            if cancelled():
                return None
            if made >= _LEAST_PASSES and seconds > _SECONDS:
                break
            if context.length == context.capacity:
                context.truncate(beginning)
            seconds += one_pass(context, tuple(itertools.islice(text, 1)))
        used = time.process_time() - before
    return min(1.0, used / (seconds * threads))
