"""Passes over several texts at once, timed on a cache of their own beside the conversation's."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.engine.messages import BatchTime, MeasureBatch
from localspec.errors import UsageError
from localspec.llama.context import Context
from localspec.llama.side_by_side import SideBySide

MOST_SEQUENCES = 64
"""Texts at once: beyond it llama.cpp has no numbers for them on every backend."""


def batch_times(
    context: Context, request: MeasureBatch, widths: Sequence[int], cancelled: Callable[[], bool]
) -> tuple[BatchTime, ...]:
    """Median seconds of passes of `widths` tokens over each number of texts; those measured before a cancel.

    Args:
        context: of the model to time; what it holds stays.
        request: how many texts, how long, how often.
        widths: tokens a text and pass.
        cancelled: polled between passes.

    Raises:
        UsageError: a number that is not possible.
        OutOfMemoryError: so many texts do not fit.
        LocalspecError: llama.cpp failed.
    """
    _require_possible(request)
    found: list[BatchTime] = []
    most = max(request.sequences)
    with SideBySide(context.model, context.options, most, request.context, max(widths)) as texts:
        for sequences in request.sequences:
            for width in widths:
                seconds = texts.pass_seconds(sequences, width, request.repeats, cancelled)
                if seconds is None:
                    return tuple(found)
                found.append(BatchTime(sequences, width, statistics.median(seconds)))
    return tuple(found)


def _require_possible(request: MeasureBatch) -> None:
    widest = LONGEST_DRAFT + 1
    if not (
        request.sequences
        and request.widths
        and all(1 <= sequences <= MOST_SEQUENCES for sequences in request.sequences)
        and all(1 <= width <= widest for width in request.widths)
        and request.context >= 1
        and request.repeats >= 1
    ):
        raise UsageError(
            "These passes cannot be timed",
            f"1 to {MOST_SEQUENCES} texts of one token or more go on by 1 to {widest} tokens, once or more often.",
            "Ask for other numbers.",
        )
