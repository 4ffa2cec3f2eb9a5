"""The draft length that follows from measured costs and learned acceptance (DESIGN section 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul

import numpy as np

from localspec.decoding.calibration import BINS, chance_of_likeliest, source_beside
from localspec.decoding.draft_length import LONGEST_DRAFT, DraftLength, FixedLength
from localspec.decoding.draft_plan import StoppingPlan
from localspec.decoding.economy import Economy
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.outlook import Outlook, outlook
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Prediction, Round
from localspec.decoding.stopping import Chances, StoppingTable
from localspec.decoding.tree_plan import StoppingTreePlan

_AHEAD = 12
"""How much longer than the last drafts the longest is that is thought of: three steps of a CPU's cost curve. Thinking
of all lengths would take three times as long; drafts that become longer are followed in a few rounds."""

_UNPROVEN = 3
"""The longest draft before any guess was judged: a first wager on figures that are not this pair's."""

_PROBING = 0.01
"""Of the time of rounds without guesses, what may be spent on finding out whether guesses would pay by now."""

_MOST_SAVED = 2.0
"""Probing not done is saved up, to so many tokens' time. It is spent at the beginning of answers, when the draft model
has just read the prompt: later, to read what it is behind by often costs more than is ever saved.
"""

_STALE_AFTER = 24
"""Rounds after which the table is computed anew, for what was learned since."""

_NOTICEABLE = 0.06
"""A change of the speed after which it is computed anew at once."""

_NOTICEABLY_EASIER = 0.2
"""A change of the odds that guesses are kept, likewise."""


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
        self._plan: StoppingPlan | None = None
        self._table: StoppingTable | None = None
        self._basis = (-1, 0.0, 0.0)
        self._age = 0
        self._longest_lately = 0
        for calibration in knowledge.calibrations.values():
            calibration.begin_answer()

    @property
    def rate(self) -> float:
        """r: tokens a second at the pace reached lately, with what passes cost now; never below those of no guesses."""
        return self.knowledge.pace.speed / self.costs.target(1)

    def saving(self, guesses: Sequence[Prediction]) -> float:
        """See `DraftLength`."""
        kept: float = sum(accumulate((each.acceptance for each in guesses), mul))
        return kept * self.costs.target(1) - (self.costs.target(1 + len(guesses)) - self.costs.target(1))

    def below(self) -> DraftLength:
        """The same rule, with the costs and the knowledge of the draft model as a target."""
        if self.costs.below is None:
            return FixedLength(0)
        return AdaptiveLength(self.costs.below, self.knowledge.below, greedy=self._greedy)

    def plan(self, room: int) -> StoppingPlan:
        """Begin a round."""
        room = min(room, _UNPROVEN + self.knowledge.judged)
        self._plan = StoppingPlan(self._current_table(), self.costs, self.knowledge.calibrations, self._may_probe, room)
        return self._plan

    def tree_plan(self, room: int, *, leaves_out: bool) -> StoppingTreePlan:
        """Begin a round whose draft may be a tree."""
        known, room = self.knowledge, min(room, _UNPROVEN + self.knowledge.judged)
        self._plan = plan = StoppingTreePlan(
            self._current_table(), self.costs, known.calibrations, self._may_probe, room, leaves_out=leaves_out
        )
        return plan

    def economy(self, source: str) -> Economy:
        """The measured costs, the speed reached lately, and how often this source's guesses are kept."""
        return Economy(self.costs.target_curve, self.rate, self.knowledge.calibrations[source], self._may_probe)

    def _bin_acceptance(self, found: int) -> float:
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
        return outlook(sum(usual[found] * self._bin_acceptance(found) for found in range(BINS)), self.costs)

    def _current_table(self) -> StoppingTable:
        """The value of the model's steps, computed anew when it is out of date."""
        basis = (self.costs.version, self.rate, self.knowledge.calibrations["model"].ease)
        if self._table is None or self._age >= _STALE_AFTER or _differ(basis, self._basis):
            step = self.costs.draft(1)
            longest = 0 if step == math.inf else min(LONGEST_DRAFT, self._longest_lately + _AHEAD)
            acceptance = np.array([self._bin_acceptance(found) for found in range(BINS)])
            chances = Chances(acceptance, self.knowledge.moves)
            self._table = StoppingTable(self.costs.target_curve, step, self.rate, chances, longest)
            self._age, self._basis, self._longest_lately = 0, basis, 0
        return self._table

    def _may_probe(self, loss: float) -> bool:
        if loss > self.knowledge.saved:
            return False
        self.knowledge.saved -= loss
        return True

    def observe(self, finished: Round) -> None:
        """Learn from a round."""
        self.knowledge.judged += len(finished.judged)
        kept = set(finished.path)
        for i in finished.judged:
            if i < len(finished.predictions):
                prediction, source = finished.predictions[i], finished.sources[i]
                calibration = self.knowledge.calibrations[source_beside(source) if prediction.rank else source]
                calibration.observe(prediction.level, kept=i in kept)
        if self._plan is not None:
            for last, found in self._plan.moves(finished.path):
                self.knowledge.moved(last, found)
            # A next round may come from a source that asks for no plan.
            self._plan = None
        self.costs.observe(finished)
        self.knowledge.pace.wrote(len(finished.tokens), self.costs.round(finished) / self.costs.target(1))
        self._age += 1
        self._longest_lately = max(self._longest_lately, len(finished.drafted))
        if self._table and self._table.longest <= self._longest_lately < LONGEST_DRAFT:
            self._age = _STALE_AFTER
        if not finished.judged:
            for calibration in self.knowledge.calibrations.values():
                calibration.unjudged()
        if not finished.drafted:
            self.knowledge.saved = min(_MOST_SAVED, self.knowledge.saved + _PROBING)


def _differ(basis: tuple[int, float, float], before: tuple[int, float, float]) -> bool:
    """Whether the table's basis moved noticeably."""
    (version, rate, ease), (old_version, old_rate, old_ease) = basis, before
    return (
        version != old_version
        or abs(rate - old_rate) > _NOTICEABLE * old_rate
        or abs(ease - old_ease) > _NOTICEABLY_EASIER * old_ease
    )
