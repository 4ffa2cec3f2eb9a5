"""The draft length that follows from measured costs and learned acceptance (DESIGN section 4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localspec.decoding.calibration import BINS, chance_of_likeliest, model_bin, model_level
from localspec.decoding.draft_length import LONGEST_DRAFT, STOP, Choice, Offers
from localspec.decoding.drafters.ngram_levels import NGRAM_PRIORS
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.outlook import Outlook, outlook
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Prediction, Round
from localspec.decoding.stopping import Chances, StoppingTable

LONGEST_STEPS = 16
"""Guesses of the draft model in one draft, at most; a lookup's may follow them up to LONGEST_DRAFT."""

_REMEMBERED_TOKENS = 200.0
"""The speed to measure against is that of so many last tokens. A shorter memory follows the passages of an answer, but
its noise costs more than that gains: 1.27 instead of 1.32 times off, replayed on traces of 32 prompts."""

_READING_CHARGED = 0.1
"""What of the time to read what the draft model is behind counts against its next guess. Most of it is owed anyway, as
soon as the model is to guess again in this answer: were all of it charged, a model that had paused would hardly ever be
worth its reading, and stay silent to the end. Probing, which may be in vain, is charged all of it."""

_UNPROVEN = 3
"""The longest draft before any guess was judged: a first wager on figures that are not this pair's."""

_PROBING = 0.01
"""Of the time of rounds without guesses, what may be spent on finding out whether guesses would pay by now."""

_MOST_SAVED = 2.0
"""Probing not done is saved up, to so many tokens' time."""

_STALE_AFTER = 24
"""Rounds after which the table is computed anew, for what was learned since."""

_NOTICEABLE = 0.06
"""A change of speed or of recent acceptance after which it is computed anew at once."""


class AdaptiveLength:
    """Drafts what is worth its time, by `StoppingTable` for the draft model and directly for what a lookup found.

    Args:
        costs: of passes; learns from each round.
        knowledge: of the pair at this temperature; learns from each round.
        greedy: whether the temperature is 0: then a guess is always q's likeliest.
    """

    longest = LONGEST_DRAFT
    needs_confidence = True

    def __init__(self, costs: PassCosts, knowledge: Knowledge, *, greedy: bool) -> None:
        self.costs = costs
        self.knowledge = knowledge
        self._greedy = greedy
        self._plan: _Plan | None = None
        self._table: StoppingTable | None = None
        self._basis = (-1, 0.0, 0.0)
        self._age = 0
        self._saved = 0.0
        self._tokens = _REMEMBERED_TOKENS
        self._seconds = _REMEMBERED_TOKENS * costs.target(1) / knowledge.speed
        for calibration in knowledge.calibrations.values():
            calibration.begin_answer()

    @property
    def rate(self) -> float:
        """r: tokens a second reached lately, never below those without speculation."""
        return max(self._tokens / self._seconds, 1 / self.costs.target(1))

    def plan(self, room: int) -> _Plan:
        """Begin a round."""
        self._plan = _Plan(self, room)
        return self._plan

    def bin_acceptance(self, found: int) -> float:
        """The chance that a token drawn from a q of this bin is kept."""
        model = self.knowledge.calibrations["model"]
        kept = model.acceptance(found)
        if self._greedy:
            return kept
        likeliest = chance_of_likeliest(found)
        return likeliest * kept + (1 - likeliest) * model.acceptance(found + BINS)

    def outlook(self) -> Outlook:
        """Why it drafts as much as it does with the draft model; half a millisecond's work."""
        usual = self.knowledge.usual_bins
        return outlook(sum(usual[found] * self.bin_acceptance(found) for found in range(BINS)), self.costs)

    def table(self) -> StoppingTable:
        """The value of the model's steps, computed anew when it is out of date."""
        basis = (self.costs.version, self.rate, self.knowledge.calibrations["model"].recent)
        if self._table is None or self._age >= _STALE_AFTER or _differ(basis, self._basis):
            self._table = StoppingTable(
                self.costs.target_curve,
                self.costs.draft(1),
                self.rate,
                Chances(
                    np.array([self.bin_acceptance(found) for found in range(BINS)]),
                    self.knowledge.moves,
                ),
                LONGEST_STEPS,
            )
            self._age, self._basis = 0, basis
        return self._table

    def may_probe(self, loss: float) -> bool:
        """Whether so many tokens' time may be lost to find something out; if so, it is spent."""
        if loss > self._saved:
            return False
        self._saved -= loss
        return True

    def observe(self, finished: Round) -> None:
        """Learn from a round."""
        self.knowledge.judged += finished.judged
        for i, prediction in enumerate(finished.predictions[: finished.judged]):
            calibration = self.knowledge.calibrations[finished.sources[i]]
            calibration.observe(prediction.level, kept=i < finished.accepted)
        if self._plan is not None:
            for last, found in self._plan.moves(finished.accepted):
                self.knowledge.moved(last, found)
        self.costs.observe(finished)
        seconds = self.costs.target(len(finished.drafted) + 1) + sum(
            self.costs.draft(each.width) for each in finished.passes
        )
        fading = 1 - len(finished.tokens) / (_REMEMBERED_TOKENS + len(finished.tokens))
        self._tokens = self._tokens * fading + len(finished.tokens)
        self._seconds = self._seconds * fading + seconds
        self.knowledge.speed = self.rate * self.costs.target(1)
        self._age += 1
        if not finished.drafted:
            self._saved = min(_MOST_SAVED, self._saved + _PROBING)


