"""How fast each source of guesses makes this pair, learned from what each has written.

One text is easier to guess than another for every source alike, so a source is not to be judged by the text that it
happened to write. The logarithm of the speed over a stretch of text, relative to what theory says of the source, is
taken to be

    how far theory is off for this source + how easy this text is + how well it suits this source + chance,

all of them normally distributed; what is known of them is kept by a Kalman filter (Kalman 1960), which is Bayes' rule
for that.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.decoding.drafter_names import CHOSEN, DRAFTERS

SOURCES = tuple(source for source in DRAFTERS if source not in {CHOSEN, "none"})

STRETCH = 32
"""Tokens of the stretches whose speeds are compared."""

_THEORY = 0.2
_EASE = 0.35
_SUITS = 0.12
_CHANCE = 0.25
"""Standard deviations of the four parts."""

_KEEPS = 0.985
"""What remains from one conversation to the next of how far theory is off: machine and programs are others then, and a
source that is not used any more is judged by theory again in the end."""

_WANDERS = 0.03
"""So much the two parts of a conversation change with each stretch."""

_MOST_SURPRISING = 3.0
"""Standard deviations from what was expected that a stretch counts for at most."""

_LEAST_EASE = 0.4
"""What of the ease of a text a source feels that cannot gain anything by theory."""

_WHOLE_EASE = 0.25
"""Logarithm of the gain by theory from which on a source feels all of it."""

_COUNT = len(SOURCES)
_EASE_AT = _COUNT
_PLAIN_ROUNDS = 15
"""Rounds whose median is what a round without guesses takes beside the target's pass."""


class SourceSpeeds:
    """What is known.

    Attributes:
        saved: tokens' time without speculation that may be lost to trying another source; not kept.
    """

    def __init__(self) -> None:
        self._mean = np.zeros(2 * _COUNT + 1)
        self._covariance = np.diag([_THEORY**2] * _COUNT + [0.0] * (_COUNT + 1))
        self._beside: deque[float] = deque(maxlen=_PLAIN_ROUNDS)
        self.saved = 0.0
        self.begin_conversation()

    def begin_conversation(self) -> None:
        """Another text begins: nothing is known of it."""
        self._mean[_COUNT:] = 0
        self._covariance[_COUNT:] = 0
        self._covariance[:, _COUNT:] = 0
        self._mean[:_COUNT] *= _KEEPS
        self._covariance[:_COUNT, :_COUNT] *= _KEEPS**2
        self._widen([_THEORY * math.sqrt(1 - _KEEPS**2)] * _COUNT + [_EASE] + [_SUITS] * _COUNT)

    def take(self, source: str, theory: float, tokens: float, times: float) -> None:
        """Learn from a stretch that a source wrote.

        Args:
            source: one of SOURCES.
            theory: how many times as fast as without speculation it should have been.
            tokens: written.
            times: in how many times the time that one takes without speculation.
        """
        self._widen([0.0] * _COUNT + [_WANDERS] * (_COUNT + 1))
        seen = math.log(tokens / times / theory)
        row = _row(source, theory)
        reach = self._covariance @ row
        variance = float(row @ reach) + _CHANCE**2 * STRETCH / tokens
        gain = reach / variance
        # A second in which the machine did something else says nothing of the source.
        most = _MOST_SURPRISING * math.sqrt(variance)
        self._mean += gain * max(-most, min(most, seen - float(row @ self._mean)))
        self._covariance -= np.outer(gain, reach)

    def expected(self, source: str, theory: float) -> float:
        """How many times as fast as without speculation a source is expected to be in this conversation."""
        return theory * math.exp(_row(source, theory) @ self._mean)

    def doubt(self, source: tuple[str, float], other: tuple[str, float] | None, *, of_text: bool = True) -> float:
        """Standard deviation of the logarithm of how many times as fast as `other` it is.

        Args:
            source: one of SOURCES, and its speed by theory.
            other: likewise; None for no speculation.
            of_text: count also how well this text may suit it.
        """
        row = _row(*source) - (0 if other is None else _row(*other))
        row = row if of_text else row[:_COUNT]
        return math.sqrt(max(0.0, float(row @ self._covariance[: len(row), : len(row)] @ row)))

    def plain(self, beside: float) -> None:
        """A round without guesses took so many seconds beside the target's pass."""
        if 0 <= beside < math.inf:
            self._beside.append(beside)

    @property
    def beside(self) -> float:
        """Seconds that a round without guesses takes beside the target's pass; 0 before there was one."""
        return sorted(self._beside)[len(self._beside) // 2] if self._beside else 0.0

    def state(self) -> dict[str, Any]:
        """What outlasts the conversation, as plain data."""
        return {
            "sources": list(SOURCES),
            "mean": self._mean[:_COUNT].tolist(),
            "covariance": self._covariance[:_COUNT, :_COUNT].tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` gave.

        Raises:
            ValueError: it is damaged, or of other sources.
            TypeError: it is something else.
            KeyError: likewise.
        """
        mean, covariance = np.asarray(state["mean"], np.float64), np.asarray(state["covariance"], np.float64)
        if (
            list(state["sources"]) != list(SOURCES)
            or mean.shape != (_COUNT,)
            or covariance.shape != (_COUNT, _COUNT)
            or not (np.isfinite(mean).all() and np.isfinite(covariance).all() and (covariance.diagonal() > 0).all())
        ):
            raise ValueError("what was learned about the sources of guesses is damaged")
        self._mean[:_COUNT] = mean
        self._covariance[:_COUNT, :_COUNT] = covariance
        self.begin_conversation()

    def _widen(self, deviations: list[float]) -> None:
        self._covariance += np.diag(np.square(deviations))


def _row(source: str, theory: float) -> NDArray[np.float64]:
    """Which parts the speed of a source is the sum of."""
    row = np.zeros(2 * _COUNT + 1)
    place = SOURCES.index(source)
    row[[place, _EASE_AT + 1 + place]] = 1
    # Where little can be gained, an easy text brings little, and a hard one costs little.
    row[_EASE_AT] = min(1.0, _LEAST_EASE + (1 - _LEAST_EASE) * math.log(max(1.0, theory)) / _WHOLE_EASE)
    return row
