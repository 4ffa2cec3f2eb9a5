"""How the commands about pairs lay their answers out: 80 columns, or one JSON object."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Mapping

from localspec.terminal import Terminal

SCHEMA = 1
WIDTH = 80


def print_words(lines: Iterable[str]) -> None:
    """Write lines to stdout; nothing in them can steer a terminal."""
    terminal = Terminal(sys.stdout, sys.stderr)
    terminal.write("".join(f"{line}\n" for line in lines))
    terminal.end_answer()


def print_json(values: Mapping[str, object]) -> None:
    """Write one JSON object to stdout, in ASCII only, with the number of its form as "schema"."""
    print_words([json.dumps({"schema": SCHEMA, **values}, indent=2)])


def sentence(text: str, indent: str = "") -> list[str]:
    """A text in lines of at most 80 columns; a path or an address that is longer stays whole, to be copied."""
    wrapper = textwrap.TextWrapper(
        WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line for part in text.split("\n") for line in wrapper.wrap(part)]


def facts(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of a name and what it is, the latter set in a column of its own; a row without a text is left out."""
    shown = [(name, text) for name, text in rows if text.strip()]
    column = max(len(name) for name, _ in shown) + 4
    lines: list[str] = []
    for name, text in shown:
        first, *others = sentence(text, " " * column)
        lines += [f"  {name}".ljust(column) + first.lstrip(), *others]
    return lines
