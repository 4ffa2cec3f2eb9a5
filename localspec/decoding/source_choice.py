"""Which source of guesses to use: the one that promises most tokens a second, tried against the others now and then."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Round
from localspec.decoding.source_speeds import STRETCH, SourceSpeeds

NONE = "none"
"""The source that guesses nothing: as fast as speculation off, by definition."""

_CLEARLY = 1.03
"""So much more another must promise to be changed to: to change costs the time to read what was written meanwhile."""

_LEAST = 0.97
"""What promises less, compared with speculation off, is never used."""

_EXPLORING = 0.01
"""Of all time, what may be lost to trying sources that turn out to be slower."""

_MOST_SAVED = 8.0
"""Time not lost is saved up, to so many tokens' time."""

_MOST_LOST = 4.0
"""A source that has lost so many tokens' time in its stretch is not tried any longer."""

_CAUTION = 0.25
"""Standard deviations by which a source must be better than the usual one: else chance alone would often prefer it."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What is expected of a source.

    Attributes:
        source: its name.
        speed: how many times as fast as without speculation.
    """

    source: str
    speed: float


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which source was used for an answer, and why.

    Attributes:
        source: that wrote most of it.
        promises: of all sources, as they were when it began, the best one first.
        showed: how many times as fast as without speculation `source` was; None when nothing was written.
        tried: others that wrote some of it, to see what they are worth by now.
        left: those that were chosen first and did not hold what they promised.
    """

    source: str
    promises: tuple[Promise, ...]
    showed: float | None = None
    tried: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(slots=True)
class _Written:
    """So many tokens in so many times the time that one takes without speculation."""

    tokens: int = 0
    times: float = 0.0

    def add(self, tokens: int, times: float) -> None:
        self.tokens += tokens
        self.times += times


class SourceWatch:
    """Follows an answer stretch by stretch and learns how fast its sources are.

    Args:
        theories: of each source that may write, how many times as fast as without speculation it should be.
        speeds: what is known of them; learns.
    """

    def __init__(self, theories: Mapping[str, float], speeds: SourceSpeeds) -> None:
        self._theories = dict(theories)
        self.speeds = speeds
        self._source = ""
        self._stretch = _Written()
        self.written: dict[str, _Written] = {}

    def observe(self, source: str, finished: Round, costs: PassCosts) -> float:
        """Count a round.

        Its passes count as long as they usually take: what else the machine had to do is no fault of the source.

        Args:
            source: that drafted.
            finished: the round.
            costs: of passes, by now.

        Returns:
            In how many times the time that one token takes without speculation it was written.
        """
        beside = max(0.0, finished.seconds - finished.target_seconds - finished.draft_seconds)
        if not finished.drafted:
            self.speeds.plain(beside)
        tokens, times = len(finished.tokens), (costs.round(finished) + beside) / (costs.target(1) + self.speeds.beside)
        self.written.setdefault(source, _Written()).add(tokens, times)
        if source != self._source:
            # Its first round says little: it read what others had written meanwhile.
            first = not self._source
            self.end_stretch()
            self._source = source
            if not first:
                return times
        self._stretch.add(tokens, times)
        if self._stretch.tokens >= STRETCH:
            self.end_stretch()
        return times

    def end_stretch(self) -> None:
        """Learn from what was written since the last one ended."""
        stretch, self._stretch = self._stretch, _Written()
        if stretch.tokens and stretch.times > 0 and self._source in self._theories:
            self.speeds.take(self._source, self._theories[self._source], stretch.tokens, stretch.times)


class SourceChoice:
    """Chooses during one answer.

    It begins with the source that promises most. After every stretch of the answer the promises are made anew from what
    the answer showed, and a source that does not hold what it promised is left. Between, a stretch may go to another
    source that might be faster, as far as what that may lose was saved up: 1 % of all time.

    Args:
        theories: of each source how many times as fast as without speculation it should be; the usual one first.
        speeds: what is known of them; learns.
    """

    def __init__(self, theories: Mapping[str, float], speeds: SourceSpeeds) -> None:
        self._theories = dict(theories)
        self._usual = next(iter(self._theories))
        self._speeds = speeds
        self._watch = SourceWatch(theories, speeds)
        self._promises = self._ranked()
        self._best = self._current = self._promises[0].source
        self._tokens = 0
        self._lost = 0.0
        self._changed = False
        self._tried: list[str] = []
        self._left: list[str] = []

    @property
    def current(self) -> str:
        """The source of the next draft."""
        return self._current

    def observe(self, finished: Round, costs: PassCosts) -> None:
        """Learn from a round that `current` drafted, `costs` being those of passes by now."""
        tokens = len(finished.tokens)
        times = self._watch.observe(self._current, finished, costs)
        self._tokens += tokens
        if self._current == self._best and not self._changed:
            self._save(_EXPLORING * times)
        else:
            # Also what it takes the best one to read what was written meanwhile.
            lost = times - tokens / self._speed(self._best)
            self._lost += lost
            self._save(-lost)
        self._changed = False
        if self._tokens >= STRETCH or self._lost > _MOST_LOST:
            self._watch.end_stretch()
            self._think_over()

    def finish(self) -> Chosen:
        """The answer is over: who wrote it, and why."""
        self._watch.end_stretch()
        written = self._watch.written
        main = max(written, key=lambda source: written[source].tokens, default=self._best)
        showed = written[main].tokens / written[main].times if main in written and written[main].times > 0 else None
        tried, left = (
            tuple(each for each in dict.fromkeys(some) if each != main) for some in (self._tried, self._left)
        )
        return Chosen(main, self._promises, showed, tried, left)

    def _save(self, times: float) -> None:
        self._speeds.saved = min(_MOST_SAVED, self._speeds.saved + times)

    def _speed(self, source: str) -> float:
        return 1.0 if source == NONE else self._speeds.expected(source, self._theories[source])

    def _ranked(self) -> tuple[Promise, ...]:
        """All promises, the best one first; to guess nothing goes before what promises too little."""
        promises = sorted((Promise(each, self._speed(each)) for each in self._theories), key=self._rank, reverse=True)
        better, worse = ([each for each in promises if (each.speed >= _LEAST) is enough] for enough in (True, False))
        return (*better, Promise(NONE, 1.0), *worse)

    def _rank(self, promise: Promise) -> float:
        """What the best has most of: a source is preferred to the usual one only as far as it is surely better."""
        if promise.source in {self._usual, NONE}:
            return promise.speed
        doubt = self._speeds.doubt(self._of(promise.source), self._of(self._usual), of_text=False)
        return promise.speed * math.exp(-_CAUTION * doubt)

    def _of(self, source: str) -> tuple[str, float]:
        return source, self._theories[source]

    def _think_over(self) -> None:
        """Go on with the best, or let another show for a stretch what it can do."""
        before = self._current
        ranked = self._ranked()
        first, now = ranked[0], next(each for each in ranked if each.source == self._best)
        if self._rank(first) > _CLEARLY * self._rank(now):
            self._leave_for(first.source)
        elif now.speed < _LEAST:
            self._leave_for(NONE)
        # A stretch of the best one comes between two others: it is what they are compared with.
        trying = self._worth_trying() if before == self._best else None
        if trying:
            self._tried.append(trying)
        self._current = trying or self._best
        self._changed = self._current != before
        self._tokens, self._lost = 0, 0.0

    def _leave_for(self, source: str) -> None:
        self._left.append(self._best)
        self._best = source

    def _worth_trying(self) -> str | None:
        """The source that may well be faster than the best, if what it will probably lose was saved up."""
        best = self._speed(self._best)
        other = None if self._best == NONE else self._of(self._best)
        found, most = None, best
        for source in self._theories:
            speed = self._speed(source)
            if source == self._best:
                continue
            optimistic = speed * math.exp(self._speeds.doubt(self._of(source), other))
            loss = STRETCH * max(0.0, 1 / speed - 1 / best)
            if optimistic > most and loss <= self._speeds.saved:
                found, most = source, optimistic
        return found
