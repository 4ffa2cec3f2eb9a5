"""Speeds that take more than a division: over the last seconds, over equal stretches of time, without speculation."""

from __future__ import annotations

from collections import deque

from localspec.chat.events import AnswerRound

NOW_SECONDS = 2.0
"""Seconds of decoding that the speed "now" looks back on."""

STRETCH_SECONDS = 0.5
"""Seconds of decoding that one value of the history stands for."""

_HISTORY_SECONDS = 20.0
_PLAIN_ROUNDS = 64
_MEASUREMENT_WEIGHT = 8


class SpeedNow:
    """Tokens/s over the fewest last rounds that make up `NOW_SECONDS` of decoding."""

    def __init__(self) -> None:
        self._rounds: deque[tuple[int, float]] = deque()
        self._tokens = 0
        self._seconds = 0.0

    def take(self, tokens: int, seconds: float) -> None:
        """Add a round."""
        self._rounds.append((tokens, seconds))
        self._tokens += tokens
        self._seconds += seconds
        while self._seconds - self._rounds[0][1] >= NOW_SECONDS:
            old_tokens, old_seconds = self._rounds.popleft()
            self._tokens -= old_tokens
            self._seconds -= old_seconds

    @property
    def value(self) -> float | None:
        """Tokens a second; None before the first round."""
        return self._tokens / self._seconds if self._seconds else None


class SpeedHistory:
    """Tokens/s over stretches of decode time, each round's tokens spread evenly over its seconds."""

    def __init__(self) -> None:
        self._full: deque[float] = deque(maxlen=int(_HISTORY_SECONDS / STRETCH_SECONDS))
        self._tokens = 0.0
        self._seconds = 0.0

    def take(self, tokens: int, seconds: float) -> None:
        """Add a round."""
        speed = tokens / seconds if seconds else 0.0
        while seconds > 0:
            part = min(seconds, STRETCH_SECONDS - self._seconds)
            self._tokens += speed * part
            self._seconds += part
            seconds -= part
            # A sum of parts may miss the whole by a rounding error.
            if self._seconds > STRETCH_SECONDS * (1 - 1e-9):
                self._full.append(self._tokens / self._seconds)
                self._tokens = self._seconds = 0.0

    @property
    def values(self) -> tuple[float, ...]:
        """Oldest first. The stretch under way is among them when half of it is over, or when it is the first."""
        begun = self._seconds > 0 and (not self._full or self._seconds >= STRETCH_SECONDS / 2)
        return (*self._full, self._tokens / self._seconds) if begun else tuple(self._full)


class OffSpeed:
    """Tokens/s without speculation: a measurement, kept up to date by the rounds in which nothing was guessed."""

    def __init__(self) -> None:
        self._measured: float | None = None
        self._plain: deque[float] = deque(maxlen=_PLAIN_ROUNDS)

    def set(self, tokens_per_second: float | None) -> None:
        """Begin anew from a measurement, or from nothing: another pair was loaded."""
        self._measured = tokens_per_second
        self._plain.clear()

    def take(self, finished: AnswerRound) -> None:
        """Learn from a round, if it was one without guesses."""
        if not finished.drafted and len(finished.tokens) == 1:
            self._plain.append(finished.seconds)

    @property
    def value(self) -> float | None:
        """Tokens a second. The measurement counts as much as a few rounds; so many are needed when there is none."""
        tokens, seconds = len(self._plain), sum(self._plain)
        if self._measured:
            tokens += _MEASUREMENT_WEIGHT
            seconds += _MEASUREMENT_WEIGHT / self._measured
        return tokens / seconds if tokens >= _MEASUREMENT_WEIGHT and seconds else None
