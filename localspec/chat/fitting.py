"""What of a long conversation still fits in the context."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localspec.chat.events import AnswerRequest, Message, Role
from localspec.chat.prompt import Prompt
from localspec.errors import ContextFullError


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits.

    Attributes:
        prompt: the rendered conversation.
        tokens: its ids.
        dropped: how many of the oldest messages (the system prompt not counted) were left out.
    """

    prompt: Prompt
    tokens: list[int]
    dropped: int


Encode = Callable[[Sequence[Message]], tuple[Prompt, list[int]]]
"""Renders and tokenises a conversation."""


def fit(request: AnswerRequest, capacity: int, encode: Encode, dropped_before: int) -> Fitted:
    """Leave out the oldest turns of a conversation where the request allows it and the context demands it.

    Args:
        request: the conversation, and whether turns may be left out.
        capacity: tokens the context holds.
        encode: renders and tokenises.
        dropped_before: how many messages the answer before left out. As long as that still does, no more are left out,
            since what the cache holds can only be reused while the conversation begins the same.

    Raises:
        ContextFullError: it does not fit.
    """
    system, turns = _turns(request.messages)
    prompt, tokens = encode(request.messages)
    whole = Fitted(prompt, tokens, 0)
    # An answer wants room too; but a quarter of the context is enough to begin with.
    answer = min(request.max_tokens or capacity, capacity // 4)
    if len(tokens) + answer <= capacity or (not request.drop_oldest and len(tokens) <= capacity):
        return whole
    if not request.drop_oldest:
        raise _too_long(len(tokens), capacity, alone=len(turns) == 1)
    tried = [whole]
    for dropped in itertools.accumulate(map(len, turns[:-1])):
        if dropped < dropped_before:
            continue
        candidate = Fitted(*encode((*system, *request.messages[len(system) + dropped :])), dropped)
        # Twice the room, so that the next turns need no other cut.
        room = answer if dropped == dropped_before else 2 * answer
        if len(candidate.tokens) + room <= capacity:
            return candidate
        tried.append(candidate)
    if len(tried[-1].tokens) > capacity:
        raise _too_long(len(tried[-1].tokens), capacity, alone=True)
    return next((candidate for candidate in tried if len(candidate.tokens) + answer <= capacity), tried[-1])


def _turns(messages: Sequence[Message]) -> tuple[tuple[Message, ...], list[list[Message]]]:
    """The system prompt, and the rest cut before each message of the person."""
    system = tuple(messages[:1]) if messages[0].role is Role.SYSTEM else ()
    turns: list[list[Message]] = []
    for message in messages[len(system) :]:
        if message.role is Role.USER or not turns:
            turns.append([])
        turns[-1].append(message)
    return system, turns


def _too_long(tokens: int, capacity: int, *, alone: bool) -> ContextFullError:
    what = "The last message alone" if alone else "The conversation"
    return ContextFullError(
        f"{what} is longer than the context",
        f"It comes to {tokens:,} tokens; the context holds {capacity:,}.",
        "Start with a longer context, shorten the message, or begin a new conversation."
        if alone
        else "Let the oldest turns be left out, start with a longer context, or begin a new conversation.",
    )
