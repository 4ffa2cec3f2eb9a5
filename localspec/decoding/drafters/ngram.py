"""Guesses from the text itself: what followed when it last stood as it does now (prompt lookup decoding)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from localspec.decoding.drafters.drafting import Found, SourcesDrafter
from localspec.decoding.drafters.ngram_index import LONGEST_MATCH, NgramIndex
from localspec.decoding.drafters.ngram_levels import Standing, levels

PASSAGE = 3
"""A match of so many tokens begins a passage that the answer is taken to repeat."""

OTHER_PASSAGE = 5
"""Nothing shorter calls the answer away from a passage that it has just been repeating: that one may go on."""

NEARBY = 8
"""How many tokens an edit may have put in or left out for the answer to be at the same passage still."""

PASSAGE_AGE = 10
"""Tokens after the last repeated one for which the passage is remembered."""

TRUSTED = 0.6
"""Share of right lookups from which on a passage is well supported."""

FORGETTING = 0.2
"""Weight of the newest lookup in that share."""


@dataclass(slots=True)
class _Passage:
    """An earlier part of the text that the answer repeats with edits: token i is expected to be token i - distance.

    Attributes:
        until: end of what was repeated without an edit.
    """

    distance: int
    until: int


class _Candidate(NamedTuple):
    """A place where the text stood as it does now, and what followed there.

    Attributes:
        end: position of the first token that followed.
        length: of the match before it.
        tokens: what followed.
    """

    end: int
    length: int
    tokens: Sequence[int]


class NgramLookup:
    """Looks for the end of the text in all that came before it.

    Among the most recent places of the longest match, the token that follows is put to the vote; each place counts with
    the square of its match's length. Where the answer repeats a passage with edits, the place that goes on with the
    passage wins, also when the match after the edit is still short.

    A match does not reach back over the beginning of an answer. There every turn ends in the same markers, which say
    nothing about how the answer begins, and would pass for a long match.
    """

    def __init__(self) -> None:
        self._index = NgramIndex()
        self._answer = 0
        self._passage: _Passage | None = None
        self._guessed_at = 0
        self._guessed_distance = 0
        self._right = 0.5

    def prepare(self, text: Sequence[int]) -> None:
        """Hold `text`, after which an answer begins."""
        held = self._index.tokens
        limit = min(len(held), len(text))
        self.agree(next((i for i in range(limit) if held[i] != text[i]), limit))
        self._index.extend(text[len(held) :])
        self._begin_answer(len(text))

    def find(self, text: Sequence[int], drafted: Sequence[int], limit: int) -> Found:
        """What is expected after `text` and `drafted`; see `Lookup.find`."""
        self._index.extend(text[len(self._index.tokens) :])
        self._learn()
        position = len(text) + len(drafted)
        reach = min(LONGEST_MATCH, position - self._answer)
        if reach <= 0 or limit <= 0:
            return Found()
        ending = [*text[-reach:], *drafted][-reach:]
        candidates = [
            _Candidate(end, length, self._following(end, drafted, limit))
            for end, length in self._index.occurrences(ending, position)
        ]
        best, nearby = self._choose(candidates, ending, drafted, limit)
        if best is None:
            return Found()
        if not drafted:
            self._remember(best, nearby=nearby)
        shared = [_common(best.tokens, each.tokens) for each in candidates if each.end != best.end]
        return Found(best.tokens, self._levels(best.length, shared, limit, nearby=nearby))

    def agree(self, length: int) -> None:
        """Forget everything beyond the first `length` tokens of the text."""
        if length < len(self._index.tokens):
            self._index.truncate(length)
            # What was learnt on the way may come from what is cut off.
            self._begin_answer(min(self._answer, length))

    def _begin_answer(self, position: int) -> None:
        self._answer = position
        self._passage = None
        self._guessed_distance = 0
        self._right = 0.5

    def _learn(self) -> None:
        """Compare what was expected with what has been added since."""
        held = self._index.tokens
        if self._guessed_distance and len(held) > self._guessed_at:
            for i in range(self._guessed_at, len(held)):
                right = held[i] == held[i - self._guessed_distance]
                self._right += FORGETTING * (right - self._right)
                if not right:
                    break
            self._guessed_distance = 0
        if passage := self._passage:
            while passage.until < len(held) and held[passage.until] == held[passage.until - passage.distance]:
                passage.until += 1

    def _remember(self, best: _Candidate, *, nearby: bool) -> None:
        """Keep what is now expected, to learn from what comes."""
        position = len(self._index.tokens)
        distance = position - best.end
        # Matches of a single token are wrong most of the time, whatever the answer is like.
        self._guessed_at, self._guessed_distance = position, distance if best.length > 1 else 0
        if best.length >= (PASSAGE if nearby or self._live_passage() is None else OTHER_PASSAGE):
            self._passage = _Passage(distance, position)

    def _live_passage(self) -> _Passage | None:
        """The passage that the answer repeats, or has repeated a moment ago."""
        passage = self._passage
        return passage if passage and len(self._index.tokens) - passage.until <= PASSAGE_AGE else None

    def _choose(
        self, candidates: Sequence[_Candidate], ending: Sequence[int], drafted: Sequence[int], limit: int
    ) -> tuple[_Candidate | None, bool]:
        """The one to go on from, and whether it lies in the passage that is being repeated."""
        elected = _elect(candidates)
        passage = self._live_passage()
        if passage is None:
            return elected, False
        position = len(self._index.tokens) + len(drafted)
        expected = position - passage.distance
        nearby = [each for each in candidates if abs(each.end - expected) <= NEARBY]
        if not nearby and (elected is None or elected.length < PASSAGE):
            # The passage may be far back, behind many more recent places of so short a match.
            nearby = [
                _Candidate(end, self._index.measure(end, ending, 1), self._following(end, drafted, limit))
                for end in self._index.around(expected, NEARBY, ending[-1])
                if end < position
            ]
            if not nearby and (elected is None or elected.length == 1) and position - passage.until == 1:
                # The last token took the place of another: the next may be the next of the passage.
                return _Candidate(expected, 0, self._following(expected, drafted, limit)), True
        if nearby:
            return max(nearby, key=lambda each: (each.length, -abs(each.end - expected))), True
        return elected, False

    def _following(self, end: int, drafted: Sequence[int], count: int) -> Sequence[int]:
        """The tokens from position `end` of text and guesses on; where these end, they repeat."""
        tokens = self._index.tokens
        following = tokens[end : end + count]
        if len(following) < count:
            following += drafted
            following *= count // len(following) + 1
        return following[:count]

    def _levels(self, length: int, shared: Sequence[int], count: int, *, nearby: bool) -> Sequence[int]:
        """The level of each token found.

        Args:
            length: of the match that they follow.
            shared: how many of them follow at each of the other places.
            count: how many they are.
            nearby: whether they go on with the passage that is being repeated.
        """
        agreed = max(shared, default=0)
        if nearby:
            alone = Standing.WELL_SUPPORTED if self._right >= TRUSTED else Standing.SUPPORTED
            several, disputed = Standing.WELL_SUPPORTED, Standing.DISPUTED_NEARBY
        else:
            alone, several, disputed = Standing.SINGLE, Standing.SUPPORTED, Standing.DISPUTED
        found = [*levels(several, length, agreed), *levels(alone, length + agreed, count - agreed)]
        for place in shared:
            if place < count:
                found[place] = levels(disputed, length + place, 1)[0]
        return found


class NgramDrafter(SourcesDrafter):
    """Drafts from the text alone, without a model: guesses cost nothing but their verification.

    Args:
        lookup: where the guesses come from.
    """

    def __init__(self, lookup: NgramLookup) -> None:
        super().__init__("ngram", None, lookup)


def _elect(candidates: Sequence[_Candidate]) -> _Candidate | None:
    """The longest of those followed by the token with the most votes; the most recent, the first, of equals."""
    if len(candidates) <= 1:
        return candidates[0] if candidates else None
    votes: dict[int, int] = {}
    for each in candidates:
        votes[each.tokens[0]] = votes.get(each.tokens[0], 0) + each.length**2
    token = max(votes, key=votes.__getitem__)
    return max((each for each in candidates if each.tokens[0] == token), key=lambda each: each.length)


def _common(ours: Sequence[int], theirs: Sequence[int]) -> int:
    """Length of the common prefix of two equally long sequences."""
    if ours == theirs:
        return len(ours)
    return next(i for i, (our, their) in enumerate(zip(ours, theirs, strict=True)) if our != their)
