"""How many threads a model is quickest with, tried out on its loaded context."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from localspec.decoding.costs import one_pass, room_behind
from localspec.llama.context import Context

SWEEPS = 7
_LEAST_SWEEPS = 3
_SECONDS = 15.0
"""After so long no sweep is begun beyond the least."""

_WORTH_CHANGING = 0.97
"""A number of threads must save 3 % to be preferred to the default, ..."""
_SURE = 0.8
"""... and must have been quicker in so many of the sweeps: what is within the noise keeps the default."""


@dataclass(frozen=True, slots=True)
class Passes:
    """What a number of threads is judged by: the geometric mean of the times of these passes, which all weigh the same.

    Attributes:
        widths: tokens a pass.
        rows: rows of logits it puts out; None for one a token.
    """

    widths: tuple[int, ...]
    rows: int | None


VERIFICATIONS = Passes((1, 4), None)
"""Of a target: a token by itself, as without guesses, and a usual draft."""

STEPS = Passes((1,), 1)
"""Of a draft model."""


def try_threads(
    context: Context,
    counts: Sequence[int],
    passes: Passes,
    cancelled: Callable[[], bool],
    report: Callable[[float], None],
) -> list[dict[int, float]] | None:
    """Time the passes with each number of threads in turn, sweep after sweep.

    Args:
        context: of the model; what it holds stays, its number of threads is the last one of `counts` afterwards.
        counts: numbers of threads.
        passes: what to time.
        cancelled: polled between passes.
        report: told the part that is done, 0 to 1.

    Returns:
        For each sweep the seconds by number of threads; None when it was cancelled.
    """
    sweeps: list[dict[int, float]] = []
    spent = 0.0
    with room_behind(context, 1 + sum(passes.widths)) as text:
        beginning = context.length
        while len(sweeps) < _LEAST_SWEEPS or (len(sweeps) < SWEEPS and spent < _SECONDS):
            sweep: dict[int, float] = {}
            for count in counts:
                context.set_threads(count)
                context.truncate(beginning)
                times = []
                # The first pass starts the threads, and does not count.
                for width in (1, *passes.widths):
                    if cancelled():
                        return None
                    times.append(one_pass(context, tuple(itertools.islice(text, width)), passes.rows))
                spent += sum(times)
                sweep[count] = math.exp(statistics.fmean(map(math.log, times[1:])))
            sweeps.append(sweep)
            report(len(sweeps) / SWEEPS)
    return sweeps


def over_default(sweeps: Sequence[Mapping[int, float]], default: int) -> dict[int, float]:
    """For each number of threads the median, over the sweeps, of its time over the default's."""
    return {count: statistics.median(sweep[count] / sweep[default] for sweep in sweeps) for count in sorted(sweeps[0])}


def quickest(sweeps: Sequence[Mapping[int, float]], default: int) -> int:
    """The number of threads to use: the default, unless another was surely quicker."""
    ratios = over_default(sweeps, default)
    sure = [
        count
        for count, ratio in ratios.items()
        if ratio < _WORTH_CHANGING and sum(sweep[count] < sweep[default] for sweep in sweeps) >= _SURE * len(sweeps)
    ]
    return min(sure, key=ratios.__getitem__, default=default)
