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
class Prediction:
    """What was expected of a guess before the target saw it.

    Attributes:
        level: how sure its source was, as a class of that source's own (see `calibration`).
        acceptance: the chance that it is kept when all guesses before it are.
    """

    level: int
    acceptance: float


@dataclass(frozen=True, slots=True)
class DraftPass:
    """One pass of the draft model while it drafted: `width` tokens read, one row of logits, in so many seconds."""

    width: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Draft:
    """Guesses for the next tokens.

    Attributes:
        tokens: n guessed ids.
        distributions: n entries; the q each token was really drawn from, or None for a deterministic guess
            (q is 1 on that token).
        sources: n entries; where each came from: "model", "ngram".
        predictions: n entries when the draft-length rule makes predictions, else empty.
        passes: the draft model's passes, those for guesses that were then left out included.
    """

    tokens: tuple[int, ...] = ()
    distributions: tuple[Distribution | None, ...] = ()
    sources: tuple[str, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    passes: tuple[DraftPass, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """One draft, one target pass, and what came of it.

    Attributes:
        drafted: the guessed ids, n of them.
        accepted: how many of them were kept, 0..n.
        tokens: ids emitted this round, 1..n+1 (fewer than accepted+1 only when the answer ended inside the draft).
        origins: one for each emitted token.
        sources: as in `Draft`.
        predictions: as in `Draft`.
        passes: as in `Draft`.
        target_seconds: time of the target pass over n+1 tokens.
        seconds: wall time of the whole round, all passes included.
        finish: why the answer ended with this round, or None when it goes on.
    """

    drafted: tuple[int, ...]
    accepted: int
    tokens: tuple[int, ...]
    origins: tuple[Origin, ...]
    sources: tuple[str, ...]
    predictions: tuple[Prediction, ...]
    passes: tuple[DraftPass, ...]
    target_seconds: float
    seconds: float
    finish: Finish | None = None

    @property
    def source(self) -> str:
        """The sources of the guesses in order of appearance, joined by `+`; "none" without guesses."""
        return "+".join(dict.fromkeys(self.sources)) or "none"

    @property
    def draft_seconds(self) -> float:
        """Time inside the draft model's passes."""
        return sum(each.seconds for each in self.passes)

    @property
    def judged(self) -> int:
        """How many guesses the target decided on: the kept ones and the first refused; those behind it say nothing."""
        return self.accepted + (Origin.CORRECTION in self.origins)


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
