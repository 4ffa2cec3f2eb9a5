"""Why a rule drafts as much as it does, in four figures."""

from __future__ import annotations

from dataclasses import dataclass

from localspec.decoding.pass_costs import WIDEST, PassCosts

_HALVINGS = 20
"""Of the interval the break-even acceptance is looked for in."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What guesses of the draft model promise with the costs measured here.

    Simplified as Leviathan 2023 is: as if all guesses were equally sure and all drafts equally long. The rule itself
    drafts where the model is sure and not where it is not, so it does better.

    Attributes:
        acceptance: the share of the model's guesses expected to be kept, those before them in their draft being kept.
        break_even: the least acceptance at which drafts of some length are quicker than none; None if none ever are.
        draft_length: the length that is quickest at `acceptance`; 0 if none is quicker than no draft.
        speed_up: how many times quicker than without drafts that is; 1 or more.
    """

    acceptance: float
    break_even: float | None
    draft_length: int
    speed_up: float


def outlook(acceptance: float, costs: PassCosts) -> Outlook:
    """The outlook of guesses that are kept this often.

    Args:
        acceptance: 0 to 1.
        costs: where they have none of a draft model, no draft pays.
    """
    draft_length, speed_up = _best(acceptance, costs)
    return Outlook(acceptance, _break_even(costs), draft_length, speed_up)


def _best(acceptance: float, costs: PassCosts) -> tuple[int, float]:
    """The quickest draft length and its speed over none: E T(1) / (n c + T(n + 1)), E as in Leviathan, equation 1."""
    best, best_speed_up = 0, 1.0
    step, curve, tokens = costs.draft(1), costs.target_curve, 1.0
    for drafted in range(1, WIDEST):
        tokens += acceptance**drafted
        speed_up = tokens * curve[0] / (drafted * step + curve[drafted])
        if speed_up > best_speed_up:
            best, best_speed_up = drafted, speed_up
    return best, best_speed_up


def _break_even(costs: PassCosts) -> float | None:
    """The acceptance from which `_best` is above 0: more acceptance is never slower, so halving finds it."""
    if not _best(1.0, costs)[0]:
        return None
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _best(middle, costs)[0] else (middle, high)
    return high
