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
        returned. `turn.draft_length.more` may stop it after any token; so may `turn.cancelled`; it stops by itself
        after an end-of-generation token.
        """
        ...

    def agree(self, length: int) -> None:
        """Forget everything beyond the first `length` tokens of the text (a no-op when less is held)."""
        ...
