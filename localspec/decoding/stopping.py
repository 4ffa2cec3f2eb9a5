"""What it is worth to let a draft model guess on: optimal stopping over a measured cost curve.

A round that drafts n tokens of which S(1) + ... + S(n) are expected to be kept, S(i) the chance that the first i all
are, takes n c + T(n + 1) seconds. With r the tokens a second that are reached anyway, the best drafts are those of
greatest tokens - r x seconds (Dinkelbach 1967: maximising a ratio by its parametric difference), so one more guess is
worth making as long as what it may lead to exceeds r times what that costs. T is not smooth - on a CPU four tokens can
cost hardly more than two - and how sure the next guess will be is not known before it is made; so the value of going on
is computed backwards over the number of guesses, how sure the last one was, and S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LEAST = 0.01
"""A draft that survives less surely than this is over."""

_POINTS = 24
"""Values of S between _LEAST and 1, in equal ratios; between them the value of going on is interpolated."""

_NEXT_GUESSES = 4
"""How much longer a draft is thought to become when a price is asked for."""

_SURVIVAL = _LEAST ** (np.arange(_POINTS) / (_POINTS - 1))
_SCALE = (_POINTS - 1) / math.log(_LEAST)


class Chances(NamedTuple):
    """What is known of a draft model's guesses.

    Attributes:
        acceptance: shape (bins,), the chance that a guess is kept, by how sure the model is.
        moves: shape (bins + 1, bins), chances of the next guess's bin by the last one's; the last row is for a model
            that has not guessed yet in this draft.
    """

    acceptance: NDArray[np.float64]
    moves: NDArray[np.float64]


class StoppingTable:
    """The value of one more step of the draft model, at each place of a draft.

    Args:
        pass_seconds: T(1), T(2), ...: seconds of a target pass by width.
        step_seconds: c, seconds of one step of the draft model.
        rate: r, tokens a second to measure against.
        chances: of the draft model's guesses.
        longest: guesses a draft may have, at most `len(pass_seconds) - 1`.

    Attributes:
        rate: r.
        longest: as given.
        acceptance: by bin, as given.
        usual: the acceptance to expect of a guess before the model has made any.
        stopping: the value of stopping after 0, 1, ... guesses: less r times the seconds of the pass that is left.
    """

    def __init__(
        self,
        pass_seconds: Sequence[float],
        step_seconds: float,
        rate: float,
        chances: Chances,
        longest: int,
    ) -> None:
        acceptance, moves = chances
        self.rate = rate
        self.longest = longest
        self.acceptance: list[float] = acceptance.tolist()
        self.usual = float(moves[-1] @ acceptance)
        self.stopping = [-rate * seconds for seconds in pass_seconds]
        step = rate * step_seconds
        kept = acceptance[:, None] * _SURVIVAL
        places = np.minimum(np.log(np.maximum(kept, 1e-12)) * _SCALE, _POINTS - 1.0)
        below = np.minimum(places.astype(np.intp), _POINTS - 2)
        part = places - below
        lower = np.arange(acceptance.size)[:, None] * _POINTS + below
        upper = lower + 1
        going_on: list[NDArray[np.float64]] = []
        # Nothing can be added to the longest draft.
        after = np.full((acceptance.size + 1, _POINTS), -math.inf)
        later = np.full(kept.shape, -math.inf)
        for drafted in range(longest - 1, -1, -1):
            # With the next guess at hand: leave it out and stop; keep it and stop; keep it and go on.
            value = np.maximum(later, self.stopping[drafted + 1])
            value += kept
            np.maximum(value, self.stopping[drafted], out=value)
            after = moves @ value
            after -= step
            going_on.append(after)
            later = after.take(lower) * (1 - part) + after.take(upper) * part
        self._going_on = going_on[::-1]
        # Floats are quicker to compute with one by one, but most drafts are short, and most of these never looked at.
        self._read: dict[int, list[list[float]]] = {}
        self._prices: list[float] = []

    def least_price(self, drafted: int) -> float:
        """What a further guess takes at least of the target's pass, in tokens, when more than `drafted` are verified.

        Several are cheaper together where the curve has steps.
        """
        if not self._prices:
            size = len(self.stopping)
            dearest = [
                min(((self.stopping[n] - self.stopping[m]) / (m - n) for m in range(n + 1, size)), default=math.inf)
                for n in range(size)
            ]
            self._prices = [min(dearest[n : n + _NEXT_GUESSES]) for n in range(size)]
        return self._prices[drafted]

    def going_on(self, drafted: int, last: int, survival: float) -> float:
        """Tokens expected from here on, less r times the seconds of all that is still to come, the pass included.

        Args:
            drafted: guesses made so far.
            last: bin of the model's last guess in this draft; -1 when it made none.
            survival: S of the guesses so far.

        Returns:
            The value of one more step; minus infinity where no draft may be so long or survives so rarely.
        """
        if drafted >= len(self._going_on) or survival <= _LEAST:
            return -math.inf
        place = math.log(survival) * _SCALE
        below = min(int(place), _POINTS - 2)
        part = place - below
        if drafted not in self._read:
            self._read[drafted] = self._going_on[drafted].tolist()
        values = self._read[drafted][last]
        return values[below] * (1 - part) + values[below + 1] * part
