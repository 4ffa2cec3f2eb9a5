"""Slash commands: a text that begins with / and a word asks for an action instead of being sent."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from localspec.tui.actions import ACTIONS, BY_SLASH, Action

_SHAPE = re.compile(r"/([A-Za-z-]+)(?:\s+(.*))?\s*", re.DOTALL)

_ELSEWHERE = {
    "bye": "quit",
    "clear": "new",
    "exit": "quit",
    "history": "conversations",
    "load": "conversations",
    "model": "pairs",
    "models": "pairs",
    "save": "export",
    "search": "conversations",
    "set": "settings",
    "stats": "figures",
    "undo": "edit",
}
"""What other programs, and the conversation in lines, call the same."""


@dataclass(frozen=True, slots=True)
class Command:
    """An action a person asked for in writing.

    Attributes:
        action: what is to be done.
        argument: what was written after the word; "" for nothing.
    """

    action: Action
    argument: str


@dataclass(frozen=True, slots=True)
class Slip:
    """A text that looks like a command and is none.

    Attributes:
        message: what is wrong and what was perhaps meant, for the person.
    """

    message: str


def parse(text: str) -> Command | Slip | None:
    """What a text asks for: a command, something like one, or None for a text to send.

    A path, as in "/etc/hosts says ...", has another slash or a dot and is a text; so is what begins with //.
    """
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        return None
    word, argument = shape[1], (shape[2] or "").strip()
    action = BY_SLASH.get(word.lower())
    if action is not None and (action.takes or not argument):
        return Command(action, argument)
    if "\n" in text.strip():
        return None
    if action is not None:
        return Slip(f"/{action.slash} takes nothing after it. To send this as text, begin it with //.")
    return Slip(f"There is no command /{word}.{_meant(word.lower())} To send it as text, begin it with //.")


def literal(text: str) -> str:
    """A text to send, as the model is to read it: // at its beginning stands for one slash."""
    return text[1:] if text.startswith("//") else text


def matching(text: str) -> tuple[Action, ...]:
    """The actions that a command being written may become: none once its word is over, or when it is no command.

    Those whose word begins so come first, then those whose word or title holds what was written.
    """
    word = text[1:].lower()
    if not text.startswith("/") or not all(character.isalpha() or character == "-" for character in word):
        return ()
    begins = [action for action in ACTIONS if action.slash.startswith(word) and action.slash]
    holds = [action for action in ACTIONS if action.slash and (word in action.slash or word in action.title)]
    return tuple(dict.fromkeys([*begins, *holds]))


def _meant(word: str) -> str:
    close = _ELSEWHERE.get(word) or next(iter(difflib.get_close_matches(word, BY_SLASH, n=1)), "")
    return f" Did you mean /{close}?" if close else ""
