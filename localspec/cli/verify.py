"""`localspec verify`: its options, and the verdict."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from localspec import locations
from localspec.cli.setting_options import add_settings
from localspec.errors import LocalspecError, UsageError
from localspec.settings import Sources, from_environment, from_file, from_flags

if TYPE_CHECKING:
    from localspec.bench.losslessness.assignment import Assignment
    from localspec.bench.losslessness.findings import Findings
    from localspec.settings.choice import Choice

SCHEMA = 1
_DRAFT_LENGTH = 3
"""Where the settings leave it to the program: a length of its own accord would be another at each run."""

PLANTS = (
    "residual-is-p",
    "p-and-q-swapped",
    "always-accepts",
    "bonus-from-q",
    "block-corrects-with-p",
    "block-first-failure",
    "block-passes-by-share",
    "block-bonus-from-q",
)
"""As `losslessness.planted.PLANTED`, which the help has no time to import; a test compares the two."""

_DESCRIPTION = """\
Check on your own pair that speculation changes nothing but the time:
- texts with and without it, greedy and at a temperature; where they part, how
  little decides there, and whether rounding explains it;
- draws from the real accept-and-resample code on the pair's own distributions,
  100,000 at each of 50 places, against the target's by chi-square tests;
- the same tests on rules with planted errors, which must be found.
Leaves with 0 when all is exact, with 1 when not."""

_EPILOG = """\
The acceptance rule under test is the one of the settings: --acceptance typical
fails, as it does not keep the target's distribution. At temperature 0 the draws
are made at 0.8.

--json prints one object, "schema": 1: fine, verdict, texts, draws (positions
with their p-values and total variations), caught, models, seconds."""

_MEANINGLESS = frozenset({"drop_oldest", "stats", "stop", "speculation", "max_tokens", "system"})
_TEMPERATURE = 0.8
_SEED = 7


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec verify`: its own, then the settings."""
    parser.usage = "localspec verify [options]"
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    own = parser.add_argument_group("what to do")
    own.add_argument("--quick", action="store_true", help="fewer and shorter texts, a tenth of the draws")
    own.add_argument("--json", action="store_true", help="print one JSON object")
    own.add_argument(
        "--plant", metavar="ERROR", choices=PLANTS, help=f"test a wrong rule, to see it fail: {', '.join(PLANTS)}"
    )
    add_settings(parser, _MEANINGLESS)


def run(arguments: argparse.Namespace) -> int:
    """Look into the pair, and say what was found.

    Raises:
        UsageError: there is no draft, or a setting that cannot be.
        LocalspecError: the pair cannot be loaded, or the process that looked died.
    """
    # numpy and the messages of the engine come in only now: wrong calls and --help are answered without them.
    from localspec.bench.losslessness.findings import Findings  # noqa: PLC0415 - as said
    from localspec.bench.losslessness.verification import verify  # noqa: PLC0415 - as said
    from localspec.cli.echo import EchoOff  # noqa: PLC0415 - as said
    from localspec.cli.models import choose_models  # noqa: PLC0415 - as said
    from localspec.terminal import Terminal  # noqa: PLC0415 - as said

    terminal = Terminal(sys.stdout, sys.stderr)
    given = {name: value for name, value in vars(arguments).items() if name not in _MEANINGLESS}
    environment = {**from_environment(os.environ), "speculation": True}
    sources = Sources(from_flags(given), environment, from_file(locations.settings_file()))
    choice = choose_models(sources, terminal)
    assignment = _assignment(choice, quick=arguments.quick, plant=arguments.plant)
    found = Findings()

    def progress(what: str, done: int, total: int) -> None:
        terminal.status(f"{what[:1].upper()}{what[1:]}: {done / total:.0%}")

    failure = None
    try:
        with EchoOff():
            verify(assignment, progress, found)
    except LocalspecError as error:
        failure = error
    finally:
        terminal.clear_status()
    _tell(found, failure, as_json=arguments.json)
    if failure is not None:
        raise failure
    return 0 if found.fine else 1


def _assignment(choice: Choice, *, quick: bool, plant: str | None) -> Assignment:
    from localspec.bench.losslessness.assignment import Assignment  # noqa: PLC0415 - as in `run`

    if choice.loading.draft is None:
        raise UsageError("There is nothing to verify without a draft", "", "Name one with --draft, or choose a pair.")
    settings = choice.settings
    rule = "block" if settings.acceptance in {"auto", "greedy"} else settings.acceptance
    size = (
        {"prompts": 2, "max_tokens": 32, "sequences": 10_000, "control_sequences": 10_000}
        if quick
        else {"prompts": 4, "max_tokens": 48, "sequences": 100_000, "control_sequences": 10_000}
    )
    return Assignment(
        loading=replace(choice.loading, context=settings.context or 1024, costs=False),
        sampling=replace(
            settings.sampling(),
            temperature=settings.temperature or _TEMPERATURE,
            seed=_SEED if settings.seed is None else settings.seed,
        ),
        rule=plant or rule,
        draft_length=_DRAFT_LENGTH if settings.draft_length == "auto" else max(1, settings.draft_length),
        **size,
    )


def _tell(found: Findings, failure: LocalspecError | None, *, as_json: bool) -> None:
    from localspec.bench.losslessness.words import lines_of, verdict  # noqa: PLC0415 - as in `run`
    from localspec.cli.pairs.layout import print_json, print_words  # noqa: PLC0415 - as in `run`

    if as_json:
        values: dict[str, Any] = asdict(found)
        told = verdict(found) if failure is None else [failure.title]
        print_json({"fine": found.fine and failure is None, "verdict": told, **values})
    elif failure is None:
        print_words(lines_of(found))
