"""`localspec list`: the pairs there are, what of them is here, and which fit this machine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from localspec.cli.pairs.layout import WIDTH, print_json, print_words, sentence
from localspec.pairs.sizes import gigabytes

if TYPE_CHECKING:
    from localspec.pairs.listing import PairState
    from localspec.pairs.memory_fit import Memory

_DESCRIPTION = """\
List the pairs that can be named: those that come with localspec, those of
earlier pulls, and those of your own models.toml. The hub is not asked."""

_EPILOG = """\
SIZE is that of both files, PULLED whether they are here. FITS says whether
this machine's memory holds the pair: judged by its files when they are here,
else by what the catalog says; a line below says why not.

--json prints one object, "schema": 1: memory (name, total_bytes, usable_bytes)
and pairs, for each pair (its entry), pulled, target_path, draft_path,
partial_bytes, fits, fit."""

_LONGEST_NAME = 28
_EMPTY = "?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec list`."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("--json", action="store_true", help='print one JSON object, "schema": 1')


def run(arguments: argparse.Namespace) -> int:
    """Print the list.

    Raises:
        UsageError: a catalog has a mistake.
    """
    from localspec.pairs.as_json import state_values  # noqa: PLC0415 - the help of the command has no time for it
    from localspec.pairs.catalog import load_catalog  # noqa: PLC0415 - as above
    from localspec.pairs.listing import list_pairs  # noqa: PLC0415 - as above
    from localspec.pairs.machine_memory import machine_memory  # noqa: PLC0415 - as above

    memory = machine_memory()
    states = list_pairs(load_catalog(), memory)
    if arguments.json:
        told = {"name": memory.name, "total_bytes": memory.total, "usable_bytes": memory.usable}
        print_json({"memory": told, "pairs": [state_values(state) for state in states]})
    else:
        print_words(_as_words(states, memory))
    return 0


def _as_words(states: list[PairState], memory: Memory) -> list[str]:
    from localspec.pairs.words import pulled_word  # noqa: PLC0415 - as above

    names = [len(state.pair.name) for state in states if len(state.pair.name) <= _LONGEST_NAME]
    width = max(names, default=4)
    lines = [_row(f"{'NAME':<{width}}", ("SIZE", "PULLED", "FITS"), "LICENCE")]
    for state in states:
        pair = state.pair
        size = gigabytes(pair.bytes) if pair.bytes else _EMPTY
        name = pair.name
        if len(name) > width:
            # It is there to be copied: cutting it would be worse than a line of its own.
            lines.append(name)
            name = ""
        cells = size, pulled_word(state), "yes" if state.fits else "no"
        lines.append(_row(f"{name:<{width}}", cells, pair.licence or _EMPTY))
        if not state.fits:
            lines += sentence(state.fit_words, "  ")
    has = f"This machine has {gigabytes(memory.total)} of {memory.name}; models may take {gigabytes(memory.usable)}."
    return [*lines, "", *sentence(f"{has} `localspec show NAME` says more, `localspec pull NAME` fetches a pair.")]


def _row(name: str, cells: tuple[str, str, str], licence: str) -> str:
    size, pulled, fits = cells
    row = f"{name}  {size:>7}  {pulled:<6}  {fits:<4}  {licence}"
    return row if len(row) <= WIDTH else f"{row[: WIDTH - 1]}…"
