"""`localspec explain`: its options, and the pages on the terminal."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from localspec import locations
from localspec.cli.setting_options import add_settings
from localspec.errors import UsageError
from localspec.settings import Sources, from_environment, from_file, from_flags
from localspec.settings.keys import DRAFTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localspec.bench.explaining.words import Section
    from localspec.terminal import Terminal

_DESCRIPTION = """\
Explain what speculation does on this machine with your pair, from figures
measured now: what a token costs and what memory allows, what a pass of several
tokens costs, what the draft costs and how many of its guesses are kept, how
many to guess, a real round step by step, and what becomes of it with many
texts at once. It takes about half a minute with the demo pair and a minute or
two with larger ones. Do nothing else on the machine meanwhile."""

_EPILOG = """\
On a terminal the pages come one by one; --all prints them in one go.
--json prints one object, "schema": 1: models, bandwidth, bound, pass_seconds,
draft_step, acceptance, arms, best, batch, batch_passes, replay, notes.

examples:
  localspec explain --pair demo
  localspec explain --target big.gguf --draft small.gguf --all"""

_MEANINGLESS = frozenset({"drop_oldest", "stats", "stop", "max_tokens", "system", "drafter", *DRAFTING})
"""Settings that an explanation has no use for, or explains."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec explain`: its own, then the settings."""
    parser.usage = "localspec explain [--pair NAME] [options]"
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    own = parser.add_argument_group("what to do")
    own.add_argument("--all", action="store_true", help="all pages in one go, also on a terminal")
    own.add_argument("--json", action="store_true", help="print the figures as one JSON object instead")
    add_settings(parser, _MEANINGLESS, {"seed": "1"})


def run(arguments: argparse.Namespace) -> int:
    """Measure and explain.

    Raises:
        LocalspecError: no pair can be loaded, or a model failed.
    """
    if arguments.json and arguments.all:
        raise UsageError("--json and --all exclude each other", "", "--json has no pages.")
    given = {name: value for name, value in vars(arguments).items() if name not in _MEANINGLESS}
    environment = {**from_environment(os.environ), **DRAFTING}
    sources = Sources(from_flags(given), environment, from_file(locations.settings_file()))
    # numpy and the messages of the engine come in only now: wrong calls and --help are answered without them.
    from localspec.bench.explaining.as_json import facts_as_json  # noqa: PLC0415 - as said
    from localspec.bench.explaining.gathering import Subject, gather  # noqa: PLC0415 - as said
    from localspec.bench.explaining.sections import sections  # noqa: PLC0415 - as said
    from localspec.bench.plots import glyphs_for  # noqa: PLC0415 - as said
    from localspec.cli.answering import load  # noqa: PLC0415 - as said
    from localspec.cli.models import choose_models  # noqa: PLC0415 - as said
    from localspec.engine.client import EngineClient  # noqa: PLC0415 - as said
    from localspec.terminal import Terminal  # noqa: PLC0415 - as said

    terminal = Terminal(sys.stdout, sys.stderr)
    choice = choose_models(sources, terminal, draft_always=True)
    with EngineClient() as client:
        loaded = load(client, replace(choice.loading, costs=False), terminal)
        try:
            subject = Subject(loaded, choice.loading, choice.settings.sampling())
            facts = gather(client, subject, terminal.status)
        finally:
            terminal.clear_status()
    if arguments.json:
        terminal.write(facts_as_json(facts))
        terminal.end_answer()
        return 0
    pages = sections(facts, glyphs_for(sys.stdout.encoding))
    show(pages, terminal, by_page=not arguments.all and _person_pages())
    return 0


def show(pages: Sequence[Section], terminal: Terminal, *, by_page: bool) -> None:
    """Print the pages; `by_page` waits for Enter before each but the first, and stops at a q.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    for number, page in enumerate(pages, 1):
        if number > 1 and by_page and not _wants_more(number, len(pages)):
            return
        terminal.write(f"{number}. {page.title.upper()}\n\n")
        terminal.write("\n".join(page.lines) + ("\n" if number < len(pages) else ""))
        terminal.end_answer()


def _person_pages() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _wants_more(number: int, pages: int) -> bool:
    try:
        answer = input(f"-- Enter for page {number} of {pages}, q to leave -- ")
    except EOFError:
        print()
        return False
    except KeyboardInterrupt:
        print()
        raise
    print()
    return answer.strip().lower() not in {"q", "quit"}
