"""What one run of `localspec explain` measured, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from localspec.bench import theory
from localspec.bench.bandwidth import Bandwidth
from localspec.bench.roofline import TokenWork
from localspec.decoding.statistics import DecodingStatistics
from localspec.engine.messages import BatchTimes, Loaded
from localspec.engine.traces import TracedGuess, TracedRound


@dataclass(frozen=True, slots=True)
class Guesses:
    """How the draft did on one prompt, or on several.

    Attributes:
        kind: what the prompt asks for.
        rounds: every round, judged.
    """

    kind: str
    rounds: tuple[TracedRound, ...]

    @property
    def looked_at(self) -> tuple[TracedGuess, ...]:
        """The guesses that were judged: those behind a refused one never are."""
        return tuple(guess for each in self.rounds for guess in each.guesses)

    @property
    def acceptance(self) -> float | None:
        """Of those, the share that was kept: the papers' alpha. None when nothing was guessed."""
        looked_at = self.looked_at
        return sum(guess.kept for guess in looked_at) / len(looked_at) if looked_at else None

    @property
    def expected_acceptance(self) -> float | None:
        """What alpha should be: the mean of sum of min(p, q) at the same places (Leviathan, Corollary 3.6)."""
        looked_at = self.looked_at
        return sum(guess.chance for guess in looked_at) / len(looked_at) if looked_at else None

    @property
    def by_position(self) -> tuple[tuple[int, int], ...]:
        """(kept, looked at) of the first guesses of a draft, of the second, ..."""
        longest = max((len(each.guesses) for each in self.rounds), default=0)
        columns = [[each.guesses[i] for each in self.rounds if i < len(each.guesses)] for i in range(longest)]
        return tuple((sum(guess.kept for guess in column), len(column)) for column in columns)


@dataclass(frozen=True, slots=True)
class Arm:
    """All prompts, answered with drafts of one length; 0 is speculation off."""

    drafted: int
    statistics: DecodingStatistics


@dataclass(frozen=True, slots=True)
class Batch:
    """So many texts at once, in tokens a second for all of them together.

    Attributes:
        sequences: how many.
        off: measured without drafts.
        on: by draft length: what the measured passes and the measured acceptance come to.
    """

    sequences: int
    off: float
    on: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything; what is None or empty could not be measured, and `notes` say why.

    Attributes:
        loaded: the pair.
        target: what a token takes of the target.
        draft: what it takes of the draft; None when there is none.
        bandwidth: of the memory the target lies in.
        context: tokens of text that the figures are for, on average.
        temperature: that the prompts were answered at.
        pass_seconds: T(1), T(2), ... of the target.
        draft_step: seconds of a pass of the draft over one token.
        guesses: how the draft did, prompt by prompt, with drafts of `traced_length`.
        traced_length: tokens a draft in them.
        arms: what was measured with drafts and without, the same prompts in turns.
        batch: passes over several texts.
        replay: rounds to show, judged above temperature 0; the same as those of `guesses` when those are.
        replay_temperature: that they were judged at.
        notes: what could not be measured, and why.
    """

    loaded: Loaded
    target: TokenWork
    draft: TokenWork | None
    bandwidth: Bandwidth | None
    context: int
    temperature: float
    pass_seconds: tuple[float, ...]
    draft_step: float | None
    guesses: tuple[Guesses, ...]
    traced_length: int
    arms: tuple[Arm, ...]
    batch: BatchTimes | None
    replay: tuple[TracedRound, ...]
    replay_temperature: float
    notes: tuple[str, ...] = ()

    @property
    def all_guesses(self) -> Guesses:
        """Those on all prompts together."""
        return Guesses("all", tuple(each for guesses in self.guesses for each in guesses.rounds))

    @property
    def acceptance(self) -> float | None:
        """Alpha over all prompts."""
        return self.all_guesses.acceptance

    @property
    def bound(self) -> float | None:
        """The most tokens a second, one at a time, that memory allows."""
        return None if self.bandwidth is None else self.target.bound(self.context, self.bandwidth.bytes_per_second)

    @property
    def best(self) -> theory.BestLength | None:
        """The best draft length by the measured costs and the measured acceptance."""
        if self.acceptance is None or self.draft_step is None:
            return None
        return theory.best_draft_length(self.acceptance, self.pass_seconds, self.draft_step)

    @property
    def operations_per_second(self) -> float:
        """The most arithmetic that a pass reached in this run."""
        rows = [(width, seconds) for width, seconds in enumerate(self.pass_seconds, 1)]
        rows += [(each.sequences * each.width, each.seconds) for each in (self.batch.target if self.batch else ())]
        return max(self.target.operations * width / seconds for width, seconds in rows)

    def arm(self, drafted: int) -> Arm | None:
        """What was measured with drafts of that length."""
        return next((arm for arm in self.arms if arm.drafted == drafted), None)

    def batches(self) -> Iterator[Batch]:
        """How the batch growth comes out."""
        if self.batch is None:
            return
        steps = {each.sequences: each.seconds for each in self.batch.draft}
        passes = {(each.sequences, each.width): each.seconds for each in self.batch.target}
        for sequences in sorted({sequences for sequences, width in passes if width == 1}):
            on = {}
            for (count, width), seconds in sorted(passes.items()):
                if count == sequences and width > 1 and count in steps and self.acceptance is not None:
                    tokens = count * theory.expected_tokens(self.acceptance, width - 1)
                    on[width - 1] = tokens / ((width - 1) * steps[count] + seconds)
            yield Batch(sequences, sequences / passes[sequences, 1], on)


def last_that_pays(batches: list[Batch], drafted: int) -> int | None:
    """The most texts at once with which drafts of that length still pay; None when they never do."""
    paying = [batch.sequences for batch in batches if batch.on.get(drafted, 0.0) > batch.off]
    return max(paying, default=None)


def stops_paying(batches: list[Batch], drafted: int) -> tuple[int, int] | None:
    """Between how many texts at once drafts of that length stop to pay, for good; None when they do not stop."""
    gains = [(batch.sequences, batch.on.get(drafted, 0.0) > batch.off) for batch in batches]
    turns = [(before, after) for (before, paid), (after, pays) in pairwise(gains) if paid and not pays]
    return turns[-1] if turns and not gains[-1][1] else None
