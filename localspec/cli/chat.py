"""`localspec chat`: its options, and whether it is one answer or a conversation."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from typing import TYPE_CHECKING

from localspec import locations
from localspec.cli.setting_options import add_settings
from localspec.errors import UsageError
from localspec.settings import Sources, from_environment, from_file, from_flags

if TYPE_CHECKING:
    from localspec.conversations.conversation import Attachment

_DESCRIPTION = """\
Talk to a model. On a terminal it is a full-screen app, F1 in it shows its keys;
--plain is a conversation line by line. With a prompt (-p, or text piped to
stdin) it answers once and leaves; with both, the piped text follows the prompt.
Ctrl-C stops an answer, a second one in a row leaves."""

_EPILOG = """\
Every option but those of the first group is also a setting:
LOCALSPEC_DRAFT_LENGTH=2 in the environment, or draft_length = 2 in the file
  {file}
An option is stronger than the environment, that than what you changed for the
pair in the app, that than the file, the file than what the pair recommends.

examples:
  localspec chat --pair demo
  localspec chat --resume                   # the latest conversation
  git diff | localspec chat --attach -      # ask about it in the app
  localspec chat -p "Explain this" < program.py
  localspec chat -p "Name three colours" --json --temperature 0
  localspec chat --target big.gguf --draft small.gguf --draft-length 4 --stats
  localspec chat --target big.gguf --drafter ngram     # the text itself guesses

--json prints one object, "schema": 1: text, thinking, finish, tokens, context,
timings, statistics (acceptance, tau, origins, ...), drafting (who guesses, how
many, why), seed, acceptance_rule, lossless, models, settings, error."""

_NOTICE_AFTER_SECONDS = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec chat`: its own, then one for each setting."""
    parser.usage = "localspec chat [-p TEXT] [options]"
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG.format(file=locations.settings_file()).replace("%", "%%")
    own = parser.add_argument_group("what to do")
    own.add_argument("-p", "--prompt", metavar="TEXT", help="answer this and leave")
    own.add_argument("--plain", action="store_true", help="line by line instead of the full-screen app")
    own.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="WORDS",
        help="go on with the latest conversation, or with the latest that holds WORDS",
    )
    own.add_argument(
        "--attach",
        action="append",
        metavar="FILE",
        default=[],
        help="a text file that goes along with the first question; - for stdin; repeatable",
    )
    own.add_argument("--json", action="store_true", help="print the answer as one JSON object, figures included")
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Answer once, or hold a conversation.

    Raises:
        LocalspecError: anything that keeps it from the first answer.
    """
    _check_calls(arguments)
    sources = Sources(from_flags(vars(arguments)), from_environment(os.environ), from_file(locations.settings_file()))
    attachments = _attachments(arguments.attach)
    no_app = _refuse_what_only_the_app_does(arguments)
    prompt = _prompt(arguments)
    # numpy and the messages of the engine come in only now: wrong calls and --help are answered without them.
    if not no_app:
        from localspec.tui.run import run_app  # noqa: PLC0415 - as said

        return run_app(sources, attachments, arguments.resume)
    from localspec.cli.models import choose_models  # noqa: PLC0415 - as said
    from localspec.cli.once import answer_once  # noqa: PLC0415 - as said
    from localspec.cli.repl import converse  # noqa: PLC0415 - as said
    from localspec.terminal import Terminal  # noqa: PLC0415 - as said

    terminal = Terminal(sys.stdout, sys.stderr)
    choice = choose_models(sources, terminal)
    if prompt is None:
        return converse(choice.settings, choice.loading, terminal)
    as_json: bool = arguments.json
    if attachments:
        from localspec.conversations.conversation import with_attachments  # noqa: PLC0415 - as said

        prompt = with_attachments(prompt, attachments)
    return answer_once(prompt, choice.settings, choice.loading, terminal, as_json=as_json)


def _check_calls(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: some do not.
    """
    if arguments.json and arguments.plain:
        raise UsageError("--json and --plain exclude each other", "", "--json prints one answer; give it one prompt.")
    once = arguments.prompt is not None or arguments.json
    if arguments.resume is not None and (once or arguments.plain):
        raise UsageError("--resume is for the app", "", "Leave out -p, --json and --plain, on a terminal.")
    if arguments.attach and arguments.plain:
        raise UsageError("--attach is for the app and for -p", "", "Leave out --plain.")


def _refuse_what_only_the_app_does(arguments: argparse.Namespace) -> str:
    """What keeps the app from running; "" when nothing does.

    Raises:
        UsageError: then an option would be left out that was given.
    """
    once = arguments.prompt is not None or arguments.json or not _person_writes(arguments)
    why = "A prompt, from -p or from what is piped to stdin, is answered once." if once else _why_in_lines(arguments)
    if why and arguments.resume is not None:
        hint = "Run it on a terminal; there --attach - takes a pipe along. Or leave --resume out."
        raise UsageError("--resume is for the app", why, hint)
    if why and arguments.attach and not once:
        raise UsageError("--attach is for the app and for a prompt", why, "Run it on a terminal, or ask with -p.")
    return why


def _person_writes(arguments: argparse.Namespace) -> bool:
    """Whether stdin is a person's, or lines of a conversation."""
    return sys.stdin is None or sys.stdin.isatty() or arguments.plain


def _why_in_lines(arguments: argparse.Namespace) -> str:
    """Why a conversation is one line by line; "" when the app holds it."""
    if arguments.plain:
        return "--plain is a conversation line by line."
    if os.environ.get("TERM") == "dumb":
        return "This terminal cannot be drawn on (TERM=dumb), so that a conversation is one line by line."
    return "" if sys.stdout.isatty() else "Standard output is no terminal, so that a conversation is one line by line."


def _attachments(names: list[str]) -> tuple[Attachment, ...]:
    """The files to send along, read; "-" stands for stdin, and leaves the keyboard in its place.

    Raises:
        UsageError: one cannot be read, or is not text.
    """
    if not names:
        return ()
    from localspec.conversations.conversation import Attachment  # noqa: PLC0415 - brings numpy: --help has no time for it
    from localspec.tui.attachments import read_attachment  # noqa: PLC0415 - as said

    read = []
    for name in names:
        if name == "-":
            read.append(Attachment("stdin", _piped()))
            _keyboard_as_stdin()
        else:
            read.append(read_attachment(name))
    return tuple(read)


def _keyboard_as_stdin() -> None:
    """Let the terminal be stdin after a pipe was read to its end, where there is one."""
    try:
        keyboard = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return
    os.dup2(keyboard, 0)
    os.close(keyboard)


def _prompt(arguments: argparse.Namespace) -> str | None:
    """What to answer once; None for a conversation.

    Raises:
        UsageError: there is nothing to answer, or it is not text.
    """
    person = _person_writes(arguments)
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
