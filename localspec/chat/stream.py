"""The tokens of an answer turned into text, letting out only what can no longer change."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localspec.chat.thinking import ThinkingMarker


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that became certain, and whether it is the model's thinking."""

    text: str
    thinking: bool


class AnswerStream:
    """Holds back half a character, a possible stop string, a possible opening tag, and what follows a closing tag.

    The pieces, put together, are `text`; nothing of a stop string is ever in it.

    Attributes:
        text: the answer so far, as let out.
        stopped: whether a stop string was found; no token may follow.
    """

    def __init__(self, piece_bytes: Callable[[int], bytes], stop: Sequence[str], marker: ThinkingMarker) -> None:
        """Begin an answer.

        Args:
            piece_bytes: the bytes of one token.
            stop: strings that end the answer, none of them empty.
            marker: knows whether the answer begins inside the thinking part.
        """
        self.text = ""
        self.stopped = False
        self._piece_bytes = piece_bytes
        self._stop = tuple(stop)
        self._marker = marker
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        """Decoded, but perhaps part of a stop string or of an opening tag."""
        self._after_thinking = ""
        """Certain, but said in the same token that closed the thinking: it goes out with the next one."""
        self._decoded = 0
        self._ends: list[int | None] = []

    def push(self, token: int) -> Piece:
        """Take one token; return what is certain now."""
        new = self._decoder.decode(self._piece_bytes(token))
        self._held += new
        self._decoded += len(new)
        half_a_character = bool(self._decoder.getstate()[0])
        self._ends.append(None if half_a_character else self._decoded)
        return self._let_out(self._certain())

    def finish(self) -> Piece:
        """End the answer: let out what was held back, except half a character."""
        certain, self._held = self._held, ""
        return self._let_out(certain, last=True)

    def whole_tokens(self) -> tuple[int, int]:
        """How many tokens lie wholly inside `text`, and the number of its characters that they make."""
        for index in range(len(self._ends) - 1, -1, -1):
            end = self._ends[index]
            if end is not None and end <= len(self.text):
                return index + 1, end
        return 0, 0

    def _certain(self) -> str:
        """Take off the front of the held text what can be neither stop string nor opening tag."""
        places = [place for place in map(self._held.find, self._stop) if place >= 0]
        if places:
            self.stopped = True
            certain, self._held = self._held[: min(places)], ""
            return certain
        kept = max((_overlap(self._held, stop) for stop in self._stop), default=0)
        certain = self._held[: len(self._held) - kept]
        if self._marker.undecided(certain):
            return ""
        self._held = self._held[len(certain) :]
        return certain

    def _let_out(self, certain: str, *, last: bool = False) -> Piece:
        thought, said = self._marker.take(certain)
        said = self._after_thinking + said
        self._after_thinking = ""
        if thought and said and not (last or self.stopped):
            self._after_thinking, said = said, ""
        self.text += thought + said
        return Piece(thought + said, thinking=bool(thought) or (self._marker.thinking and not said))


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop`, but not all of it."""
    longest = min(len(text), len(stop) - 1)
    return next((length for length in range(longest, 0, -1) if text.endswith(stop[:length])), 0)
