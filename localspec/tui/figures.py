"""The figures of one answer, each with the one meaning of DESIGN section 7."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from localspec.decoding.rounds import Origin
from localspec.decoding.statistics import DecodingStatistics


class Progress(StrEnum):
    """How far the answer is whose figures are shown."""

    NONE = "none"
    """There is no answer yet."""
    WAITING = "waiting"
    """It was asked for, and no token has come."""
    WRITING = "writing"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class RoundMark:
    """What came of one round.

    Attributes:
        drafted: tokens guessed.
        accepted: guesses kept.
        last: the origin of the target's own token after them; None when the answer ended inside the draft.
    """

    drafted: int
    accepted: int
    last: Origin | None

    @property
    def unused(self) -> int:
        """Guesses after the one that was corrected: nobody knows whether they were right."""
        return max(self.drafted - self.accepted - 1, 0)


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything the readout shows of one answer. None where there is nothing to say yet.

    Attributes:
        progress: how far the answer is.
        speculating: whether it is written with guesses.
        statistics: counts and times of its decoding; acceptance, tau, tokens/s and origins follow from it.
        now: tokens/s over the last seconds of decoding.
        off: tokens/s without speculation on this machine: measured, or kept up by rounds with nothing guessed.
        history: tokens/s in each of the last equal stretches of decode time, oldest first.
        marks: the last rounds, oldest first.
        drafted_last: tokens guessed in the last round.
        drafted_of_late: tokens guessed a round, over the last few.
        drafter: where guesses may come from; "" while unknown.
        automatic: whether the number of guesses is decided token by token.
        why: on that number, in words, once the answer is over; "" when there is nothing to say.
        first_token_seconds: from the request to the first token.
        context_used: tokens of the context taken.
        context_size: tokens the context can hold; 0 while unknown.
        rule: name of the acceptance rule; "" while unknown.
        lossless: whether that rule keeps the target's distribution.
    """

    progress: Progress = Progress.NONE
    speculating: bool = True
    statistics: DecodingStatistics = field(default_factory=DecodingStatistics)
    now: float | None = None
    off: float | None = None
    history: tuple[float, ...] = ()
    marks: tuple[RoundMark, ...] = ()
    drafted_last: int | None = None
    drafted_of_late: float | None = None
    drafter: str = ""
    automatic: bool = False
    why: str = ""
    first_token_seconds: float | None = None
    context_used: int = 0
    context_size: int = 0
    rule: str = ""
    lossless: bool = True

    @property
    def tokens_per_second(self) -> float | None:
        """Emitted tokens / decode seconds, over the answer."""
        return self.statistics.tokens_per_second

    @property
    def shown_speed(self) -> float | None:
        """The one to show largest: the speed now while it is written, that of the answer after."""
        return self.now if self.progress is Progress.WRITING else self.tokens_per_second

    @property
    def speed_up(self) -> float | None:
        """Tokens/s over the answer / tokens/s off; None when nothing was to be guessed.

        As long as nobody guessed it is 1, whatever else slows the machine down.
        """
        speed = self.tokens_per_second
        if not self.speculating or speed is None or not self.off:
            return None
        return speed / self.off if self.guessed else 1.0

    @property
    def guessed(self) -> bool:
        """Whether anything was guessed, or looked for in the draft model."""
        return bool(self.statistics.drafted or self.statistics.draft_seconds)

    @property
    def positions(self) -> tuple[tuple[int, int], ...]:
        """For each position of a draft: guesses kept there, rounds that guessed there."""
        accepted, drafted = self.statistics.accepted_at, self.statistics.drafted_at
        return tuple(zip((*accepted, *(0,) * (len(drafted) - len(accepted))), drafted, strict=True))

    @property
    def context_share(self) -> float | None:
        """Used part of the context."""
        return self.context_used / self.context_size if self.context_size else None
