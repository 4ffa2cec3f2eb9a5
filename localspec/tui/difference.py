"""Where two texts part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

_CONTEXT = 20
"""Characters shown of either side; whole words of them."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference of two texts.

    Attributes:
        character: how many characters they share.
        token: how many whole tokens of the first they share.
        before: the last words they share.
        first: the words with which the first goes on; "" when it ends there.
        second: the words with which the second goes on; "" when it ends there.
    """

    character: int
    token: int
    before: str
    first: str
    second: str


def first_difference(first: Sequence[str], second: Sequence[str]) -> Difference | None:
    """Where two texts part; None when they are the same, however they are cut into tokens.

    Args:
        first: texts of the tokens of one.
        second: texts of the tokens of the other.
    """
    texts = ["".join(first), "".join(second)]
    if texts[0] == texts[1]:
        return None
    unequal = (i for i, (one, other) in enumerate(zip(*texts, strict=False)) if one != other)
    character = next(unequal, min(map(len, texts)))
    token = sum(end <= character for end in accumulate(map(len, first)))
    return Difference(
        character=character,
        # Tokens without text, such as the end's, stand behind the last character both share.
        token=min(token, len(first) - 1) if first else 0,
        before=_last_words(texts[0][:character]),
        first=_first_words(texts[0][character:]),
        second=_first_words(texts[1][character:]),
    )


def _last_words(text: str) -> str:
    """The end of a text on one line, from where a word begins."""
    end = text[-_CONTEXT:]
    if len(text) > _CONTEXT and " " in end.strip():
        end = end[end.index(" ") :]
    return " ".join(end.split()) + (" " if text[-1:].isspace() else "")


def _first_words(text: str) -> str:
    """The beginning of a text on one line, to where a word ends."""
    begin = text[:_CONTEXT]
    if len(text) > _CONTEXT and " " in begin.strip():
        begin = begin[: begin.rindex(" ")]
    return (" " if text[:1].isspace() else "") + " ".join(begin.split())
