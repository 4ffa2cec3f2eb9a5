"""Measuring what passes cost for good: the command, and what it tells. Sent over the engine's pipe as it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Calibrate:
    """Measure what passes of the loaded models cost and keep it; the best numbers of threads too, if nobody named one.

    Attributes:
        quick: a few widths, and no search for threads, as before a first answer.
    """

    quick: bool = False


@dataclass(frozen=True, slots=True)
class CalibrationProgress:
    """`fraction` of `what` is measured: "costs", "threads of the target", "threads of the draft"."""

    what: str
    fraction: float


@dataclass(frozen=True, slots=True)
class ModelCalibration:
    """What was found of one model.

    Attributes:
        threads: CPU threads a pass uses from now on, and used while the times were measured.
        threads_before: those that it used until now.
        tried: pairs of a number of threads and the time with it over that with the default; empty if none was tried.
        seconds: pairs of width and seconds of a pass, by width.
        before: the same as it was known until now for `threads_before`; empty if nothing was.
        made_before: when that was measured, ISO 8601.
    """

    threads: int
    threads_before: int
    tried: tuple[tuple[int, float], ...]
    seconds: tuple[tuple[int, float], ...]
    before: tuple[tuple[int, float], ...]
    made_before: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """What passes of a pair cost here.

    Attributes:
        target: of verification passes, which put out a row of logits for each token.
        draft: of the draft model's passes, which put out one; None when none is loaded.
        text: tokens that stood before each pass.
        spread: by what part the slowest pass of a width took longer than its quickest, in the middle of all widths.
        share: what part of the time of its threads a pass got before it all began: below `LEAST_SHARE` of
            `processor_share` other programs were busy, and no threads were tried. None where a GPU computes.
        build: which llama.cpp computed, with its build flags.
        processors: what there is to compute on.
        not_kept: why the figures could not be kept for the next time; "" when they were.
    """

    target: ModelCalibration
    draft: ModelCalibration | None
    text: int
    spread: float
    share: float | None
    build: str
    processors: str
    not_kept: str
