"""One round's decisions: what to add to a draft, what to leave out of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from localspec.decoding.calibration import Calibration, lookup_level, model_bin, model_level
from localspec.decoding.draft_length import STOP, Choice, Offers
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Prediction
from localspec.decoding.stopping import StoppingTable

_READING_CHARGED = 0.1
_MOST_CHARGED = 0.1
"""What of the time to read what the draft model is behind counts against its next guess. Most of it is owed anyway, as
soon as the model is to guess again in this answer: were all of it charged, a model that had paused would hardly ever be
worth its reading, and stay silent to the end. A trial, which may be in vain, is charged all of it. The second figure is
in tokens: reading counts no more than that, for a model that has been silent for a whole passage."""


class StoppingPlan:
    """Adds what is worth more than its time; values are in tokens, time being worth the table's rate.

    Args:
        table: of the draft model's steps.
        costs: of passes.
        calibrations: how often guesses are kept, by source.
        may_probe: whether so many tokens' time may be lost to find something out; it is spent when so.
        room: the most guesses.
    """

    def __init__(
        self,
        table: StoppingTable,
        costs: PassCosts,
        calibrations: Mapping[str, Calibration],
        may_probe: Callable[[float], bool],
        room: int,
    ) -> None:
        self._table = table
        self._stopping = table.stopping
        self._costs = costs
        self._calibrations = calibrations
        self._may_probe = may_probe
        self._room = room
        self._survival = 1.0
        self._expected = [0.0]
        self._predictions: list[Prediction] = []
        self._last = -1
        self._looked_up = 0
        self._bins: list[tuple[int, int, int]] = []
        self._probing = False
        self._least = 0

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """What is expected of each guess."""
        return tuple(self._predictions)

    def choose(self, offers: Offers) -> Choice:
        """What is worth most, if anything is."""
        drafted = len(self._predictions) + self._beside()
        if drafted >= self._room:
            return STOP
        step_gain = self._step_gain(drafted, offers) if offers.unread else -math.inf
        looked_up, lookup_gain = self._best_lookup(drafted, offers) if offers.looked_up else (0, -math.inf)
        if max(step_gain, lookup_gain) <= 0:
            step_gain = -self._trial_cost(offers.unread)
            if drafted or not self._probes(max(step_gain, lookup_gain)):
                return STOP
        return Choice(step=True) if step_gain > lookup_gain else Choice(looked_up=looked_up)

    def _probes(self, gain: float) -> bool:
        """Whether to make a first guess in spite of its worth."""
        self._probing = self._may_probe(-gain)
        self._least = int(self._probing)
        return self._probing

    def _trial_cost(self, unread: int) -> float:
        """What it costs to have one guess of the model verified, if it is kept or not."""
        if not unread:
            return math.inf
        return self._table.rate * self._costs.draft(unread) + self._stopping[0] - self._stopping[1]

    def _best_lookup(self, drafted: int, offers: Offers) -> tuple[int, float]:
        """How many of the tokens found are worth most, and what they gain over stopping here.

        Where a model drafts too, it will have to read those that are kept before it can guess again.
        """
        best, best_gain = 0, -math.inf
        survival, tokens = self._survival, 0.0
        stop = self._stopping[drafted]
        acceptance = self._calibrations["ngram"].acceptance
        for count, level in enumerate(offers.looked_up[: self._room - drafted], 1):
            survival *= acceptance(lookup_level(level, self._looked_up + count - 1))
            tokens += survival
            gain = tokens + self._stopping[drafted + count] - stop
            if offers.unread:
                gain -= self._behind(count + 1) * tokens / count
            if gain > best_gain:
                best, best_gain = count, gain
        return best, best_gain

    def _step_gain(self, drafted: int, offers: Offers) -> float:
        """What going on with the model gains over stopping here."""
        going_on = self._table.going_on(drafted, self._last, self._survival) + self._table.rate * offers.saving
        return going_on - min(_MOST_CHARGED, _READING_CHARGED * self._behind(offers.unread)) - self._stopping[drafted]

    def _behind(self, unread: int) -> float:
        """What it takes the model to read what it is behind."""
        return self._table.rate * (self._costs.draft(unread) - self._costs.draft(1)) if unread > 1 else 0.0

    def keeps(self, greatest: float) -> bool:
        """Whether a token drawn from this q is worth a place in the target's pass."""
        place, found = len(self._predictions), model_bin(greatest)
        drafted = place + self._beside()
        self._bins.append((place, self._last, found))
        if self._probing:
            return True
        kept = self._survival * self._table.acceptance[found]
        value = max(self._stopping[drafted + 1], self._table.going_on(drafted + 1, found, kept))
        return kept + value > self._stopping[drafted]

    def drawn(self, greatest: float, *, likeliest: bool) -> None:
        """The model's token was added."""
        self._last = model_bin(greatest)
        self._looked_up = 0
        self._add("model", model_level(greatest, likeliest=likeliest))
        self._probing = False

    def looked_up(self, levels: Sequence[int]) -> None:
        """Tokens of the lookup were added."""
        self._last = -1
        for place, level in enumerate(levels, self._looked_up):
            self._add("ngram", lookup_level(level, place))
        # What is found next goes on from these: it is not the first of a lookup again.
        self._looked_up += len(levels)
        self._probing = False

    def verified(self) -> int:
        """How many guesses are worth most; a probe is verified whatever it is worth."""
        values = [expected + stop for expected, stop in zip(self._expected, self._stopping, strict=False)]
        return max(range(min(self._least, len(values) - 1), len(values)), key=values.__getitem__)

    def moves(self, path: Sequence[int]) -> list[tuple[int, int]]:
        """Bins that followed each other along the text that came.

        Args:
            path: see `Round`. The guesses of this plan come first in the draft: elsewhere the text has left them.
        """
        accepted = sum(guess == place for place, guess in enumerate(path))
        return [(last, found) for place, last, found in self._bins if place <= accepted]

    def _beside(self) -> int:
        """Guesses that are verified beside these: none in a chain."""
        return 0

    def _add(self, source: str, level: int) -> None:
        acceptance = self._calibrations[source].acceptance(level)
        self._predictions.append(Prediction(level, acceptance))
        self._survival *= acceptance
        self._expected.append(self._expected[-1] + self._survival)
