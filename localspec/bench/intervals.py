"""How sure a measured ratio is: bootstrap intervals over prompts, wide enough for few of them.

The prompts are drawn again with replacement (Efron 1979), each with all its runs and with both sides of the comparison,
for a prompt that is quick in one arm is quick in the other. A percentile interval from few prompts is too narrow;
Hesterberg 2015 ("What teachers should know about the bootstrap", section 5.3) takes percentiles further out: those of
Student's t with n - 1 degrees of freedom, times sqrt(n / (n - 1)).

A resampled median never leaves the data, so no such interval is surer than [least, greatest], which misses the median
of what was sampled from with 2^(1 - n): where that is too often, no interval is given. A mean over several kinds is
nearer to normal: its interval is that of Student's t around it, with the kinds' bootstrap errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 4000
SEED = 20240229
LEAST_DEGREES = 4
"""With fewer a mean over kinds has no interval. A kind of one prompt says nothing of how it varies, so that no kind is
counted with more than the least has."""

Paired = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""For each prompt the figures of one side and of the other, one for each run."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, with CONFIDENCE where nothing else is said."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the value is inside."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of medians, and how sure it is.

    Attributes:
        value: the ratio.
        interval: None where there are too few prompts to say.
        prompts: how many prompts it rests on.
    """

    value: float
    interval: Interval | None
    prompts: int

    @property
    def real(self) -> bool:
        """Whether a difference was shown: the interval leaves out 1."""
        return self.interval is not None and not self.interval.holds(1.0)


def ratio_of_medians(pairs: Paired, confidence: float = CONFIDENCE) -> Ratio | None:
    """Median of the one side over median of the other, over all prompts; None without any.

    Args:
        pairs: the figures.
        confidence: of the interval.
    """
    if not pairs:
        return None
    value, resampled = _resampled(pairs, np.random.default_rng(SEED))
    return Ratio(value, _interval_of_median(resampled, len(pairs), confidence), len(pairs))


def mean_over_kinds(kinds: Mapping[str, Paired]) -> Ratio | None:
    """Geometric mean of the kinds' ratios, each kind with the same weight; None without any."""
    present = [pairs for pairs in kinds.values() if pairs]
    if len(present) <= 1:
        return ratio_of_medians(present[0]) if present else None
    rng = np.random.default_rng(SEED)
    values, variances = [], []
    for pairs in present:
        value, resampled = _resampled(pairs, rng)
        values.append(math.log(value))
        variances.append(float(np.var(np.log(resampled))))
    counts = [len(pairs) for pairs in present]
    middle = math.fsum(values) / len(values)
    return Ratio(math.exp(middle), _interval_of_mean(middle, variances, counts), sum(counts))


def _interval_of_mean(middle: float, variances: Sequence[float], counts: Sequence[int]) -> Interval | None:
    """Around the mean of logarithms whose bootstrap variances come from so many prompts each."""
    if len(counts) * (min(counts) - 1) < LEAST_DEGREES:
        return None
    # A resampled variance is too small by (n - 1) / n.
    each = [variance * count / (count - 1) for variance, count in zip(variances, counts, strict=True)]
    total = math.fsum(each)
    if not total:
        return Interval(math.exp(middle), math.exp(middle))
    # Welch 1947: where one kind varies most, the whole is as unsure as that kind.
    welch = total**2 / math.fsum(one**2 / (count - 1) for one, count in zip(each, counts, strict=True))
    degrees = max(2.0, welch)
    reach = student_t(0.5 + CONFIDENCE / 2, degrees) * math.sqrt(total) / len(counts)
    return Interval(math.exp(middle - reach), math.exp(middle + reach))


def _resampled(pairs: Paired, rng: np.random.Generator) -> tuple[float, NDArray[np.float64]]:
    """The ratio, and the ratios of RESAMPLES draws of as many prompts with replacement."""
    one, other = (_table([pair[side] for pair in pairs.values()]) for side in (0, 1))
    drawn = rng.integers(len(one), size=(RESAMPLES, len(one)))
    medians = [np.nanmedian(side[drawn].reshape(RESAMPLES, -1), axis=1) for side in (one, other)]
    return float(np.nanmedian(one) / np.nanmedian(other)), medians[0] / medians[1]


def _table(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Shape (prompts, most runs); NaN where a prompt has fewer."""
    table = np.full((len(rows), max(map(len, rows))), np.nan)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table


def _interval_of_median(resampled: NDArray[np.float64], prompts: int, confidence: float) -> Interval | None:
    if 2.0 ** (1 - prompts) > 1 - confidence:
        return None
    reach = student_t(0.5 + confidence / 2, prompts - 1) * math.sqrt(prompts / (prompts - 1))
    tail = NormalDist().cdf(-reach)
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Interval(float(low), float(high))


def student_t(probability: float, degrees: float) -> float:
    """Quantile of Student's t, by its expansion around the normal (Abramowitz and Stegun 26.7.5).

    Off by 1 part in 100 at 3 degrees and 95 %, less above; 2 degrees or more.
    """
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / degrees**power for power, term in enumerate(terms, 1))
