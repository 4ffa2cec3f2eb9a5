"""Sources of guesses, one file each, behind one Protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from localspec.decoding.rounds import Draft, Turn


class Drafter(Protocol):
    """A source of guesses for the next tokens."""

    @property
    def name(self) -> str:
        """The word shown to people and stored with each round."""
        ...

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Catch up with a prompt (all of `text` but its last token), reusing the prefix already held."""
        ...

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        """Guess up to `limit` tokens after `text`; an empty draft is a legal answer.

        Each token is drawn with `turn.rule.propose` from a distribution q made with `turn.sampling`, and q is
        returned. The plan of `turn.draft_length` may stop it after any token; so may `turn.cancelled`; nothing follows
        an end-of-generation token. A tree has at most `limit` tokens in all.
        """
        ...

    def agree(self, text: Sequence[int], length: int) -> None:
        """Hold nothing but a prefix of the first `length` tokens of `text`, as long as there is one at hand."""
        ...
