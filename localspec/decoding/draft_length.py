"""When to stop drafting. The loop asks before the first token and after each one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from localspec.decoding.rounds import Round

LONGEST_DRAFT = 16
"""Most tokens one draft may hold. The contexts reserve `LONGEST_DRAFT + 1` rows of logits for a verification."""


class DraftLength(Protocol):
    """A rule that decides how many tokens are worth drafting."""

    @property
    def needs_confidence(self) -> bool:
        """Whether `more` reads the drafter's confidence (computing it costs a pass over the vocabulary)."""
        ...

    @property
    def longest(self) -> int:
        """The most tokens this rule will ever ask for, 0 to LONGEST_DRAFT."""
        ...

    def more(self, drafted: int, confidence: float | None) -> bool:
        """Whether to draft another token.

        Args:
            drafted: tokens drafted so far in this round, 0 before the first.
            confidence: the drafter's own probability of the last one; None before the first or when not needed.
        """
        ...

    def observe(self, finished: Round) -> None:
        """Learn from a finished round."""
        ...


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Always `tokens` tokens; 0 means speculation off."""

    tokens: int

    def __post_init__(self) -> None:
        if not 0 <= self.tokens <= LONGEST_DRAFT:
            raise ValueError(f"the draft length must be between 0 and {LONGEST_DRAFT}, not {self.tokens}")

    @property
    def needs_confidence(self) -> bool:
        """No."""
        return False

    @property
    def longest(self) -> int:
        """The fixed length."""
        return self.tokens

    def more(self, drafted: int, confidence: float | None) -> bool:  # noqa: ARG002 - the Protocol's argument
        """Whether fewer than that are drafted."""
        return drafted < self.tokens

    def observe(self, finished: Round) -> None:
        """Nothing to learn."""
