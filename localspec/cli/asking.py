"""A question that a person answers with yes or no."""

from __future__ import annotations

import sys

from localspec import locations
from localspec.cli.line_reader import LineReader

_YES = {"y", "yes"}
_NO = {"n", "no"}


def person_is_there() -> bool:
    """Whether somebody reads what is written and can answer: a script has at least one of the three elsewhere."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def ask_yes(question: str, *, default: bool) -> bool:
    """The answer to `question`; a mere Enter means `default`, the end of input means no.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    reader = LineReader(locations.prompt_history_file())
    while True:
        try:
            answer = reader.ask(f"{question} [{'Y/n' if default else 'y/N'}] ").strip().lower()
        except EOFError:
            print()
            return False
        except KeyboardInterrupt:
            # What comes next, the shell's prompt, must not stand on the question's line.
            print()
            raise
        if answer in _YES | _NO or not answer:
            return default if not answer else answer in _YES
