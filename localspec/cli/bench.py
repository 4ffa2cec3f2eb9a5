"""`localspec bench`: its options, and what to do with them."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from localspec import locations
from localspec.cli.setting_options import add_settings
from localspec.errors import UsageError
from localspec.settings import Sources, from_environment, from_file, from_flags

_USAGE = """localspec bench [--arms ARM,ARM,...] [options]
       localspec bench compare FIRST.json SECOND.json"""

_DESCRIPTION = """\
Measure what speculation is worth on this machine: the same prompts with every
arm, prompt by prompt, each from the same state of the caches, after a warm-up.
A difference is called real only when its 95 % interval leaves out 1.

`compare` says what changed between two benchmarks that --json wrote."""

_EPILOG = """\
arms, separated by commas; words joined by + make one arm:
  off         speculation off: what the others are compared with
  on          as the settings have it
  3           3 tokens a draft (0 to 31)
  auto        as many as pay, decided token by token
  coupled     an acceptance rule: greedy, rejection, block, coupled, or typical
              (NOT the target's distribution)
  ngram       a drafter: model, ngram, hybrid, tree, lookahead, cascade, pruned
  choose      for each answer the drafter that promises most, hybrid in case of
              doubt (--drafter auto)
  t0.8        a temperature
  pair=NAME   another pair of models, loaded beside the first

examples:
  localspec bench --limit 1
  localspec bench --arms off,2,3,4 --kinds code,rewrite --runs 3 --html out.html
  localspec bench --arms off+t0.8,3+t0.8,3+coupled+t0.8 --json out.json
  localspec bench --tasks spec_bench.jsonl --limit 3

Records are kept in {folder}
as they come. After Ctrl-C or a crash, the same call with --resume goes on.
--tasks takes Spec-Bench's format, one object a line: question_id, category and
turns (all of them are asked, each with the answers before it).
--json writes "schema": 1: plan, environment, models, pass_times, records (one a
generation: category, arm, prompt_id, run, turn, tokens_per_second,
time_to_first_token, token_ids, statistics, rounds, ...) and report."""

MEANINGLESS = frozenset({"drop_oldest", "stats", "stop"})
"""Settings that a benchmark has no use for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec bench`: its own, then the settings."""
    parser.usage = _USAGE
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG.format(folder=locations.bench_folder()).replace("%", "%%")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    own = parser.add_argument_group("what to do")
    own.add_argument("--arms", metavar="ARMS", default="off,on", help="what to compare, see below (default: off,on)")
    own.add_argument("--tasks", metavar="FILE", type=Path, help="prompts in JSON lines (default: the built-in ones)")
    own.add_argument("--kinds", metavar="KINDS", default="", help="only these kinds of prompts, separated by commas")
    own.add_argument("--limit", metavar="N", type=_count, help="only the first N prompts of each kind")
    own.add_argument("--runs", metavar="N", type=_count, default=1, help="how often everything is done (default: 1)")
    own.add_argument("--json", metavar="FILE", type=Path, help="write all records and figures")
    own.add_argument("--html", metavar="FILE", type=Path, help="write one page with plots; it needs no network")
    own.add_argument(
        "--resume", action="store_true", help="go on with the last one, if it is the same, on the same builds"
    )
    defaults = {"temperature": "0", "seed": "1", "max_tokens": "128"}
    add_settings(parser, MEANINGLESS, defaults)


def run(arguments: argparse.Namespace) -> int:
    """Measure and report, or compare.

    Raises:
        LocalspecError: it could not begin, or an engine failed; what was measured until then was reported.
    """
    words: list[str] = arguments.words
    # numpy and the engine come in only now: wrong calls and --help are answered without them.
    if words:
        if words[0] != "compare" or len(words) != 3:
            given = " ".join(words)
            raise UsageError(f"{given} is not understood", "", "Options, or: localspec bench compare A.json B.json")
        from localspec.cli.benching.comparing import compare_files  # noqa: PLC0415 - as said

        return compare_files(Path(words[1]), Path(words[2]))
    from localspec.cli.benching.measuring import Outputs, measure  # noqa: PLC0415 - as said
    from localspec.cli.benching.planning import Wanted, make_plan  # noqa: PLC0415 - as said
    from localspec.terminal import Terminal  # noqa: PLC0415 - as said

    terminal = Terminal(sys.stdout, sys.stderr)
    outputs = Outputs(arguments.json, arguments.html)
    outputs.check()
    wanted = Wanted(
        arms=arguments.arms,
        tasks=arguments.tasks,
        kinds=tuple(filter(None, arguments.kinds.split(","))),
        limit=arguments.limit,
        runs=arguments.runs,
    )
    sources = Sources(
        from_flags({name: value for name, value in vars(arguments).items() if name not in MEANINGLESS}),
        from_environment(os.environ),
        from_file(locations.settings_file()),
    )
    prepared = make_plan(wanted, sources, terminal)
    return measure(prepared, outputs, terminal, resume=arguments.resume)


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return number
