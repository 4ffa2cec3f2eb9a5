"""Counts and times of decoding, and the figures that follow from them, each with one meaning (DESIGN section 7)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localspec.decoding.rounds import Round


@dataclass(frozen=True, slots=True)
class DecodingStatistics:
    """Sums over the rounds of one or more answers.

    Attributes:
        rounds: target passes made while decoding (the prompt's own passes are not counted).
        emitted: tokens emitted.
        drafted: tokens guessed.
        accepted: guesses kept.
        drafted_at: drafted_at[i] rounds guessed a token at position i (0 is the first).
        accepted_at: accepted_at[i] rounds kept the guess at position i.
        origins: emitted tokens by origin, as (origin, count) pairs in order of first appearance.
        seconds: wall time of the rounds.
        target_seconds: of those, inside the target's passes.
        draft_seconds: of those, inside the draft model's passes.
    """

    rounds: int = 0
    emitted: int = 0
    drafted: int = 0
    accepted: int = 0
    drafted_at: tuple[int, ...] = ()
    accepted_at: tuple[int, ...] = ()
    origins: tuple[tuple[str, int], ...] = field(default=())
    seconds: float = 0.0
    target_seconds: float = 0.0
    draft_seconds: float = 0.0

    def plus(self, finished: Round) -> DecodingStatistics:
        """These statistics with one more round counted."""
        origins = Counter(dict(self.origins))
        origins.update(str(origin) for origin in finished.origins)
        return replace(
            self,
            rounds=self.rounds + 1,
            emitted=self.emitted + len(finished.tokens),
            drafted=self.drafted + len(finished.drafted),
            accepted=self.accepted + finished.accepted,
            drafted_at=_add_one_to_the_first(self.drafted_at, len(finished.drafted)),
            accepted_at=_add_one_to_the_first(self.accepted_at, finished.accepted),
            origins=tuple(origins.items()),
            seconds=self.seconds + finished.seconds,
            target_seconds=self.target_seconds + finished.target_seconds,
            draft_seconds=self.draft_seconds + finished.draft_seconds,
        )

    @property
    def acceptance(self) -> float | None:
        """Kept guesses / guesses; None when nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def acceptance_by_position(self) -> tuple[float, ...]:
        """Kept at i / rounds that drafted i, for each position drafted."""
        pairs = zip_longest(self.accepted_at, self.drafted_at, fillvalue=0)
        return tuple(accepted / drafted for accepted, drafted in pairs)

    @property
    def tau(self) -> float | None:
        """Tokens per target pass, the bonus included."""
        return self.emitted / self.rounds if self.rounds else None

    @property
    def tokens_per_second(self) -> float | None:
        """Emitted tokens / decode seconds; the prompt is not in it."""
        return self.emitted / self.seconds if self.seconds else None

    @property
    def other_seconds(self) -> float:
        """Wall time outside both models: sampling, acceptance, bookkeeping."""
        return self.seconds - self.target_seconds - self.draft_seconds


def _add_one_to_the_first(counts: tuple[int, ...], reached: int) -> tuple[int, ...]:
    """Add one to each of the first `reached` counters, growing the tuple when needed."""
    grown = counts + (0,) * (reached - len(counts))
    return tuple(count + (i < reached) for i, count in enumerate(grown))
