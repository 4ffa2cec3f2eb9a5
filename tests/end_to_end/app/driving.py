"""What a person does with the app in a terminal, and what of it is on the disk."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable

import psutil

from localspec.chat.events import Role
from localspec.conversations.conversation import Conversation, Entry
from localspec.conversations.store import ConversationStore
from localspec.errors import HistoryError
from tests.end_to_end.conftest import PROGRAM
from tests.end_to_end.tmux import SECONDS, Tmux

STORY = "Tell me a long story about a whale."
FISH = "Name three fish."
APP = shlex.join([*PROGRAM, "chat", "--temperature", "0"])
LOADED = "CPU, "
STOPPED = "You stopped this answer. F6 goes on with it."

Open = Callable[..., Tmux]


def start(pane: Tmux, options: str = "", before: str = "") -> None:
    """Start the app in the shell and wait until the models are loaded; its exit code is shown after it."""
    pane.type(f"{before}{APP} {options}; echo :$?:")
    pane.until(LOADED)


def leave(pane: Tmux, code: int = 0) -> None:
    """Quit, and look that the shell is there again."""
    pane.press("C-q")
    pane.until(lambda shown: re.search(rf"^:{code}:\n\$", shown, re.MULTILINE))
    assert not pane.in_full_screen


def conversation(history: ConversationStore) -> Conversation:
    """The latest one, as it is on the disk."""
    latest = history.latest()
    assert latest is not None
    return history.open(latest.id)


def last_answer(history: ConversationStore) -> Entry | None:
    """The answer at the end of the branch that is shown; None before there is one."""
    try:
        latest = history.latest()
        head = history.open(latest.id).head if latest else None
    except HistoryError:
        return None
    return head if head is not None and head.role is Role.ASSISTANT else None


def kept(history: ConversationStore, satisfies: Callable[[Entry], object]) -> Entry:
    """Wait until the last answer on the disk satisfies a function; return it."""
    deadline = time.monotonic() + SECONDS
    while not ((answer := last_answer(history)) and satisfies(answer)):
        assert time.monotonic() < deadline, f"it did not come to this in time: {answer}"
        time.sleep(0.05)
    return answer


def over(answer: Entry) -> bool:
    """Whether nothing more comes of an answer."""
    return finish(answer) not in {"", "writing"}


def has_words(count: int) -> Callable[[Entry], bool]:
    return lambda answer: len(answer.text.split()) >= count


def finish(answer: Entry) -> str:
    return answer.facts.finish if answer.facts else ""


def first_words(answer: Entry) -> str:
    """What of an answer surely stands on one screen."""
    return " ".join(answer.text.split()[:8])


def written_on(shown: str) -> str:
    """The answer at the end of a screen, but for its last word, which may not be whole."""
    after = re.split(r"SmolLM2\S+ +\d\d:\d\d", shown)[-1]
    return " ".join(" ".join(line for line in after.splitlines() if line.startswith("  ")).split()[:-1])


def shows(text: str) -> Callable[[str], bool]:
    """Whether a screen shows the words of a text, however its lines are broken."""
    return lambda shown: " ".join(text.split()) in " ".join(shown.split())


def engine(pane: Tmux) -> psutil.Process:
    """The process that holds the models."""
    return next(each for each in pane.processes() if "localspec.engine" in " ".join(each.cmdline()))


def app(pane: Tmux) -> psutil.Process:
    """The program itself."""
    return next(each for each in pane.processes() if each.cmdline()[1:4] == PROGRAM[1:])
