"""A benchmark as one JSON document: `localspec bench --json FILE`.

Version 1 ("schema": 1; a later version changes the number when a key changes its meaning or goes away):

    schema, kind  1, "localspec bench"
    made          when it ended, ISO 8601
    complete      whether every generation of the plan was made
    plan          arms (by name: pair, sampling, speculation), tasks (id: digest of kind and turns), tasks_name, runs,
                  max_tokens, system
    environment   localspec, python, machine, devices, llama_cpp (version, bindings, features: the build flags of each
                  backend), energy (how it was measured, or why not)
    models        by pair: target and draft (file, name, description, bytes, parameters, device, sha256), context,
                  threads, kv_type, flash_attention
    memory        by pair, or null: weight_bytes (of the target, read for each token), kv_bytes (for each token and each
                  token of context), bytes_per_second (read by this machine), measured (or from a table), how
    pass_times    by pair: target and draft, each a list of [tokens in the pass, median seconds]
    left_out      tasks that did not fit the context: id and reason
    records       one for each generation:
        category, arm, prompt_id, run, turn     which it is; runs and turns count from 0
        began                                   seconds of the system's clock
        tokens_per_second                       emitted tokens / decode seconds
        time_to_first_token, prompt_seconds     seconds; the prompt is read from the same cache state in every arm
        prompt_tokens, reused_tokens            reused: known from earlier turns, or what all prompts begin with
        token_ids                               what the loop emitted
        finish, seed, acceptance_rule, lossless, drafter    as in `localspec chat --json`
        statistics                              counts and times, as in `localspec chat --json`
        rounds                                  drafted, accepted, emitted, seconds, target_seconds, draft_seconds,
                                                corrected (whether it ended with a token in place of refused guesses):
                                                a list each, one entry a round
        joules                                  of the processor packages; null where the system does not tell
    report        kinds and arms; for each arm its baseline, and figures by kind ("all" for all): generations;
                  tokens_per_second and time_to_first_token as median and quartiles; speed_up (ratio of medians over
                  the baseline, over all kinds their geometric mean; with its 95 % interval or null; real: whether the
                  interval leaves out 1); acceptance, conditional_acceptance by position, predicted_acceptance and
                  judged_acceptance, by_source, tau, draft_lengths (rounds by tokens drafted), time (shares of target,
                  draft, other), joules_per_token
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localspec.bench.intervals import Ratio
from localspec.bench.records import Record, as_json, from_json
from localspec.bench.report import Figures, Report, Spread
from localspec.errors import LocalspecError, UsageError

SCHEMA = 1
KIND = "localspec bench"


@dataclass(frozen=True, slots=True)
class Document:
    """A benchmark, done or read from a file; the fields are those of the JSON document, the report left out."""

    plan: dict[str, Any]
    environment: dict[str, Any]
    models: dict[str, Any]
    memory: dict[str, Any]
    pass_times: dict[str, Any]
    records: tuple[Record, ...]
    complete: bool
    left_out: dict[str, str]
    made: str = ""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the tasks that have records."""
        return tuple(dict.fromkeys(record.category for record in self.records))


def now() -> str:
    """The time, as documents write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def write_document(document: Document, report: Report, path: Path) -> None:
    """Write the JSON document, whole or not at all.

    Raises:
        LocalspecError: it cannot be written.
    """
    values = {
        "schema": SCHEMA,
        "kind": KIND,
        "made": document.made,
        "complete": document.complete,
        "plan": document.plan,
        "environment": document.environment,
        "models": document.models,
        "memory": document.memory,
        "pass_times": document.pass_times,
        "left_out": document.left_out,
        "records": [as_json(record) for record in document.records],
        "report": report_as_json(report),
    }
    write_file(path, json.dumps(values, indent=1, allow_nan=False))


def write_file(path: Path, text: str) -> None:
    """Write a file that the person asked for, whole or not at all.

    Raises:
        LocalspecError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, "utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise LocalspecError(f"{path} cannot be written", f"{error.strerror or error}.") from error


def read_document(path: Path) -> Document:
    """Read what `write_document` wrote.

    Raises:
        UsageError: it cannot be read, or is no such document.
    """
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read", f"{error}.", _WANTED) from error
    if not isinstance(values, dict) or values.get("kind") != KIND:
        raise UsageError(f"{path} is no benchmark", "", _WANTED)
    if values.get("schema") != SCHEMA:
        raise UsageError(f"{path} is of schema {values.get('schema')}, and this localspec knows {SCHEMA}", "", _WANTED)
    try:
        return Document(
            records=tuple(from_json(record) for record in values["records"]),
            **{name: values[name] for name in _PLAIN},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is damaged", f"{type(error).__name__}: {error}.", _WANTED) from error


_WANTED = "Name a file that `localspec bench --json FILE` wrote."
_PLAIN = ("plan", "environment", "models", "memory", "pass_times", "complete", "left_out", "made")


def report_as_json(report: Report) -> dict[str, Any]:
    """The figures as JSON values."""
    return {
        "kinds": list(report.kinds),
        "arms": {
            arm: {
                "baseline": report.baselines[arm],
                "figures": {
                    kind or "all": _figures(report.figures[kind, arm])
                    for kind in (None, *report.kinds)
                    if (kind, arm) in report.figures
                },
            }
            for arm in report.arms
        },
    }


def _figures(figures: Figures) -> dict[str, Any]:
    statistics = figures.statistics
    return {
        "generations": figures.generations,
        "tokens_per_second": _spread(figures.tokens_per_second),
        "time_to_first_token": _spread(figures.time_to_first_token) if figures.time_to_first_token else None,
        "speed_up": ratio_as_json(figures.speed_up),
        "acceptance": statistics.acceptance,
        "conditional_acceptance": list(figures.conditional),
        "predicted_acceptance": statistics.predicted_acceptance,
        "judged_acceptance": statistics.judged_acceptance,
        "by_source": statistics.as_json()["by_source"],
        "tau": statistics.tau,
        "draft_lengths": {str(length): rounds for length, rounds in figures.draft_lengths},
        "time": {
            "target": statistics.target_seconds / statistics.seconds,
            "draft": statistics.draft_seconds / statistics.seconds,
            "other": statistics.other_seconds / statistics.seconds,
        },
        "joules_per_token": figures.joules_per_token,
    }


def _spread(spread: Spread) -> dict[str, float]:
    return {"median": spread.median, "low": spread.low, "high": spread.high}


def ratio_as_json(ratio: Ratio | None) -> dict[str, Any] | None:
    """A ratio with its interval and whether it is real."""
    if ratio is None:
        return None
    interval = [ratio.interval.low, ratio.interval.high] if ratio.interval else None
    return {"ratio": ratio.value, "interval": interval, "prompts": ratio.prompts, "real": ratio.real}
