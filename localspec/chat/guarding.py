"""Text a person typed must never become a control token.

Parsing special tokens is needed for the template's own markup, and would turn a typed "<|im_end|>" into the real
thing. So each place in a message where the text of a control token begins is broken by a *barrier*: one character that
occurs in no message and not in the template. The template is rendered with the barriers in place, the rendered text is
split at them, and the pieces are tokenised one by one: no piece holds a typed control text in one part.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

# Unicode's noncharacters: valid in a string, reserved for a program's own use, never in a text for interchange.
_NONCHARACTERS = (
    *range(0xFDD0, 0xFDF0),
    *(plane + low for plane in range(0, 0x110000, 0x10000) for low in (0xFFFE, 0xFFFF)),
)
_PRIVATE_USE = range(0xF0000, 0x10FFFE)


def choose_barrier(texts: Iterable[str]) -> str:
    """A character that occurs in none of `texts`; the same one every time unless somebody typed it."""
    used = set().union(*texts)
    return next(chr(code) for code in (*_NONCHARACTERS, *_PRIVATE_USE) if chr(code) not in used)


def without_lone_surrogates(text: str) -> str:
    """The text with what is not Unicode (half a surrogate pair, from undecodable input) replaced by "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")


class ControlTexts:
    """Finds the texts of control tokens inside messages.

    Args:
        special_texts: the texts of the control tokens.
        seen_by_template: control texts that a template reads in the assistant's messages (the tags of a thinking part);
            they are left whole there.
    """

    def __init__(self, special_texts: Iterable[str], seen_by_template: Iterable[str] = ()) -> None:
        self._texts = frozenset(text for text in special_texts if text)
        self._left_whole = frozenset(seen_by_template)
        self._lengths = sorted({len(text) for text in self._texts}, reverse=True)
        self._beginnings = frozenset(text[:1] for text in self._texts)
        # What a message may end or begin with that only becomes a control text together with the template's own text.
        self._heads = frozenset(text[:end] for text in self._texts for end in range(1, len(text)))
        self._tails = frozenset(text[start:] for text in self._texts for start in range(1, len(text)))

    def guard(self, content: str, barrier: str, *, by_assistant: bool = False, complete: bool = True) -> str:
        """`content` with a barrier inside each control text, so that no piece between barriers holds one.

        Args:
            content: text of a message.
            barrier: a character that does not occur in it.
            by_assistant: whether the model wrote it.
            complete: whether the template's own text follows; False when the model is to go on right after it.
        """
        places = tuple(self._places(content, by_assistant=by_assistant))
        # A control text of one character stands between two barriers: a piece of that length is never parsed.
        cuts = {place + 1 for place in places} | {place for place in places if content[place] in self._texts}
        if complete:
            cuts.update(start + 1 for start in self._overhangs(content))
            # A template may strip the message: so both the whole and the stripped text count.
            cuts.update(start + 1 for start in self._overhangs(content.rstrip()))
        if self._begins_with_tail(content):
            cuts.add(0)
        if self._begins_with_tail(content.lstrip()):
            cuts.add(len(content) - len(content.lstrip()))
        return _cut(content, sorted(cuts), barrier)

    def _places(self, content: str, *, by_assistant: bool) -> Iterable[int]:
        """Where a control text begins, overlapping ones included."""
        texts = self._texts - self._left_whole if by_assistant else self._texts
        for place, character in enumerate(content):
            if character in self._beginnings and any(
                content[place : place + length] in texts for length in self._lengths
            ):
                yield place

    def _overhangs(self, content: str) -> Iterable[int]:
        """Where a control text begins that the end of `content` cuts off."""
        longest = self._lengths[0] if self._lengths else 0
        for start in range(max(len(content) - longest + 1, 0), len(content)):
            if content[start:] in self._heads:
                yield start

    def _begins_with_tail(self, content: str) -> bool:
        longest = self._lengths[0] if self._lengths else 0
        return any(content[:length] in self._tails for length in range(1, min(longest, len(content) + 1)))


def _cut(content: str, places: list[int], barrier: str) -> str:
    edges = [0, *places, len(content)]
    return barrier.join(content[start:end] for start, end in itertools.pairwise(edges))
