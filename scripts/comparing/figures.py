"""What the samples say: speeds, ratios of localspec to the server, and texts that agree, at one temperature.

Only what every arm has answered counts, so that an interrupted run compares the same prompts everywhere. A ratio in a
category is one of medians; over the categories it is the geometric mean, each with the same weight. The server's best
setting is chosen category by category by the very samples that are then compared, which favours the server; the
interval takes the choice as given.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from comparing.samples import Sample
from localspec.bench.intervals import Paired, Ratio, mean_over_kinds, ratio_of_medians

ArmKey = tuple[str, str]
"""Side and name of an arm."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """One arm's speed over another's.

    Attributes:
        by_category: ratios of medians.
        overall: their geometric mean.
    """

    by_category: dict[str, Ratio]
    overall: Ratio


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often an arm writes what the reference writes.

    Attributes:
        same: answers that are the same, token by token.
        compared: answers that both have.
        shared: median share of an answer before the first difference.
    """

    same: int
    compared: int
    shared: float


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures at one temperature.

    Attributes:
        temperature: of the sampling.
        categories: in order of first appearance.
        arms: all arms, the server's first.
        prompts: by category, how many prompts every arm has answered.
        left_out: answers that do not count, since an arm lacks the same one or it ended at once.
        medians: tokens/s by category and arm.
        means: geometric mean of an arm's medians over the categories.
        acceptance: guesses kept / made, of the arms that guessed.
        best: by category, the server's arm with the highest median.
        ratios: by localspec's arm and the arm it is compared with.
        over_best: by localspec's arm, over the server's best in each category.
        agreement: by arm, with the first arm; empty unless the temperature is 0.
    """

    temperature: float
    categories: tuple[str, ...]
    arms: tuple[ArmKey, ...]
    prompts: dict[str, int]
    left_out: int
    medians: dict[tuple[str, ArmKey], float]
    means: dict[ArmKey, float]
    acceptance: dict[ArmKey, float]
    best: dict[str, ArmKey]
    ratios: dict[tuple[ArmKey, ArmKey], Ratios]
    over_best: dict[ArmKey, Ratios]
    agreement: dict[ArmKey, Agreement]


def figures_of(samples: Iterable[Sample], arms: Sequence[ArmKey]) -> tuple[Figures, ...]:
    """The figures at each temperature at which every arm has answered something."""
    by_temperature: dict[float, list[Sample]] = {}
    for sample in samples:
        by_temperature.setdefault(sample.cell.temperature, []).append(sample)
    found = (_at(temperature, of_it, tuple(arms)) for temperature, of_it in by_temperature.items())
    return tuple(figures for figures in found if figures.categories)


def _at(temperature: float, samples: Sequence[Sample], arms: tuple[ArmKey, ...]) -> Figures:
    counted = _answered_by_all(samples, arms)
    speeds = _Speeds(counted)
    categories = tuple(dict.fromkeys(sample.cell.category for sample in counted))
    medians = {(category, arm): speeds.median(category, arm) for category in categories for arm in arms}
    server = [arm for arm in arms if arm[0] == "server"]
    best = {category: max(server, key=lambda arm: medians[category, arm]) for category in categories}
    ours = [arm for arm in arms if arm[0] == "localspec"]
    return Figures(
        temperature=temperature,
        categories=categories,
        arms=arms,
        prompts={category: speeds.prompts(category) for category in categories},
        left_out=len(samples) - len(counted),
        medians=medians,
        means={arm: statistics.geometric_mean(medians[category, arm] for category in categories) for arm in arms}
        if categories
        else {},
        acceptance=_acceptance(counted),
        best=best,
        ratios={
            (own, other): _ratios(speeds, own, dict.fromkeys(categories, other))
            for own in ours
            for other in arms
            if own != other and categories
        },
        over_best={own: _ratios(speeds, own, best) for own in ours if categories},
        agreement=_agreement(counted, arms) if temperature == 0 else {},
    )


class _Speeds:
    """Tokens/s by category, arm and prompt, run by run."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._of: dict[tuple[str, ArmKey], dict[str, list[float]]] = {}
        for sample in sorted(samples, key=lambda sample: sample.cell.run):
            speed = sample.answer.tokens_per_second
            assert speed is not None  # those that ended at once are left out
            of_prompts = self._of.setdefault((sample.cell.category, (sample.side, sample.arm)), {})
            of_prompts.setdefault(sample.cell.prompt_id, []).append(speed)

    def median(self, category: str, arm: ArmKey) -> float:
        return statistics.median(speed for speeds in self._of[category, arm].values() for speed in speeds)

    def prompts(self, category: str) -> int:
        return next(len(of_prompts) for (of, _), of_prompts in self._of.items() if of == category)

    def paired(self, category: str, own: ArmKey, other: ArmKey) -> Paired:
        mine, theirs = self._of[category, own], self._of[category, other]
        return {prompt: (mine[prompt], theirs[prompt]) for prompt in mine}


def _answered_by_all(samples: Sequence[Sample], arms: tuple[ArmKey, ...]) -> list[Sample]:
    answered: dict[object, set[ArmKey]] = {}
    for sample in samples:
        if sample.answer.tokens_per_second is not None:
            answered.setdefault(sample.cell, set()).add((sample.side, sample.arm))
    return [sample for sample in samples if answered.get(sample.cell, set()).issuperset(arms)]


def _ratios(speeds: _Speeds, own: ArmKey, others: Mapping[str, ArmKey]) -> Ratios:
    """Over another arm in each category."""
    pairs = {category: speeds.paired(category, own, other) for category, other in others.items()}
    by_category = {category: ratio_of_medians(paired) for category, paired in pairs.items()}
    overall = mean_over_kinds(pairs)
    assert overall is not None  # there is a category
    return Ratios({category: ratio for category, ratio in by_category.items() if ratio is not None}, overall)


def _acceptance(samples: Iterable[Sample]) -> dict[ArmKey, float]:
    drafted: dict[ArmKey, int] = {}
    accepted: dict[ArmKey, int] = {}
    for sample in samples:
        arm = (sample.side, sample.arm)
        drafted[arm] = drafted.get(arm, 0) + sample.answer.drafted
        accepted[arm] = accepted.get(arm, 0) + sample.answer.accepted
    return {arm: accepted[arm] / count for arm, count in drafted.items() if count}


def _agreement(samples: Iterable[Sample], arms: tuple[ArmKey, ...]) -> dict[ArmKey, Agreement]:
    texts = {((sample.side, sample.arm), sample.cell): sample.answer.token_ids for sample in samples}
    found = {}
    for arm in arms[1:]:
        pairs = [(ids, texts[arms[0], cell]) for (of, cell), ids in texts.items() if of == arm]
        if pairs:
            shares = [_shared(one, other) for one, other in pairs]
            found[arm] = Agreement(shares.count(1.0), len(pairs), statistics.median(shares))
    return found


def _shared(one: Sequence[int], other: Sequence[int]) -> float:
    """Part of the longer of two answers before their first difference; 1 when they are the same."""
    longer = max(len(one), len(other))
    same = next(
        (i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )
    return same / longer if longer else 1.0
