"""`localspec show`: all that is known of a pair."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from localspec.cli.pairs.layout import facts, print_json, print_words
from localspec.cli.pairs.licence import licence_words
from localspec.pairs.sizes import gigabytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from localspec.pairs.listing import PairDetails
    from localspec.pairs.pair import ModelFile, Pair

_DESCRIPTION = """\
Show what a pair is made of, on which terms, where its files are, and how it
fits this machine. The hub is not asked."""

_EPILOG = """\
--json prints one object, "schema": 1: pair (its entry), pulled, target_path,
draft_path, partial_bytes, fits, fit; when both files are here also target and
draft (architecture, layers, vocabulary, trained_context, weights_bytes) and
memory (what each takes in bytes, and the largest context that fits); problem,
why they cannot or should not run together, or null."""

_SOURCES = {
    "catalog": "comes with localspec",
    "own": "from your models.toml",
    "remembered": "put together by you with `localspec pull --target ... --draft ...`",
}


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
    state = details.state
    pair = state.pair
    rows = [
        ("purpose", pair.purpose),
        ("licence", licence_words(pair)),
        ("target", _file_words(pair.target, state.target)),
        ("draft", _file_words(pair.draft, state.draft)),
        ("partial", f"{gigabytes(state.kept)} of a pull that did not end" if state.kept else ""),
        ("context", f"{pair.context:,} tokens"),
        ("sampling", ", ".join(_sampling(pair))),
        ("memory", state.fit_words),
        ("fits", "yes" if state.fits else "no"),
        ("problem", details.problem.words if details.problem else ""),
        ("notes", pair.notes),
        ("source", _SOURCES[pair.source]),
    ]
    chat = f"localspec chat --pair {pair.name}" if state.pulled else f"localspec pull {pair.name}"
    return [f"{pair.name}: {pair.title}", *facts(rows), "", f"{'Talk to it' if state.pulled else 'Fetch it'}: {chat}"]


def _file_words(file: ModelFile, path: Path | None) -> str:
    size = f"{gigabytes(file.bytes)}, " if file.bytes else ""
    where = str(path) if path else "not here"
    return f"{file.file}\n{size}from {file.repo} at {file.revision[:12]}\n{where}"


def _sampling(pair: Pair) -> Iterator[str]:
    for name, value in asdict(pair.sampling).items():
        if value is not None:
            yield f"{name.replace('_', '-')} {value}"
