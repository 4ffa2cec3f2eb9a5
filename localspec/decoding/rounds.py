"""The data of one round: what was guessed, what was kept, where each token came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localspec.decoding.acceptance import AcceptanceRule
    from localspec.decoding.distributions import Distribution
    from localspec.decoding.draft_length import DraftLength
    from localspec.decoding.sampling_settings import SamplingSettings


class Origin(StrEnum):
    """Who wrote a token."""

    DRAFT = "draft"
    """Guessed by the drafter and accepted by the target."""
    CORRECTION = "correction"
    """The target's own, in place of a guess it rejected."""
    BONUS = "bonus"
    """The target's own, after a draft it accepted whole."""
    PLAIN = "plain"
    """The target's own, in a round with no draft."""


class Finish(StrEnum):
    """Why an answer ended."""

    END = "end"
    """The model said so: an end-of-generation token."""
    STOP = "stop"
    """A stop string appeared."""
    LENGTH = "length"
    """The token limit was reached."""
    CONTEXT = "context"
    """The context is full."""
    CANCELLED = "cancelled"
    """The person stopped it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Guesses for the next tokens.

    Attributes:
        tokens: n guessed ids.
        distributions: n entries; the q each token was really drawn from, or None for a deterministic guess
            (q is 1 on that token).
        confidences: n entries when the draft-length rule needs them, else empty: the drafter's own probability.
        source: name of the drafter.
        evaluate_seconds: time spent inside the draft model.
    """

    tokens: tuple[int, ...] = ()
    distributions: tuple[Distribution | None, ...] = ()
    confidences: tuple[float, ...] = ()
    source: str = "none"
    evaluate_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Round:
    """One draft, one target pass, and what came of it.

    Attributes:
        drafted: the guessed ids, n of them.
        accepted: how many of them were kept, 0..n.
        tokens: ids emitted this round, 1..n+1 (fewer than accepted+1 only when the answer ended inside the draft).
        origins: one for each emitted token.
        source: name of the drafter ("none" when nothing was drafted).
        confidences: as in `Draft`.
        draft_seconds: time inside the draft model's passes.
        target_seconds: time of the target pass over n+1 tokens.
        seconds: wall time of the whole round, both passes included.
        finish: why the answer ended with this round, or None when it goes on.
    """

    drafted: tuple[int, ...]
    accepted: int
    tokens: tuple[int, ...]
    origins: tuple[Origin, ...]
    source: str
    confidences: tuple[float, ...]
    draft_seconds: float
    target_seconds: float
    seconds: float
    finish: Finish | None = None


def never() -> bool:
    """The cancel check of a caller that never cancels."""
    return False


@dataclass(frozen=True, slots=True)
class Turn:
    """What stays the same during one answer.

    Attributes:
        sampling: the person's sampling settings, applied to target and draft alike.
        rule: how drafts are drawn and accepted.
        draft_length: when to stop drafting.
        end_tokens: end-of-generation ids; one of them, emitted, ends the answer.
        max_tokens: most tokens to emit; None for no limit but the context.
        cancelled: polled between passes; True ends the answer with both caches equal to the emitted text.
    """

    sampling: SamplingSettings
    rule: AcceptanceRule
    draft_length: DraftLength
    end_tokens: frozenset[int] = frozenset()
    max_tokens: int | None = None
    cancelled: Callable[[], bool] = never
