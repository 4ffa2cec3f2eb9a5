"""The same figures as one JSON object: `localspec explain --json`.

Version 1 of the object ("schema": 1; a later version changes the number when a key changes its meaning or goes away).
Times are in seconds, sizes in bytes. Everything is measured in that run, but `bandwidth` when its `measured` is false,
and what is computed: it stands under `predicted`, or is named so here.

    schema       1
    models       target and draft (null: none): name, description, bytes, parameters, device; and `token`: what one
                 token takes of it (file_bytes, weight_bytes read, table_bytes and resting_bytes not read, kv_bytes a
                 token of context, operations)
    threads      CPU threads a pass
    context      tokens of text that the bound is for
    temperature  that the prompts were answered at
    bandwidth    bytes_per_second, threads, measured, how; null when it is not known
    bound        the most tokens a second, one at a time (bandwidth / bytes); null without a bandwidth
    operations_per_second   the most that a pass reached
    pass_seconds            [T(1), T(2), ...] of the target
    draft_step              seconds of a draft step; null without a draft
    acceptance   alpha: kept / looked at; expected: mean of sum of min(p, q); by_position: [kept, looked at] for each
                 place; prompts: kind, looked_at, kept of each; null without a draft
    arms         drafted (0 is off), emitted, seconds, rounds, tokens_per_second, tau, and `predicted`: tokens (a pass),
                 speed_up; null without a draft
    best         drafted and speed_up that the formulas predict; null without a draft
    batch        sequences, off (tokens/s), on (by draft length: computed from measured passes and alpha)
    batch_passes target and draft: sequences, width, seconds of each pass measured
    replay       rounds with every guess judged (see `localspec.engine.traces`)
    notes        what could not be measured, and why
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from localspec.bench import theory
from localspec.bench.explaining.facts import Arm, Facts
from localspec.bench.roofline import TokenWork
from localspec.engine.messages import LoadedModel

SCHEMA = 1


def facts_as_json(facts: Facts) -> str:
    """The object, indented; everything in it is ASCII."""
    document = {
        "schema": SCHEMA,
        "models": {
            "target": _model(facts.loaded.target, facts.target),
            "draft": _model(facts.loaded.draft, facts.draft) if facts.loaded.draft and facts.draft else None,
        },
        "threads": facts.loaded.threads,
        "context": facts.context,
        "temperature": facts.temperature,
        "bandwidth": asdict(facts.bandwidth) if facts.bandwidth else None,
        "bound": facts.bound,
        "operations_per_second": facts.operations_per_second,
        "pass_seconds": facts.pass_seconds,
        "draft_step": facts.draft_step,
        "acceptance": _acceptance(facts),
        "arms": [_arm(arm, facts) for arm in facts.arms],
        "best": asdict(facts.best) if facts.best else None,
        "batch": [asdict(batch) for batch in facts.batches()],
        "batch_passes": asdict(facts.batch) if facts.batch else None,
        "replay": [asdict(one) for one in facts.replay],
        "notes": facts.notes,
    }
    return json.dumps(document, indent=1, allow_nan=False)


def _model(loaded: LoadedModel, work: TokenWork) -> dict[str, Any]:
    return {
        "name": loaded.name,
        "description": loaded.description,
        "bytes": loaded.bytes,
        "parameters": loaded.parameters,
        "device": loaded.device,
        "token": asdict(work),
    }


def _acceptance(facts: Facts) -> dict[str, Any] | None:
    everything = facts.all_guesses
    if everything.acceptance is None:
        return None
    return {
        "alpha": everything.acceptance,
        "expected": everything.expected_acceptance,
        "by_position": everything.by_position,
        "prompts": [
            {"kind": one.kind, "looked_at": len(one.looked_at), "kept": sum(guess.kept for guess in one.looked_at)}
            for one in facts.guesses
        ],
    }


def _arm(arm: Arm, facts: Facts) -> dict[str, Any]:
    statistics = arm.statistics
    alpha, step = facts.acceptance, facts.draft_step
    predicted = None
    if alpha is not None and step is not None:
        predicted = {
            "tokens": theory.expected_tokens(alpha, arm.drafted),
            "speed_up": theory.measured_speed_up(alpha, arm.drafted, facts.pass_seconds, step),
        }
    return {
        "drafted": arm.drafted,
        "emitted": statistics.emitted,
        "seconds": statistics.seconds,
        "rounds": statistics.rounds,
        "tokens_per_second": statistics.tokens_per_second,
        "tau": statistics.tau,
        "predicted": predicted,
    }
