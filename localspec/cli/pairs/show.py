"""`localspec show`: all that is known of a pair."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from localspec.cli.pairs.layout import facts, print_json, print_words

if TYPE_CHECKING:
    from localspec.pairs.listing import PairDetails

_DESCRIPTION = """\
Show what a pair is made of, on which terms, where its files are, and how it
fits this machine. The hub is not asked."""

_EPILOG = """\
--json prints one object, "schema": 1: pair (its entry), pulled, target_path,
draft_path, partial_bytes, fits, fit; when both files are here also target and
draft (architecture, layers, vocabulary, trained_context, weights_bytes) and
memory (what each takes in bytes, and the largest context that fits); problem,
why they cannot or should not run together, or null."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec show`."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("pair", metavar="PAIR", help="a name that `localspec list` shows")
    parser.add_argument("--json", action="store_true", help='print one JSON object, "schema": 1')


def run(arguments: argparse.Namespace) -> int:
    """Print what is known.

    Raises:
        UsageError: there is no such pair.
    """
    from localspec.cli.pairs.named import named_pair  # noqa: PLC0415 - the help of the command has no time for it
    from localspec.pairs.as_json import details_values  # noqa: PLC0415 - as above
    from localspec.pairs.catalog import load_catalog  # noqa: PLC0415 - as above
    from localspec.pairs.listing import show_pair  # noqa: PLC0415 - as above
    from localspec.pairs.machine_memory import machine_memory  # noqa: PLC0415 - as above

    details = show_pair(named_pair(load_catalog(), arguments.pair), machine_memory())
    if arguments.json:
        print_json(details_values(details))
    else:
        print_words(_as_words(details))
    return 0


def _as_words(details: PairDetails) -> list[str]:
    from localspec.pairs.words import details_rows  # noqa: PLC0415 - as above

    state = details.state
    pair = state.pair
    chat = f"localspec chat --pair {pair.name}" if state.pulled else f"localspec pull {pair.name}"
    return [
        f"{pair.name}: {pair.title}",
        *facts(details_rows(details)),
        "",
        f"{'Talk to it' if state.pulled else 'Fetch it'}: {chat}",
    ]
