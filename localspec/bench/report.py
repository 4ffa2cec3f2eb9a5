"""What the records of a benchmark say: figures for each kind of task and arm, and overall."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localspec.bench.arms import Arm, baseline_of
from localspec.bench.intervals import CONFIDENCE, Interval, Paired, Ratio, mean_over_kinds, ratio_of_medians
from localspec.bench.records import Record, RoundFigures, summed
from localspec.decoding.statistics import DecodingStatistics


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and quartiles of some figures."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figures:
    """One arm on one kind of task, or on all.

    Attributes:
        arm: name of the arm.
        kind: of the tasks; None for all of them.
        generations: how many answers it rests on.
        tokens_per_second: of the answers.
        time_to_first_token: seconds.
        speed_up: over the arm's baseline: a ratio of medians; over all kinds their geometric mean. None for a
            baseline, and where the two have no prompt in common.
        among_kinds: the interval of a kind's speed-up that is so wide that those of all kinds of the arm hold together
            with CONFIDENCE: one of eight is beside the truth by luck more often than one alone. None where there are
            too few prompts for that, and over all kinds.
        statistics: summed over the answers.
        conditional: for each position of a draft, kept there / drafted there after all before were kept.
        draft_lengths: rounds by tokens drafted.
        joules_per_token: None where the system does not tell.
    """

    arm: str
    kind: str | None
    generations: int
    tokens_per_second: Spread
    time_to_first_token: Spread | None
    speed_up: Ratio | None
    among_kinds: Interval | None
    statistics: DecodingStatistics
    conditional: tuple[float | None, ...]
    draft_lengths: tuple[tuple[int, int], ...]
    joules_per_token: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """All figures.

    Attributes:
        arms: names, in the order of the plan.
        kinds: names, in the order of the plan.
        baselines: for each arm the one its speed is compared with; None for a baseline.
        figures: by kind, None for all, and arm.
    """

    arms: tuple[str, ...]
    kinds: tuple[str, ...]
    baselines: dict[str, str | None]
    figures: dict[tuple[str | None, str], Figures]

    def overall(self, arm: str) -> Figures | None:
        """An arm on all kinds; None when it has no records."""
        return self.figures.get((None, arm))


def report_of(records: Iterable[Record], arms: Sequence[Arm], kinds: Sequence[str]) -> Report:
    """The figures of whatever records there are; answers without a token do not count."""
    counted = [record for record in records if record.tokens_per_second]
    baselines = {arm.name: against.name if (against := baseline_of(arm, arms)) else None for arm in arms}
    by_cell: dict[tuple[str | None, str], list[Record]] = defaultdict(list)
    for record in counted:
        by_cell[record.category, record.arm].append(record)
        by_cell[None, record.arm].append(record)
    figures = {}
    for kind in (*kinds, None):
        for arm in arms:
            own = by_cell.get((kind, arm.name))
            if own:
                base = by_cell.get((kind, baselines[arm.name] or ""), [])
                among = _among_kinds(own, base, len(kinds)) if kind is not None else None
                figures[kind, arm.name] = _figures(arm.name, kind, own, _speed_up(own, base, kind), among)
    return Report(tuple(arm.name for arm in arms), tuple(kinds), baselines, figures)


def _figures(
    arm: str, kind: str | None, records: list[Record], speed_up: Ratio | None, among_kinds: Interval | None
) -> Figures:
    rounds = [each for record in records for each in record.rounds]
    together = summed(record.statistics for record in records)
    firsts = [record.time_to_first_token for record in records if record.time_to_first_token is not None]
    joules = [record.joules for record in records if record.joules is not None]
    return Figures(
        arm=arm,
        kind=kind,
        generations=len(records),
        tokens_per_second=_spread([record.tokens_per_second or 0.0 for record in records]),
        time_to_first_token=_spread(firsts) if firsts else None,
        speed_up=speed_up,
        among_kinds=among_kinds,
        statistics=together,
        conditional=conditional_acceptance(rounds),
        draft_lengths=tuple(sorted(Counter(each.drafted for each in rounds).items())),
        joules_per_token=sum(joules) / together.emitted if len(joules) == len(records) else None,
    )


def _spread(values: Sequence[float]) -> Spread:
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def conditional_acceptance(rounds: Sequence[RoundFigures]) -> tuple[float | None, ...]:
    """For each position: how often the guess there was kept, of those made after nothing but kept guesses.

    This is the acceptance of the theory: the chance that a guess is kept, given that it is examined at all.
    """
    longest = max((each.drafted for each in rounds), default=0)
    shares: list[float | None] = []
    for i in range(longest):
        examined = [each for each in rounds if each.accepted > i or (each.accepted == i and each.refused)]
        kept = sum(each.accepted > i for each in examined)
        shares.append(kept / len(examined) if examined else None)
    return tuple(shares)


def overall_acceptance(rounds: Sequence[RoundFigures]) -> float | None:
    """Kept guesses / examined guesses: the one chance that fits all positions best; None when none was examined."""
    kept = sum(each.accepted for each in rounds)
    examined = kept + sum(each.refused for each in rounds)
    return kept / examined if examined else None


def paired_by_prompt(one: Iterable[Record], other: Iterable[Record]) -> Paired:
    """Tokens/s of both sides for each turn of each prompt that both have, run by run."""
    sides: list[dict[str, dict[int, dict[int, float]]]] = [{}, {}]
    for side, records in zip(sides, (one, other), strict=True):
        for record in records:
            speed = record.tokens_per_second
            if speed:
                side.setdefault(record.prompt_id, {}).setdefault(record.turn, {})[record.run] = speed
    pairs: dict[str, tuple[list[float], list[float]]] = {}
    for prompt in (prompt for prompt in sides[0] if prompt in sides[1]):
        for turn, runs in sides[0][prompt].items():
            for run in sorted(set(runs) & set(sides[1][prompt].get(turn, {}))):
                mine, theirs = pairs.setdefault(prompt, ([], []))
                mine.append(runs[run])
                theirs.append(sides[1][prompt][turn][run])
    return pairs


def _speed_up(own: list[Record], base: list[Record], kind: str | None) -> Ratio | None:
    if kind is not None:
        return ratio_of_medians(paired_by_prompt(own, base))
    return mean_ratio(own, base)


def _among_kinds(own: list[Record], base: list[Record], kinds: int) -> Interval | None:
    ratio = ratio_of_medians(paired_by_prompt(own, base), 1 - (1 - CONFIDENCE) / kinds)
    return ratio.interval if ratio else None


def mean_ratio(own: Iterable[Record], base: Iterable[Record]) -> Ratio | None:
    """Geometric mean over the kinds of the ratio of medians."""
    by_kind: dict[str, tuple[list[Record], list[Record]]] = defaultdict(lambda: ([], []))
    for side, records in enumerate((own, base)):
        for record in records:
            by_kind[record.category][side].append(record)
    return mean_over_kinds({kind: paired_by_prompt(*sides) for kind, sides in by_kind.items()})
