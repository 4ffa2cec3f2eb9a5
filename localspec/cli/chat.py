"""`localspec chat`: its options, and whether it is one answer or a conversation."""

from __future__ import annotations

import argparse
import os
import sys
import threading

from localspec import locations
from localspec.cli.setting_options import add_settings
from localspec.errors import UsageError
from localspec.settings import Sources, from_environment, from_file, from_flags

_DESCRIPTION = """\
Talk to a model. With a prompt (-p, or text piped to stdin) it answers once and
leaves; with both, the piped text follows the prompt. Without one it is a
conversation, line by line; /help in it lists its commands.
Ctrl-C stops an answer, a second one in a row leaves."""

_EPILOG = """\
Every option but -p, --plain and --json is also a setting:
LOCALSPEC_DRAFT_LENGTH=2 in the environment, or draft_length = 2 in the file
  {file}
An option is stronger than the environment, that than what you changed for the
pair in the app, that than the file, the file than what the pair recommends.

examples:
  localspec chat --pair demo
  localspec chat -p "Explain this" < program.py
  localspec chat -p "Name three colours" --json --temperature 0
  localspec chat --target big.gguf --draft small.gguf --draft-length 4 --stats

--json prints one object, "schema": 1: text, thinking, finish, tokens, context,
timings, statistics (acceptance, tau, origins, ...), seed, acceptance_rule,
lossless, models, settings, error."""

_NOTICE_AFTER_SECONDS = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec chat`: its own, then one for each setting."""
    parser.usage = "localspec chat [-p TEXT] [options]"
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG.format(file=locations.settings_file()).replace("%", "%%")
    own = parser.add_argument_group("what to do")
    own.add_argument("-p", "--prompt", metavar="TEXT", help="answer this and leave")
    own.add_argument("--plain", action="store_true", help="the line conversation, also when stdin is not a terminal")
    own.add_argument("--json", action="store_true", help="print the answer as one JSON object, figures included")
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Answer once, or hold a conversation.

    Raises:
        LocalspecError: anything that keeps it from the first answer.
    """
    if arguments.json and arguments.plain:
        raise UsageError("--json and --plain exclude each other", "", "--json prints one answer; give it one prompt.")
    sources = Sources(from_flags(vars(arguments)), from_environment(os.environ), from_file(locations.settings_file()))
    prompt = _prompt(arguments)
    # numpy and the messages of the engine come in only now: wrong calls and --help are answered without them.
    from localspec.cli.models import choose_models  # noqa: PLC0415 - as said
    from localspec.cli.once import answer_once  # noqa: PLC0415 - as said
    from localspec.cli.repl import converse  # noqa: PLC0415 - as said
    from localspec.terminal import Terminal  # noqa: PLC0415 - as said

    terminal = Terminal(sys.stdout, sys.stderr)
    choice = choose_models(sources, terminal)
    if prompt is None:
        return converse(choice.settings, choice.loading, terminal)
    as_json: bool = arguments.json
    return answer_once(prompt, choice.settings, choice.loading, terminal, as_json=as_json)


def _prompt(arguments: argparse.Namespace) -> str | None:
    """What to answer once; None for a conversation.

    Raises:
        UsageError: there is nothing to answer, or it is not text.
    """
    person = sys.stdin is None or sys.stdin.isatty() or arguments.plain
    if arguments.prompt is None and person:
        if arguments.json:
            raise UsageError("--json needs a prompt", "It prints one answer.", "Give it with -p, or on stdin.")
        return None
    prompt = "\n\n".join(part for part in (arguments.prompt, "" if person else _piped()) if part)
    if not prompt.strip():
        raise UsageError("The prompt is empty", "", "Give it with -p, or pipe it to stdin; --plain reads line by line.")
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise UsageError("The prompt is not text", "It holds bytes that are not UTF-8.") from None
    return prompt


def _piped() -> str:
    """All of stdin, without the line end that closes it.

    Raises:
        UsageError: it is not UTF-8.
    """
    # Started from another program, stdin may be a pipe that nobody will ever close: say what the wait is for.
    notice = threading.Timer(
        _NOTICE_AFTER_SECONDS, print, ("localspec: waiting for the end of stdin",), {"file": sys.stderr}
    )
    notice.daemon = True
    notice.start()
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        where = f"Byte {error.start + 1:,} is not UTF-8."
        raise UsageError(
            "What was piped to stdin is not text", where, "Convert it first; a binary file cannot be read."
        ) from None
    finally:
        notice.cancel()