def _differ(basis: tuple[int, float, float], before: tuple[int, float, float]) -> bool:
    """Whether the table's basis moved noticeably."""
    return basis[0] != before[0] or any(
        abs(new - old) > _NOTICEABLE * old for new, old in zip(basis[1:], before[1:], strict=True)
    )


class _Plan:
    """One round's decisions; values are in tokens, time being worth `rate` tokens a second."""

    def __init__(self, rule: AdaptiveLength, room: int) -> None:
        self._rule = rule
        self._room = min(room, _UNPROVEN + rule.knowledge.judged)
        self._rate = rule.rate
        self._curve = rule.costs.target_curve
        self._survivals = [1.0]
        self._predictions: list[Prediction] = []
        self._last = -1
        self._bins: list[tuple[int, int, int]] = []
        self._probing = False
        self._least = 0

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """What is expected of each guess."""
        return tuple(self._predictions)

    def choose(self, offers: Offers) -> Choice:
        """What is worth most, if anything is."""
        drafted = len(self._predictions)
        if drafted >= self._room:
            return STOP
        looked_up, lookup_gain = self._best_lookup(drafted, offers.looked_up)
        step_gain = self._step_gain(drafted, offers.unread)
        if max(lookup_gain, step_gain) <= 0 and (
            drafted or not self._probes(max(lookup_gain, step_gain), offers.unread)
        ):
            return STOP
        if lookup_gain >= step_gain:
            return Choice(looked_up=looked_up)
        return Choice(step=True)

    def _probes(self, gain: float, unread: int) -> bool:
        gain -= (1 - _READING_CHARGED) * self._rate * self._behind(unread)
        self._probing = self._rule.may_probe(-gain)
        self._least = int(self._probing)
        return self._probing

    def _stop_cost(self, drafted: int) -> float:
        return self._rate * self._curve[drafted]

    def _best_lookup(self, drafted: int, levels: Sequence[int]) -> tuple[int, float]:
        """How many of the tokens found are worth most, and what they gain over stopping here."""
        best, best_gain = 0, -np.inf
        survival, tokens = self._survivals[-1], 0.0
        stop = self._stop_cost(drafted)
        calibration = self._rule.knowledge.calibrations["ngram"]
        for count, level in enumerate(levels[: self._room - drafted], 1):
            survival *= calibration.acceptance(level if count == 1 else level + len(NGRAM_PRIORS))
            tokens += survival
            gain = tokens - self._stop_cost(drafted + count) + stop
            if gain > best_gain:
                best, best_gain = count, gain
        return best, best_gain

    def _step_gain(self, drafted: int, unread: int) -> float:
        """What going on with the model gains over stopping here."""
        if not unread:
            return -np.inf
        going_on = self._rule.table().going_on(drafted, self._last, self._survivals[-1])
        return going_on - _READING_CHARGED * self._rate * self._behind(unread) + self._stop_cost(drafted)

    def _behind(self, unread: int) -> float:
        """Seconds it takes the model to read what it is behind."""
        return self._rule.costs.draft(unread) - self._rule.costs.draft(1) if unread > 1 else 0.0

    def keeps(self, greatest: float) -> bool:
        """Whether a token drawn from this q is worth a place in the target's pass."""
        drafted, found = len(self._predictions), model_bin(greatest)
        self._bins.append((drafted, self._last, found))
        kept = self._survivals[-1] * self._rule.bin_acceptance(found)
        value = max(-self._stop_cost(drafted + 1), self._rule.table().going_on(drafted + 1, found, kept))
        return self._probing or kept + value > -self._stop_cost(drafted)

    def drawn(self, greatest: float, *, likeliest: bool) -> None:
        """The model's token was added."""
        self._last = model_bin(greatest)
        self._add("model", model_level(greatest, likeliest=likeliest))
        self._probing = False

    def looked_up(self, levels: Sequence[int]) -> None:
        """Tokens of the lookup were added."""
        self._last = -1
        for i, level in enumerate(levels):
            self._add("ngram", level if i == 0 else level + len(NGRAM_PRIORS))
        self._probing = False

    def verified(self) -> int:
        """How many guesses are worth most; a probe is verified whatever it is worth."""
        values = [-self._stop_cost(0)]
        tokens = 0.0
        for count, survival in enumerate(self._survivals[1:], 1):
            tokens += survival
            values.append(tokens - self._stop_cost(count))
        return max(range(min(self._least, len(values) - 1), len(values)), key=values.__getitem__)

    def moves(self, accepted: int) -> list[tuple[int, int]]:
        """Bins that followed each other along the text that came."""
        return [(last, found) for place, last, found in self._bins if place <= accepted]

    def _add(self, source: str, level: int) -> None:
        acceptance = self._rule.knowledge.calibrations[source].acceptance(level)
        self._predictions.append(Prediction(level, acceptance))
        self._survivals.append(self._survivals[-1] * acceptance)
