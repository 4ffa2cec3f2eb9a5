"""The commands: this file reads the command line, calls one function, and turns every failure into words."""

from __future__ import annotations

import argparse
import difflib
import importlib
import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from localspec import __version__, locations
from localspec.cli.failures import words_of
from localspec.errors import INTERRUPTED, LocalspecError, UsageError
from localspec.terminal import visible


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        name: what the person types.
        help: one line for the list of commands.
        module: where its `add_arguments(parser)` and `run(arguments) -> int` are; imported only when it is chosen.
    """

    name: str
    help: str
    module: str


COMMANDS = (
    Command("chat", "talk to a model", "localspec.cli.chat"),
    Command("pull", "fetch a pair of models, checked before its gigabytes", "localspec.cli.pairs.pull"),
    Command("list", "the pairs there are, and which fit this machine", "localspec.cli.pairs.list"),
    Command("show", "all that is known of a pair", "localspec.cli.pairs.show"),
    Command("match", "which drafts on this machine fit a model, and why not the others", "localspec.cli.pairs.match"),
    Command("rm", "delete a pair's files, but none that others use", "localspec.cli.pairs.rm"),
    Command("bench", "measure what speculation is worth here, and compare settings", "localspec.cli.bench"),
    Command("calibrate", "measure what passes cost here, for the automatic draft length", "localspec.cli.calibrate"),
    Command("prune", "make a draft of a model's own layers, if that pays here", "localspec.cli.prune"),
    Command("explain", "what speculation does on this machine, from figures measured now", "localspec.cli.explain"),
    Command("verify", "check that speculation changes nothing but the time", "localspec.cli.verify"),
    Command("doctor", "check this machine and say what to do", "localspec.cli.doctor"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: the words after the program's name; None for those of the process.

    Returns:
        0 fine, 1 it failed, 2 the call was wrong, 130 interrupted.
    """
    _prepare_streams()
    try:
        return _run_and_tell(sys.argv[1:] if arguments is None else arguments)
    finally:
        _drop_what_cannot_be_written()


def _run_and_tell(arguments: Sequence[str]) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except LocalspecError as error:
        _tell(error)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return 0  # the reader (head, less) has seen enough
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _tell(LocalspecError("The system refused", f"{where}{error.strerror or error}."))
        return 1
    except Exception as error:  # noqa: BLE001 - the last resort: a mistake of ours is told in words and kept in a file
        _tell(_our_mistake(error))
        return 1
    return code


class _Parser(argparse.ArgumentParser):
    """Wrong calls become a UsageError; the arguments of a command are added when it is chosen, so that help is fast."""

    def __init__(self, *, module: str | None = None, **kwargs: Any) -> None:
        super().__init__(
            allow_abbrev=False, add_help=False, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs
        )
        self.add_argument("-h", "--help", action="help", help="show this and leave")
        self._module = module

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._module:
            command = importlib.import_module(self._module)
            self._module = None
            command.add_arguments(self)
            self.set_defaults(run=command.run)
        return super().parse_known_args(args, namespace)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, unknown = self.parse_known_args(args, namespace)
        if unknown:
            # The sub-parser that knows the options is `known.parser`; this one knows only the commands.
            known.parser.error(f"there is no {unknown[0].split('=')[0]}")
        return known

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse leaves with 0 when its help cannot be written.
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        word = message.rpartition(" ")[2]
        near = difflib.get_close_matches(word, self._option_string_actions, n=1) if word.startswith("-") else []
        hint = f"Did you mean {near[0]}? " if near else ""
        if unknown := re.search(r"invalid choice: '(.*?)'", message):
            message = f"there is no command {unknown[1]}"
        if message.endswith("expected one argument"):
            # argparse takes a word with a dash in front for an option.
            hint = "A value that starts with a dash is written with an equals sign: --option=-value. "
        title = message.removeprefix("argument ")
        raise UsageError(title[:1].upper() + title[1:], "", f"{hint}`{self.prog} --help` says what there is.")


def _run(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="localspec",
        description="Chat with a large model on your own machine: a small model guesses, the large\n"
        "one checks, and the text is exactly the large one's own.",
    )
    parser.add_argument(
        "--version", action="version", version=f"localspec {__version__}", help="show the version and leave"
    )
    parser.set_defaults(run=None, parser=parser)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for command in COMMANDS:
        added = commands.add_parser(command.name, help=command.help, module=command.module)
        added.set_defaults(parser=added)
    try:
        chosen = parser.parse_args(arguments)
    except SystemExit:  # after --help and --version
        sys.stdout.flush()
        raise
    if chosen.run is None:
        parser.print_help()
        return 0
    code: int = chosen.run(chosen)
    return code


def _prepare_streams() -> None:
    """Make both streams safe to write to: a closed one swallows, an unknown character becomes a question mark."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open as long as the program
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _tell(error: LocalspecError) -> None:
    """Say on stderr what went wrong, why, and what to do."""
    with suppress(OSError):  # then the exit code alone says it
        print(visible(words_of(error)), file=sys.stderr)


def _drop_what_cannot_be_written() -> None:
    """Python flushes both streams once more at exit: it would complain, and leave with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)


def _our_mistake(error: Exception) -> LocalspecError:
    """Words for an error that nobody foresaw; its traceback goes to a file."""
    file = locations.log_folder() / "last-failure.txt"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(traceback.format_exception(error)), "utf-8")
        kept = f"The details are in {file}."
    except OSError as unwritable:
        kept = f"The details could not be written to {file}: {unwritable}."
    return LocalspecError(f"A mistake in localspec: {type(error).__name__}: {error}", kept, "Please report it.")
