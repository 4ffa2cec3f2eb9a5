"""Where the last tokens stood before in a text: an index that grows and shrinks with the text, a token at a time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

LENGTHS = (1, 2, 4, 8)
"""Lengths of the n-grams under which each position is filed. A match is looked for under the longest that has any."""

LONGEST_MATCH = 16
"""Matches are measured up to this length: a longer one is no surer."""

MOST_OCCURRENCES = 8
"""How many positions one search looks at, the most recent ones."""


class Occurrence(NamedTuple):
    """An earlier place at which the text stood as it does now.

    Attributes:
        end: position of the token that followed there.
        length: how many tokens before it are the same as the last ones now, 1 to LONGEST_MATCH.
    """

    end: int
    length: int


class NgramIndex:
    """The positions of a text, by the n-grams that end there.

    As in deflate (RFC 1951, section 4), each position points to the one before it with the same n-gram, and a table
    to the last one, so that the newest token is filed, and forgotten again, in constant time.

    Attributes:
        tokens: the text; a live view, not to be changed.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        # N-grams by their hash: what is found is compared token by token, so a collision finds nothing false.
        self._last: tuple[dict[int, int], ...] = tuple({} for _ in LENGTHS)
        self._before = tuple(array("q") for _ in LENGTHS)

    def extend(self, tokens: Sequence[int]) -> None:
        """Add to the end of the text."""
        start = len(self.tokens)
        self.tokens.extend(tokens)
        held, ends = self.tokens, range(start + 1, len(self.tokens) + 1)
        for n, last, before in zip(LENGTHS, self._last, self._before, strict=True):
            for end in ends:
                key = hash(tuple(held[max(0, end - n) : end]))
                # 0 ends a chain: nothing ends before the first token.
                before.append(last.get(key, 0))
                last[key] = end

    def truncate(self, length: int) -> None:
        """Forget every token from position `length` on, as if it had never been there."""
        held, ends = self.tokens, range(len(self.tokens), length, -1)
        for n, last, before in zip(LENGTHS, self._last, self._before, strict=True):
            for end in ends:
                key = hash(tuple(held[max(0, end - n) : end]))
                if earlier := before.pop():
                    last[key] = earlier
                else:
                    del last[key]
        del held[length:]

    def occurrences(self, ending: Sequence[int], until: int) -> list[Occurrence]:
        """Places where a text that ends so stood before, most recent first.

        They share the longest n-gram of LENGTHS that is found at all; at most MOST_OCCURRENCES of them are looked at.

        Args:
            ending: the last tokens, LONGEST_MATCH of them at most: of the text, or of the text and guesses after it.
            until: ends from here on are left out: the end of the text itself, where nothing followed.
        """
        for n, last, before in zip(reversed(LENGTHS), reversed(self._last), reversed(self._before), strict=True):
            if n > len(ending):
                continue
            found = []
            same = ending[-n:]
            end = last.get(hash(tuple(same)), 0)
            if end >= until:
                end = before[end - 1]
            for _ in range(MOST_OCCURRENCES):
                if not end:
                    break
                if self.tokens[end - n : end] == same:
                    found.append(Occurrence(end, self.measure(end, ending, n)))
                end = before[end - 1]
            if found:
                return found
        return []

    def measure(self, end: int, ending: Sequence[int], known: int) -> int:
        """How many of the tokens before `end` are the same as the last of `ending`, where `known` of them are."""
        tokens, most, length = self.tokens, min(end, len(ending)), known
        if tokens[end - most : end] == ending:
            return most
        while length < most and tokens[end - 1 - length] == ending[-1 - length]:
            length += 1
        return length

    def around(self, position: int, reach: int, token: int) -> list[int]:
        """Ends not farther than `reach` from `position` that `token` stands before, whatever stands before that."""
        first = max(position - reach, 1)
        return [end for end, each in enumerate(self.tokens[first - 1 : position + reach], first) if each == token]
