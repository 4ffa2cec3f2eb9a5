"""A comparison as one JSON document, made anew after each prompt: what an interrupted run found is not lost.

kind, schema   "localspec against llama-server", 1
made, complete when it was written; whether every answer of the plan is in it
environment    as in `localspec bench --json`
server         version; for each arm its options, the draft's file by its name
models         as in `localspec bench --json`
settings       what was asked for: tasks, which of them fit and were asked, temperatures, sampling, max_tokens, runs,
               localspec's arms (threads and context are with the models)
samples        one for each answer, see `Sample` and `Answer`
figures        one for each temperature: medians, means, acceptance, best, ratios, over_best, agreement
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from comparing.figures import ArmKey, Figures, Ratios
from comparing.samples import Sample
from localspec.bench.document import now, ratio_as_json, write_file


def write_comparison(
    path: Path, conditions: Mapping[str, Any], samples: Sequence[Sample], figures: Iterable[Figures], *, complete: bool
) -> None:
    """Write the document, whole or not at all.

    Args:
        path: where to.
        conditions: environment, server, models and settings.
        samples: what was measured.
        figures: what it says.
        complete: whether all of the plan was.

    Raises:
        LocalspecError: it cannot be written.
    """
    values = {
        "kind": "localspec against llama-server",
        "schema": 1,
        "made": now(),
        "complete": complete,
        **conditions,
        "samples": [sample.as_json() for sample in samples],
        "figures": [figures_as_json(each) for each in figures],
    }
    write_file(path, json.dumps(values, indent=1, allow_nan=False) + "\n")


def figures_as_json(figures: Figures) -> dict[str, Any]:
    """Figures as JSON values; an arm is written "server off", "localspec on"."""
    return {
        "temperature": figures.temperature,
        "prompts": figures.prompts,
        "left_out": figures.left_out,
        "medians": {
            category: {_name(arm): figures.medians[category, arm] for arm in figures.arms}
            for category in figures.categories
        },
        "means": {_name(arm): mean for arm, mean in figures.means.items()},
        "acceptance": {_name(arm): share for arm, share in figures.acceptance.items()},
        "best": {category: arm[1] for category, arm in figures.best.items()},
        "ratios": [
            {"of": _name(own), "to": _name(other), **_ratios(ratios)} for (own, other), ratios in figures.ratios.items()
        ],
        "over_best": [{"of": _name(own), **_ratios(ratios)} for own, ratios in figures.over_best.items()],
        "agreement": {
            _name(arm): {"same": found.same, "compared": found.compared, "shared": found.shared}
            for arm, found in figures.agreement.items()
        },
    }


def _ratios(ratios: Ratios) -> dict[str, Any]:
    return {
        "by_category": {category: ratio_as_json(ratio) for category, ratio in ratios.by_category.items()},
        "overall": ratio_as_json(ratios.overall),
    }


def _name(arm: ArmKey) -> str:
    return " ".join(arm)
