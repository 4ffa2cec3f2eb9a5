"""Counts and times of decoding, and the figures that follow from them, each with one meaning (DESIGN section 7)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from localspec.decoding.rounds import Origin

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
        drafted_at: drafted_at[i] rounds guessed one token or more at position i (0 is the first).
        accepted_at: accepted_at[i] rounds kept the guess at position i.
        origins: emitted tokens by origin, as (origin, count) pairs in order of first appearance.
        seconds: wall time of the rounds.
        target_seconds: of those, inside the target's passes.
        draft_seconds: of those, inside the draft model's passes.
        by_source: guesses made and kept of each source, as (source, drafted, accepted) in order of first appearance.
        judged: guesses that the target decided on and whose acceptance had been predicted.
        judged_kept: how many of those it kept.
        judged_expected: how many of those were expected to be kept: the sum of their predicted acceptances.
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
    by_source: tuple[tuple[str, int, int], ...] = ()
    judged: int = 0
    judged_kept: int = 0
    judged_expected: float = 0.0

    def plus(self, finished: Round) -> DecodingStatistics:
        """These statistics with one more round counted."""
        origins = Counter(dict(self.origins))
        origins.update(str(origin) for origin in finished.origins)
        predicted = [i for i in finished.judged if i < len(finished.predictions)]
        kept = set(finished.path)
        return replace(
            self,
            rounds=self.rounds + 1,
            emitted=self.emitted + len(finished.tokens),
            drafted=self.drafted + len(finished.drafted),
            accepted=self.accepted + finished.accepted,
            drafted_at=_add_one_to_the_first(self.drafted_at, max(finished.depths, default=-1) + 1),
            accepted_at=_add_one_to_the_first(self.accepted_at, finished.accepted),
            origins=tuple(origins.items()),
            seconds=self.seconds + finished.seconds,
            target_seconds=self.target_seconds + finished.target_seconds,
            draft_seconds=self.draft_seconds + finished.draft_seconds,
            by_source=_with_guesses(self.by_source, finished.sources, finished.path),
            judged=self.judged + len(predicted),
            judged_kept=self.judged_kept + len(kept.intersection(predicted)),
            judged_expected=self.judged_expected + sum(finished.predictions[i].acceptance for i in predicted),
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
    def rounds_by_length(self) -> tuple[int, ...]:
        """How many rounds guessed 0 tokens, 1, 2, ..., up to the longest draft."""
        at_least = (self.rounds, *self.drafted_at)
        longer = (*self.drafted_at, 0)
        return tuple(here - beyond for here, beyond in zip(at_least, longer, strict=True))

    @property
    def predicted_acceptance(self) -> float | None:
        """Expected to be kept / judged, of the guesses that were predicted; None when none was."""
        return self.judged_expected / self.judged if self.judged else None

    @property
    def judged_acceptance(self) -> float | None:
        """Kept / judged, of the same guesses: what `predicted_acceptance` should have been."""
        return self.judged_kept / self.judged if self.judged else None

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

    def as_json(self) -> dict[str, Any]:
        """All counts, and the ratios that follow from them, as JSON values; times are left to who shows them."""
        return {
            "rounds": self.rounds,
            "drafted": self.drafted,
            "accepted": self.accepted,
            "acceptance": self.acceptance,
            "drafted_at": list(self.drafted_at),
            "accepted_at": list(self.accepted_at),
            "acceptance_by_position": list(self.acceptance_by_position),
            "rounds_by_length": list(self.rounds_by_length),
            "by_source": {
                source: {"drafted": drafted, "accepted": accepted} for source, drafted, accepted in self.by_source
            },
            "judged": self.judged,
            "judged_kept": self.judged_kept,
            "judged_expected": self.judged_expected,
            "predicted_acceptance": self.predicted_acceptance,
            "judged_acceptance": self.judged_acceptance,
            "tau": self.tau,
            "origins": {str(origin): 0 for origin in Origin} | dict(self.origins),
        }


def _add_one_to_the_first(counts: tuple[int, ...], reached: int) -> tuple[int, ...]:
    """Add one to each of the first `reached` counters, growing the tuple when needed."""
    grown = counts + (0,) * (reached - len(counts))
    return tuple(count + (i < reached) for i, count in enumerate(grown))


def _with_guesses(
    counts: tuple[tuple[str, int, int], ...], sources: tuple[str, ...], path: tuple[int, ...]
) -> tuple[tuple[str, int, int], ...]:
    """Count the guesses of a draft, of which those of `path` were kept."""
    if not sources:
        return counts
    known = {source: (drafted, kept) for source, drafted, kept in counts}
    accepted = [sources[i] for i in path]
    for source in dict.fromkeys(sources):
        drafted, kept = known.get(source, (0, 0))
        known[source] = (drafted + sources.count(source), kept + accepted.count(source))
    return tuple((source, *both) for source, both in known.items())
