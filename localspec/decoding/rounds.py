"""The data of one round: what was guessed, what was kept, where each token came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localspec.decoding.acceptance import AcceptanceRule
    from localspec.decoding.distributions import Distribution
    from localspec.decoding.draft_length import DraftLength
    from localspec.decoding.language_model import LogitRows
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
        acceptance: the chance that it is kept when those that it follows are, and those tried before it are not.
        rank: how many others are tried before it for the same place.
    """

    level: int
    acceptance: float
    rank: int = 0


@dataclass(frozen=True, slots=True)
class DraftPass:
    """One pass of a draft model while it drafted.

    Attributes:
        width: tokens it read.
        seconds: what it took.
        depth: 0 for the model that drafts for the target, 1 for one that drafts for that model, and so on.
        rows: of logits it put out: one where it went on from one token alone.
        verified: whether it verified guesses for this model: a round of its own, which has told what it cost.
    """

    width: int
    seconds: float
    depth: int = 0
    rows: int = 1
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Lookahead:
    """Tokens that ride in the target's pass to find guesses for later rounds; they are never verified.

    Attributes:
        tokens: their ids.
        parents: of each, the index of the token it follows: -1 for the text's last, 0 to n - 1 for a guess of the
            draft, n + i for the i-th token here, which comes before it.
        read: given the rows of logits that follow them, shape (tokens, vocabulary), before the next pass; not called
            where the context has no room for them.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    read: Callable[[LogitRows], None]


@dataclass(frozen=True, slots=True)
class Draft:
    """Guesses for the next tokens: a chain, or a tree with several for the same place.

    Attributes:
        tokens: n guessed ids.
        distributions: n entries; the q each token was really drawn from, or None for a deterministic guess
            (q is 1 on that token).
        sources: n entries; where each came from: "model", "ngram".
        predictions: n entries when the draft-length rule makes predictions, else empty.
        passes: the draft models' passes, those for guesses that were then left out included.
        parents: of each guess, the index of the one it follows, which comes before it; -1 for the text's last token.
            Guesses that follow the same token are tried in their order. Empty for a chain.
        lookahead: what else the target's pass is to hold.
    """

    tokens: tuple[int, ...] = ()
    distributions: tuple[Distribution | None, ...] = ()
    sources: tuple[str, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    passes: tuple[DraftPass, ...] = ()
    parents: tuple[int, ...] = ()
    lookahead: Lookahead | None = None

    def children(self, guess: int) -> Sequence[int]:
        """Indices of the guesses that follow a guess; those that follow the text for -1."""
        if not self.parents:
            return (guess + 1,) if guess + 1 < len(self.tokens) else ()
        return [i for i, parent in enumerate(self.parents) if parent == guess]

    def path(self, guess: int) -> Sequence[int]:
        """Ids of the guesses from the text to this one, itself included; none for -1."""
        return self.tokens[: guess + 1] if not self.parents else [self.tokens[i] for i in ancestry(self.parents, guess)]


@dataclass(frozen=True, slots=True)
class Round:
    """One draft, one target pass, and what came of it.

    Attributes:
        drafted: the guessed ids, n of them.
        path: indices of those that were kept, each following the one before it.
        tokens: ids emitted this round, 1..n+1 (fewer than accepted+1 only when the answer ended inside the draft).
        origins: one for each emitted token.
        sources: as in `Draft`.
        predictions: as in `Draft`.
        passes: as in `Draft`.
        target_seconds: time of the target pass over n+1 tokens.
        seconds: wall time of the whole round, all passes included.
        finish: why the answer ended with this round, or None when it goes on.
        parents: as in `Draft`.
        lookahead: tokens that rode in the target's pass without being guesses.
    """

    drafted: tuple[int, ...]
    path: tuple[int, ...]
    tokens: tuple[int, ...]
    origins: tuple[Origin, ...]
    sources: tuple[str, ...]
    predictions: tuple[Prediction, ...]
    passes: tuple[DraftPass, ...]
    target_seconds: float
    seconds: float
    finish: Finish | None = None
    parents: tuple[int, ...] = ()
    lookahead: int = 0

    @property
    def width(self) -> int:
        """Tokens of the target's pass: the text's last, the guesses, and what rode along."""
        return 1 + len(self.drafted) + self.lookahead

    @property
    def accepted(self) -> int:
        """How many guesses were kept."""
        return len(self.path)

    @property
    def depths(self) -> Sequence[int]:
        """Of each guess, its place after the text, 0 for the first."""
        if not self.parents:
            return range(len(self.drafted))
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        return depths

    @property
    def source(self) -> str:
        """The sources of the guesses in order of appearance, joined by `+`; "none" without guesses."""
        return "+".join(dict.fromkeys(self.sources)) or "none"

    @property
    def draft_seconds(self) -> float:
        """Time inside the draft models' passes."""
        return sum(each.seconds for each in self.passes)

    @property
    def judged(self) -> Sequence[int]:
        """Indices of the guesses the target decided on: the kept ones, and those it refused.

        What stands behind a refused guess, or was not tried because one before it was kept, says nothing.
        """
        if not self.parents:
            return range(self.accepted + (Origin.CORRECTION in self.origins))
        found = [
            i for before, chosen in pairwise((-1, *self.path)) for i in range(chosen + 1) if self.parents[i] == before
        ]
        if Origin.CORRECTION in self.origins:
            last = self.path[-1] if self.path else -1
            found += [i for i, parent in enumerate(self.parents) if parent == last]
        return found


def origins_of(drafted: int, accepted: int, emitted: int, *, refused: bool) -> tuple[Origin, ...]:
    """Accepted guesses first, then, unless the answer ended inside the draft, one token of the target's own.

    Args:
        drafted: how many guesses there were.
        accepted: how many were kept.
        emitted: tokens emitted.
        refused: whether there were guesses for the place of the last one.
    """
    if emitted == accepted:
        return (Origin.DRAFT,) * accepted
    own = Origin.CORRECTION if refused else Origin.BONUS
    return (*(Origin.DRAFT,) * accepted, own if drafted else Origin.PLAIN)


def ancestry(parents: Sequence[int], guess: int) -> list[int]:
    """Indices of the guesses from the text to this one, itself included."""
    found: list[int] = []
    while guess >= 0:
        found.append(guess)
        guess = parents[guess]
    return found[::-1]


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
