"""Machines and texts without models: what passes cost, how sure a draft is, and whether it is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import NamedTuple

import numpy as np

from localspec.decoding.draft_length import LONGEST_DRAFT, DraftLength, Offers
from localspec.decoding.rounds import DraftPass, Origin, Prediction, Round

_WIDTHS = range(1, LONGEST_DRAFT + 2)

CPU_STEPS = [
    *(1.0, 1.6, 1.72, 1.85, 2.8, 2.9, 2.95, 2.8, 3.5, 3.6, 3.55, 3.55),
    *(4.5,) * 4,
    *(5.3,) * 4,
    *(6.0,) * 4,
    *(6.8,) * 4,
    *(7.5,) * 4,
]
"""Seconds by width on a CPU whose kernels take four rows at once (a laptop, Q8_0, measured; T(1) = 1)."""

CUDA_CLIFF = [1.0 + 0.02 * (width - 1) if width <= 8 else 2.2 + 0.03 * (width - 8) for width in _WIDTHS]
"""On a GPU whose kernel for few rows ends at eight."""

FLAT = [1.0 + 0.004 * (width - 1) for width in _WIDTHS]
"""Where memory is all that counts."""

LINEAR = [1.0 + 0.9 * (width - 1) for width in _WIDTHS]
"""Where arithmetic is all that counts: little can be won."""


class Place(NamedTuple):
    """A place in a text: how sure the draft model is there, and whether its guess is what the target writes."""

    greatest: float
    right: bool


def informative(acceptance: float, count: int, seed: int) -> list[Place]:
    """A model that knows how often it is right: sure of some guesses, unsure of others, `acceptance` on average."""
    rng = np.random.default_rng(seed)
    sure = rng.beta(2.5 * acceptance, 2.5 * (1 - acceptance), count) if 0 < acceptance < 1 else [acceptance] * count
    return [Place(float(greatest), bool(rng.random() < greatest)) for greatest in sure]


def uninformative(acceptance: float, count: int, seed: int) -> list[Place]:
    """A model whose confidence says nothing."""
    rng = np.random.default_rng(seed)
    return [Place(float(rng.random()), bool(rng.random() < acceptance)) for _ in range(count)]


Process = Callable[[float, int, int], list[Place]]
"""Places of such an acceptance on average, so many, drawn with this seed."""


def passages(process: Process, acceptances: Sequence[float], length: int, count: int, seed: int) -> list[Place]:
    """Passages of such acceptances in turn, all of the same length."""
    found: list[Place] = []
    for i, acceptance in enumerate(cycle(acceptances)):
        if len(found) >= count:
            break
        found += process(acceptance, length, seed + i)
    return found[:count]


def fixed_speed(places: Sequence[Place], length: int, curve: Sequence[float], step: float) -> float:
    """Tokens a second of drafts of always the same length."""
    position, seconds = 0, 0.0
    while position < len(places):
        drafted = min(length, len(places) - position - 1)
        kept = 0
        while kept < drafted and places[position + kept].right:
            kept += 1
        seconds += drafted * step + curve[drafted]
        position += kept + 1
    return len(places) / seconds


def best_fixed_speed(places: Sequence[Place], curve: Sequence[float], step: float) -> float:
    """The best of all fixed lengths, none included."""
    return max(fixed_speed(places, length, curve, step) for length in range(LONGEST_DRAFT + 1))


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a text: its rounds, and tokens a second."""

    rounds: list[Round]
    speed: float


def write(
    places: Sequence[Place], rule: DraftLength, curve: Sequence[float], step: float, *, leaves_out: bool = True
) -> Written:
    """Write a text with a draft model that `places` describes, passes costing what `curve` and `step` say."""
    position, held, seconds = 0, 0, 0.0
    rounds: list[Round] = []
    while position < len(places):
        plan = rule.plan(min(LONGEST_DRAFT, len(places) - position - 1))
        passes: list[DraftPass] = []
        drafted = 0
        # The cache of the model holds `held` tokens; position + 1 is the length of the text, its prompt being one.
        while plan.choose(Offers(unread=position + 1 + drafted - held)).step:
            unread = position + 1 + drafted - held
            passes.append(DraftPass(unread, step * (1 + 0.4 * (unread - 1))))
            held += unread
            greatest = places[position + drafted].greatest
            if not plan.keeps(greatest):
                break
            plan.drawn(greatest, likeliest=True)
            drafted += 1
        drafted = plan.verified() if leaves_out else drafted
        finished = _finished(places[position:], drafted, tuple(passes), plan.predictions[:drafted], curve[drafted])
        rule.observe(finished)
        rounds.append(finished)
        position += len(finished.tokens)
        held = min(held, position)
        seconds += finished.seconds
    return Written(rounds, len(places) / seconds)


def _finished(
    places: Sequence[Place], drafted: int, passes: tuple[DraftPass, ...], predictions: tuple[Prediction, ...], t: float
) -> Round:
    kept = next((i for i in range(drafted) if not places[i].right), drafted)
    own = Origin.PLAIN if not drafted else Origin.CORRECTION if kept < drafted else Origin.BONUS
    return Round(
        drafted=(0,) * drafted,
        path=tuple(range(kept)),
        tokens=(0,) * (kept + 1),
        origins=(*(Origin.DRAFT,) * kept, own),
        sources=("model",) * drafted,
        predictions=predictions,
        passes=passes,
        target_seconds=t,
        seconds=t + sum(each.seconds for each in passes),
    )
