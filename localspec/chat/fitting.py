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
        left_out: the oldest messages that are not in it; the system prompt is none of them.
    """

    prompt: Prompt
    tokens: list[int]
    left_out: tuple[Message, ...]

    @property
    def dropped(self) -> int:
        """How many messages were left out."""
        return len(self.left_out)


Encode = Callable[[Sequence[Message]], tuple[Prompt, list[int]]]
"""Renders and tokenises a conversation."""


def fit(request: AnswerRequest, capacity: int, encode: Encode, left_out_before: tuple[Message, ...]) -> Fitted:
    """Leave out the oldest turns of a conversation where the request allows it and the context demands it.

    Args:
        request: the conversation, and whether turns may be left out.
        capacity: tokens the context holds.
        encode: renders and tokenises.
        left_out_before: the messages that the answer before left out. As long as that still does, no more are left
            out, since what the cache holds can only be reused while the prompt begins the same. A conversation that
            does not begin with them is another one, or a branch that left them: it is cut as if it were the first.

    Raises:
        ContextFullError: it does not fit.
    """
    system, turns = _turns(request.messages)
    prompt, tokens = encode(request.messages)
    whole = Fitted(prompt, tokens, ())
    # An answer wants room too; but a quarter of the context is enough to begin with.
    answer = min(request.max_tokens or capacity, capacity // 4)
    if len(tokens) + answer <= capacity or (not request.drop_oldest and len(tokens) <= capacity):
        return whole
    if not request.drop_oldest:
        raise _too_long(len(tokens), capacity, alone=len(turns) == 1)

    said = request.messages[len(system) :]

    def without(dropped: int) -> Fitted:
        return Fitted(*encode((*system, *said[dropped:])), said[:dropped])

    cuts = list(itertools.accumulate(map(len, turns[:-1])))
    before = len(left_out_before)
    goes_on = before in cuts and said[:before] == left_out_before
    fewer = [dropped for dropped in cuts if dropped < before]
    # Where it goes on from an earlier place, leaving out fewer may do again.
    if goes_on and not (fewer and len(without(fewer[-1]).tokens) + 2 * answer <= capacity):
        cuts = cuts[len(fewer) :]
    tried = [whole]
    for dropped in cuts:
        candidate = without(dropped)
        # Twice the room, so that the next turns need no other cut.
        room = answer if candidate.left_out == left_out_before else 2 * answer
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
