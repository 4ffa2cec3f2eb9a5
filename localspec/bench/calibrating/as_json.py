"""A calibration as one JSON object: `localspec calibrate --json`.

Version 1 of the object ("schema": 1; a later version changes the number when a key changes its meaning or goes away).
Times are in seconds.

    schema          1
    made            when, ISO 8601
    target, draft   of each model (draft null: none): name, description, file, device, gpu_layers, threads and
                    threads_before, threads_tried: time by number of threads, over that with the default (empty: none
                    was tried), seconds: of a pass by its width, before: the same as it was known until now (empty:
                    nothing was), made_before. The target's passes put out a row of logits for each token, the draft's
                    one
    target_curve    T(1), T(2), ... of the target, where nothing was measured as it is taken to be
    draft_step      seconds of a guess; null without a draft
    best            for each acceptance from 0 to 1 in steps of 0.01: drafted, the draft length that pays best (0: none
                    does), and speed_up over none; of a lookup's guesses, which cost no step, where there is no draft
    pays_from       the acceptance from which on guessing pays; null when it never does
    text            tokens that stood before each pass
    spread          by what part the slowest pass of a width took longer than its quickest; above 0.5 the machine had
                    other work
    share           what part of the processor time it could use a pass got: below 0.7 other programs were busy, and no
                    threads were tried; null where a GPU computes
    kv_type, flash_attention, build, processors     what it was measured with and on
    not_kept        why the figures could not be kept for the next time; null when they were
"""

from __future__ import annotations

import time
from typing import Any

from localspec.bench.calibrating.worth import costs_of, worth
from localspec.engine.calibrations import Calibration, ModelCalibration
from localspec.engine.messages import Loaded, LoadedModel, LoadPair, ModelSettings

SCHEMA = 1


def calibration_as_json(found: Calibration, loaded: Loaded, loading: LoadPair) -> dict[str, Any]:
    """The object, as plain values."""
    costs = costs_of(found)
    step = costs.draft(1) if found.draft else None
    paying = worth(costs, step or 0.0)
    draft = _model(found.draft, loaded.draft, loading.draft) if found.draft and loaded.draft and loading.draft else None
    return {
        "schema": SCHEMA,
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "target": _model(found.target, loaded.target, loading.target),
        "draft": draft,
        "target_curve": list(costs.target_curve),
        "draft_step": step,
        "best": [
            {"acceptance": percent / 100, "drafted": best.drafted, "speed_up": best.speed_up}
            for percent, best in enumerate(paying.best)
        ],
        "pays_from": None if paying.pays_from is None else paying.pays_from / 100,
        "text": found.text,
        "spread": found.spread,
        "share": found.share,
        "kv_type": loading.kv_type,
        "flash_attention": loading.flash_attention,
        "build": found.build,
        "processors": found.processors,
        "not_kept": found.not_kept or None,
    }


def _model(found: ModelCalibration, loaded: LoadedModel, settings: ModelSettings) -> dict[str, Any]:
    return {
        "name": loaded.name,
        "description": loaded.description,
        "file": settings.path.name,
        "device": loaded.device,
        "gpu_layers": settings.gpu_layers,
        "threads": found.threads,
        "threads_before": found.threads_before,
        "threads_tried": {str(count): ratio for count, ratio in found.tried},
        "seconds": {str(width): seconds for width, seconds in found.seconds},
        "before": {str(width): seconds for width, seconds in found.before},
        "made_before": found.made_before or None,
    }
