"""The process that looks: it loads the pair, writes texts, takes real rows, draws; one JSON line for each step."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

from localspec.bench.losslessness.assignment import Assignment
from localspec.bench.losslessness.findings import Caught, Texts
from localspec.bench.losslessness.planted import control_of, judges_together
from localspec.bench.losslessness.real_rows import control_places, evenly, places_in
from localspec.bench.losslessness.sequences import PLACES, Place, Tally, Task, draw, judge, tasks_for
from localspec.bench.losslessness.texts import Pair, compare_text, together
from localspec.bench.task_files import built_in_tasks
from localspec.chat.events import Message, Role
from localspec.decoding.rounds import never
from localspec.engine.diagnosis import AMX_IN_USE
from localspec.engine.messages import LoadProgress
from localspec.engine.pair import LoadedPair
from localspec.errors import LocalspecError
from localspec.llama import devices

KINDS = ("explain", "story", "code", "translate")
"""Kinds of the built-in prompts that are answered, the first prompt of each: they leave the target a choice."""

SEED = 20230530
_AS_SET = 4 * PLACES
_UNCUT = PLACES


def examine(assignment: str) -> None:
    """Carry it out; called with what `Assignment.as_argument` gave."""
    told = Assignment.of_argument(assignment)
    try:
        if devices.uses_amx():
            # The explanation of a crash looks for this line.
            print(AMX_IN_USE, file=sys.stderr, flush=True)
        with closing(LoadedPair(told.loading, _tell_loading, never)) as pair:
            as_set, uncut = _look_at_texts(pair, told)
        # The models are gone: only their rows are needed from here on.
        _look_at_draws(told, as_set, uncut)
    except LocalspecError as error:
        content = {"title": error.title, "message": error.message, "hint": error.hint, "exit_code": error.exit_code}
        _tell("failed", content)


def _look_at_texts(pair: LoadedPair, told: Assignment) -> tuple[list[Place], list[Place]]:
    """Compare texts; return the places to draw from."""
    prompts = _prompts(pair, told.prompts)
    target, draft = pair.contexts
    writing = Pair(target, draft, pair.tokenizer.end_tokens, told.draft_length, told.max_tokens)
    greedy = replace(told.sampling, temperature=0.0)
    written: list[tuple[list[int], list[int]]] = []
    done = 0
    for sampling in (greedy, told.sampling):
        parts: list[Texts] = []
        for name, prompt in prompts:
            what = f"writing with and without speculation, {'greedy' if sampling is greedy else 'coupled'}"
            _tell_progress(what, done, 2 * len(prompts))
            texts, off = compare_text(writing, name, prompt, sampling)
            parts.append(texts)
            done += 1
            if sampling is not greedy:
                written.append((prompt, off))
        _tell("texts", asdict(together(parts)))
    _tell_progress("reading real rows", 0, 1)
    return places_in(target, draft, written, told.sampling)


def _prompts(pair: LoadedPair, count: int) -> list[tuple[str, list[int]]]:
    first = {task.kind: task for task in reversed(built_in_tasks())}
    tasks = [first[kind] for kind in KINDS[:count]]
    return [(task.id, pair.prompt_tokens((Message(Role.USER, task.turns[0]),))) for task in tasks]


def _look_at_draws(told: Assignment, as_set: Sequence[Place], uncut: Sequence[Place]) -> None:
    """The statistical test, then the planted errors."""
    chosen = evenly(as_set, _AS_SET)
    # Settings that hardly leave a choice give few places; then rows with nothing cut off take their part.
    places = [*chosen, *evenly(uncut, _AS_SET + _UNCUT - len(chosen))]
    if len(places) < 2 * PLACES or max(len(as_set), len(uncut)) < 2 * PLACES:
        raise LocalspecError(
            "There are too few places to draw from",
            f"The target left itself a choice at {len(places)} places only.",
            "Give a higher temperature.",
        )
    with ProcessPoolExecutor(_workers(told.loading.threads), multiprocessing.get_context("spawn")) as pool:

        def drawn(what: str, rule: str, among: Sequence[Place], sequences: int) -> list[Tally]:
            tasks = tasks_for(among, rule, sequences, draft_length=told.draft_length, seed=SEED)
            return _draw_all(pool, tasks, len(among), lambda done: _tell_progress(what, done, len(tasks)))

        tallies = drawn("drawing from real rows", told.rule, places, told.sequences)
        _tell("draws", asdict(judge(places, tallies, told.rule)))
        among = as_set if len(as_set) >= 2 * PLACES else uncut
        control = control_places(among, together=judges_together(told.rule))
        right, errors = control_of(told.rule)
        for name in ("none", *errors):
            rule = right if name == "none" else name
            tallies = drawn(f"planting errors: {name}", rule, control, told.control_sequences)
            found = judge(control, tallies, rule)
            tokens, impossible = (
                sum(getattr(position, what) for position in found.positions) for what in ("drawn", "impossible")
            )
            # As `Draws.fine` would say: that is the judgement under test.
            _tell("caught", asdict(Caught(name, not found.fine, tokens, impossible, found.smallest)))


def _workers(threads: int | None) -> int:
    return max(1, min(threads or 8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4, 8))


def _draw_all(
    pool: ProcessPoolExecutor, tasks: Sequence[Task], places: int, progress: Callable[[int], None]
) -> list[Tally]:
    tallies = [Tally(Counter()) for _ in range(places)]
    waiting = {pool.submit(draw, task): task for task in tasks}
    for done, finished in enumerate(as_completed(waiting), 1):
        for offset, tally in enumerate(finished.result()):
            tallies[waiting[finished].first + offset].add(tally)
        progress(done)
    return tallies


def _tell_loading(progress: LoadProgress) -> None:
    _tell_progress(progress.words, round(progress.fraction * 100), 100)


def _tell_progress(what: str, done: int, total: int) -> None:
    _tell("progress", {"what": what, "done": done, "total": total})


def _tell(step: str, content: dict[str, Any]) -> None:
    print(json.dumps({"step": step, "content": content}), flush=True)
