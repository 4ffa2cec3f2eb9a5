"""The process that looks: it loads the pair, writes texts, takes real rows, draws; one JSON line for each step."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, replace

from localspec.bench.losslessness.assignment import Assignment
from localspec.bench.losslessness.drawing import Drawing
from localspec.bench.losslessness.findings import Texts
from localspec.bench.losslessness.manners import manners_of
from localspec.bench.losslessness.places import Place
from localspec.bench.losslessness.real_rows import places_in
from localspec.bench.losslessness.telling import tell, tell_progress
from localspec.bench.losslessness.texts import Pair, Plain, compare_text, plain_text, together
from localspec.bench.task_files import built_in_tasks
from localspec.chat.events import Message, Role
from localspec.chat.guessing import Guesser, Guessing
from localspec.decoding.drafter_names import CHOSEN
from localspec.decoding.rounds import never
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.source_choice import NONE
from localspec.decoding.source_theory import candidates
from localspec.engine.diagnosis import AMX_IN_USE
from localspec.engine.messages import LoadProgress
from localspec.engine.pair import LoadedPair
from localspec.engine.sources import drafters_of, why_refused
from localspec.errors import LocalspecError
from localspec.llama import devices

KINDS = ("explain", "story", "code", "translate")
"""Kinds of the built-in prompts that are answered, the first prompt of each: they leave the target a choice."""


def examine(assignment: str) -> None:
    """Carry it out; called with what `Assignment.as_argument` gave."""
    told = Assignment.of_argument(assignment)
    try:
        if devices.uses_amx():
            # The explanation of a crash looks for this line.
            print(AMX_IN_USE, file=sys.stderr, flush=True)
        with closing(LoadedPair(told.loading, _tell_loading, never)) as pair:
            guesser = Guesser(Guessing(drafters_of(pair.contexts), refused=why_refused(pair.contexts)))
            drafters = _drafters(guesser, told)
            as_set, uncut = _look_at_texts(pair, guesser, drafters, told)
        # The models are gone: only their rows are needed from here on.
        workers = _workers(told.loading.threads)
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            drawing = Drawing(pool, told, as_set, uncut)
            for rule, manner in manners_of(drafters, told.rule).items():
                drawing.look(rule, manner)
    except LocalspecError as error:
        content = {"title": error.title, "message": error.message, "hint": error.hint, "exit_code": error.exit_code}
        tell("failed", content)


def _drafters(guesser: Guesser, told: Assignment) -> list[str]:
    """The sources to look at; for auto all that it may choose, as the text must be right whichever it takes."""
    if told.drafter != CHOSEN:
        return [told.drafter]
    return candidates(guesser.drafters, chains_only=told.rule == "block")


def _look_at_texts(
    pair: LoadedPair, guesser: Guesser, drafters: Sequence[str], told: Assignment
) -> tuple[list[Place], list[Place]]:
    """Compare texts, source by source; return the places to draw from."""
    target, *draft = pair.contexts
    writing = Pair(target, guesser, pair.tokenizer.end_tokens, told.draft_length, told.max_tokens)
    prompts = _prompts(pair, told.prompts)
    plain: list[Plain] = []
    done, total = 0, 2 * len(prompts) * (1 + len(drafters))
    for sampling in (replace(told.sampling, temperature=0.0), told.sampling):
        plain.clear()
        for name, prompt in prompts:
            _tell_writing(NONE, sampling, done, total)
            plain.append(plain_text(writing, name, prompt, sampling))
            done += 1
        for drafter in drafters:
            parts: list[Texts] = []
            for text in plain:
                _tell_writing(drafter, sampling, done, total)
                parts.append(compare_text(writing, drafter, text))
                done += 1
            tell("texts", asdict(together(parts)))
    tell_progress("reading real rows", 0, 1)
    return places_in(target, draft[0] if draft else None, plain, told.sampling)


def _prompts(pair: LoadedPair, count: int) -> list[tuple[str, list[int]]]:
    first = {task.kind: task for task in reversed(built_in_tasks())}
    tasks = [first[kind] for kind in KINDS[:count]]
    return [(task.id, pair.prompt_tokens((Message(Role.USER, task.turns[0]),))) for task in tasks]


def _workers(threads: int | None) -> int:
    return max(1, min(threads or 8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4, 8))


def _tell_writing(drafter: str, sampling: SamplingSettings, done: int, total: int) -> None:
    with_guesses = "without guesses" if drafter == NONE else f"with guesses: {drafter}"
    tell_progress(f"writing, {'coupled' if sampling.temperature else 'greedy'}, {with_guesses}", done, total)


def _tell_loading(progress: LoadProgress) -> None:
    tell_progress(progress.words, round(progress.fraction * 100), 100)
