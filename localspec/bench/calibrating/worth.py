"""What the measured costs mean: which draft length pays best at which acceptance."""

from __future__ import annotations

from dataclasses import dataclass

from localspec.bench import theory
from localspec.decoding.pass_costs import PassCosts
from localspec.engine.calibrations import Calibration

_STEPS = 100


@dataclass(frozen=True, slots=True)
class Worth:
    """The best fixed draft length at each acceptance, from 0 % to 100 %.

    Attributes:
        best: 101 entries; the best with guesses of the draft model, or where there is none with those of a lookup.
    """

    best: tuple[theory.BestLength, ...]

    @property
    def pays_from(self) -> int | None:
        """The acceptance in percent from which on guessing pays; None when it never does."""
        return next((percent for percent, best in enumerate(self.best) if best.drafted), None)

    def from_length(self, drafted: int) -> int | None:
        """The acceptance in percent from which on the best drafts hold at least so many tokens."""
        return next((percent for percent, best in enumerate(self.best) if best.drafted >= drafted), None)


def worth(costs: PassCosts, draft_step: float) -> Worth:
    """What pays with these costs.

    Args:
        costs: of the target.
        draft_step: seconds of a guess; 0 for those of a lookup.
    """
    curve = costs.target_curve
    return Worth(tuple(theory.best_draft_length(step / _STEPS, curve, draft_step) for step in range(_STEPS + 1)))


def costs_of(found: Calibration) -> PassCosts:
    """The measured costs, with what lies between the measured widths."""
    return PassCosts(dict(found.target.seconds), dict(found.draft.seconds) if found.draft else {})
