"""`localspec verify`: its options, and the verdict."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from localspec import locations
from localspec.cli.setting_options import add_settings
from localspec.decoding.drafter_names import NEEDS_MODEL
from localspec.decoding.rules import contradiction
from localspec.errors import LocalspecError, UsageError
from localspec.settings import Sources, from_environment, from_file, from_flags

if TYPE_CHECKING:
    from localspec.bench.losslessness.assignment import Assignment
    from localspec.bench.losslessness.findings import Findings
    from localspec.settings.choice import Choice

SCHEMA = 2

PLANTS = (
    "residual-is-p",
    "p-and-q-swapped",
    "always-accepts",
    "bonus-from-q",
    "block-corrects-with-p",
    "block-first-failure",
    "block-passes-by-share",
    "block-bonus-from-q",
    "tree-residual-not-updated",
    "tree-corrects-with-p",
    "tree-forgets-last-residual",
    "tree-q-not-renormalised",
    "tree-draws-with-replacement",
    "tree-likeliest-sibling",
    "tree-ordered-by-p",
    "tree-last-first",
    "tree-lookup-said-drawn",
)
"""As `losslessness.planted.PLANTED`, which the help has no time to import; a test compares the two."""

_DESCRIPTION = """\
Check on your own pair that speculation changes nothing but the time:
- texts with the guesses of --drafter and without any, greedy and at a
  temperature; where they part, how little decides there, and whether rounding
  explains it;
- draws from the real accept-and-resample code on the pair's own distributions,
  100,000 at each of 50 places (30,000 where a place has several guesses),
  against the target's by chi-square tests;
- the same tests on rules with planted errors, which must be found.
Leaves with 0 when all is exact, with 1 when not."""

_EPILOG = """\
With --drafter auto every source is looked at that it may choose. A draft has as
many guesses as --draft-length says, else 3: what pays would be another number
at each run, or none. Those of tree and lookahead have 8 or more, and a tree
branches whatever that is worth.

The acceptance rule under test is the one of the settings, and auto stands for
what it does at a temperature: --acceptance typical fails, as it does not keep
the target's distribution. At temperature 0 the draws are made at 0.8.

A target alone is verified with what guesses without a draft model: ngram,
lookahead.

--json prints one object, "schema": 2: fine, verdict, texts (one for each source
and temperature), draws (one for each rule: positions with their p-values and
total variations), caught, models, seconds."""

_MEANINGLESS = frozenset({"drop_oldest", "stats", "stop", "speculation", "max_tokens", "system"})
_SIZES = {
    True: {"prompts": 2, "max_tokens": 32, "sequences": 10_000, "tree_sequences": 5_000, "control_sequences": 2_500},
    False: {"prompts": 4, "max_tokens": 48, "sequences": 100_000, "tree_sequences": 30_000, "control_sequences": 2_500},
}
"""How much is looked at with --quick, and without."""

_TEMPERATURE = 0.8
_SEED = 7
_CONTEXT = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec verify`: its own, then the settings."""
    parser.usage = "localspec verify [options]"
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    own = parser.add_argument_group("what to do")
    quick = "fewer and shorter texts, a tenth of the draws, or of those of trees a sixth"
    own.add_argument("--quick", action="store_true", help=quick)
    own.add_argument("--json", action="store_true", help="print one JSON object")
    own.add_argument(
        "--plant", metavar="ERROR", choices=PLANTS, help=f"test a wrong rule, to see it fail: {', '.join(PLANTS)}"
    )
    add_settings(parser, _MEANINGLESS, {"seed": f"{_SEED}", "context": f"the pair's own, else {_CONTEXT}"})


def run(arguments: argparse.Namespace) -> int:
    """Look into the pair, and say what was found.

    Raises:
        UsageError: nothing guesses, or a setting that cannot be.
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

    settings, alone = choice.settings, choice.loading.draft is None
    speculation = settings.speculating(with_draft=not alone)
    if not speculation.enabled:
        needs = alone and settings.drafter in NEEDS_MODEL
        raise UsageError(
            "There is nothing to verify: nothing guesses",
            f"The drafter {settings.drafter} needs a draft model." if needs else "These settings turn speculation off.",
            "Name one with --draft, or choose a pair, or another drafter." if needs else "Choose another drafter.",
        )
    if plant and alone:
        raise UsageError(
            "A wrong rule shows only where a draft model guesses",
            "Its errors are in what it does with guesses that were drawn.",
            "Name one with --draft, or choose a pair, or a drafter that uses one.",
        )
    rule = "auto" if settings.acceptance == "greedy" else settings.acceptance
    temperature = settings.temperature or _TEMPERATURE
    if wrong := contradiction(rule, speculation.drafter, temperature):
        raise UsageError(*wrong)
    return Assignment(
        loading=replace(choice.loading, context=settings.context or _CONTEXT, costs=False),
        sampling=replace(
            settings.sampling(), temperature=temperature, seed=_SEED if settings.seed is None else settings.seed
        ),
        drafter=speculation.drafter,
        rule=plant or rule,
        draft_length=None if speculation.draft_length == "auto" else speculation.draft_length,
        **_SIZES[quick],
    )


def _tell(found: Findings, failure: LocalspecError | None, *, as_json: bool) -> None:
    from localspec.bench.losslessness.words import lines_of, verdict  # noqa: PLC0415 - as in `run`
    from localspec.cli.pairs.layout import print_json, print_words  # noqa: PLC0415 - as in `run`

    if as_json:
        values: dict[str, Any] = asdict(found)
        told = verdict(found) if failure is None else [failure.title]
        print_json({"schema": SCHEMA, "fine": found.fine and failure is None, "verdict": told, **values})
    elif failure is None:
        print_words(lines_of(found))
