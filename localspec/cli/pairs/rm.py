"""`localspec rm`: deletes what a pair has on this machine, and says what that freed and what stays."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from localspec.cli.pairs.layout import facts, print_json, print_words

if TYPE_CHECKING:
    from localspec.pairs.remove import Removed

_DESCRIPTION = """\
Delete the files of a pair, and what a pull that did not end left of them. A
file stays, and you are told why, when another pair that is here uses it, or
when localspec did not fetch it itself. You are not asked: all of it can be
pulled again. A pair that you put together with `pull --target ... --draft ...`
is forgotten, too."""

_EPILOG = """\
--json prints one object, "schema": 1: pair, freed_bytes, forgotten, and files,
for each file, path, freed_bytes, kept_because ("" when it is gone)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec rm`."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("pair", metavar="PAIR", help="a name that `localspec list` shows")
    parser.add_argument("--json", action="store_true", help='print one JSON object, "schema": 1')


def run(arguments: argparse.Namespace) -> int:
    """Delete, and print what became of it.

    Raises:
        UsageError: there is no such pair.
        LocalspecError: a file cannot be deleted.
    """
    from localspec.cli.pairs.named import named_pair  # noqa: PLC0415 - the help of the command has no time for it
    from localspec.pairs.as_json import removed_values  # noqa: PLC0415 - as above
    from localspec.pairs.catalog import load_catalog  # noqa: PLC0415 - as above
    from localspec.pairs.remove import remove_pair  # noqa: PLC0415 - as above

    catalog = load_catalog()
    removed = remove_pair(named_pair(catalog, arguments.pair), catalog)
    if arguments.json:
        print_json(removed_values(removed))
    else:
        print_words(_as_words(removed))
    return 0


def _as_words(removed: Removed) -> list[str]:
    from localspec.pairs.words import forgotten_words, removed_rows, removed_title  # noqa: PLC0415 - as above

    rows, forgotten = removed_rows(removed), forgotten_words(removed)
    return [removed_title(removed), *(facts(rows) if rows else []), *([forgotten] if forgotten else [])]
