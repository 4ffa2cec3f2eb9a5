"""Intervals hold what they say, and no difference is called real for lack of figures."""

import math

import numpy as np
import pytest
from scipy import stats

from localspec.bench import intervals
from localspec.bench.intervals import Paired, mean_over_kinds, ratio_of_medians, student_t


def of_no_gain(rng: np.random.Generator, prompts: int, spread: float = 0.15) -> Paired:
    """Prompts of a median gain of 1, one quicker and another slower."""
    gains, bases = np.exp(spread * rng.normal(size=prompts)), 10 * np.exp(0.1 * rng.normal(size=prompts))
    return {
        str(i): ([float(base * gain)], [float(base)]) for i, (base, gain) in enumerate(zip(bases, gains, strict=True))
    }


@pytest.mark.parametrize("degrees", [3, 4, 7, 20, 100])
def test_students_t_is_near_the_exact_one(degrees: int) -> None:
    assert student_t(0.975, degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=0.01)


def test_the_ratio_is_that_of_the_medians() -> None:
    ratio = ratio_of_medians({"a": ([20.0, 22.0], [10.0, 11.0]), "b": ([30.0], [10.0]), "c": ([24.0], [12.0])})
    assert ratio is not None
    assert ratio.value == 23 / 10.5
    assert ratio.prompts == 3


def test_equal_sides_are_never_called_different() -> None:
    same = {str(i): ([10.0 + i], [10.0 + i]) for i in range(8)}
    ratio = ratio_of_medians(same)
    assert ratio is not None
    assert ratio.value == 1
    assert not ratio.real


def test_too_few_prompts_give_no_interval_whatever_their_runs() -> None:
    for prompts in (1, 2, 3, 4, 5):
        ratio = ratio_of_medians({str(i): ([20.0] * 50, [10.0] * 50) for i in range(prompts)})
        assert ratio is not None
        assert (ratio.value, ratio.interval, ratio.real) == (2.0, None, False)
        assert mean_over_kinds({"a": {str(i): ([20.0], [10.0]) for i in range(prompts)}, "b": {}}) == ratio
    for counts in ([1] * 8, [2] * 3, [9, 2], [4, 4, 4, 1]):
        mean = mean_over_kinds(
            {str(kind): {str(i): ([20.0], [10.0]) for i in range(count)} for kind, count in enumerate(counts)}
        )
        assert mean is not None
        assert mean.interval is None
    assert ratio_of_medians({}) is None
    assert mean_over_kinds({"a": {}}) is None


def test_a_surer_interval_needs_more_prompts_and_is_wider() -> None:
    """Of 8 intervals that hold together each misses with less than 1 in 160: 1 in 128 at 8 prompts, 1 in 256 at 9."""
    rng = np.random.default_rng(2)
    for prompts in range(6, 14):
        pairs = of_no_gain(rng, prompts)
        one, among = ratio_of_medians(pairs), ratio_of_medians(pairs, 1 - 0.05 / 8)
        assert one is not None
        assert among is not None
        assert one.interval is not None
        assert (among.interval is not None) == (prompts >= 9)
        if among.interval:
            assert among.interval.low <= one.interval.low
            assert among.interval.high >= one.interval.high


def test_a_clear_gain_is_real() -> None:
    pairs = {str(i): ([20.0 + i, 20.5 + i], [10.0 + i / 2, 10.2 + i / 2]) for i in range(6)}
    ratio = ratio_of_medians(pairs)
    assert ratio is not None
    assert ratio.real


def test_the_mean_over_kinds_is_geometric_and_each_kind_weighs_the_same() -> None:
    kinds = {
        "a": {str(i): ([40.0], [10.0]) for i in range(6)},
        "b": {str(i): ([10.0], [10.0]) for i in range(3)},
    }
    mean = mean_over_kinds(kinds)
    assert mean is not None
    assert mean.value == pytest.approx(2.0)
    assert mean.prompts == 9


@pytest.mark.parametrize("prompts", [3, 4, 5, 6, 7, 9])
def test_no_difference_is_called_real_more_often_than_said(prompts: int) -> None:
    """400 comparisons without a difference, the base steady as a machine's is: 5 % may be called real.

    More than 36 of 400 have a chance below 0.1 %; at 3 prompts 100 are expected to have all three on one side.
    """
    rng = np.random.default_rng(prompts)
    real = 0
    for _ in range(400):
        gains = np.exp(0.15 * rng.normal(size=prompts))
        ratio = ratio_of_medians({str(i): ([10.0 * float(gain)], [10.0]) for i, gain in enumerate(gains)})
        assert ratio is not None
        assert (ratio.interval is None) == (prompts < 6)
        real += ratio.real
    assert real <= 36
    assert stats.binom.sf(36, 400, 0.05) < 1e-3


@pytest.mark.parametrize(
    "counts", [[2] * 8, [3] * 8, [4] * 8, [3] * 3 + [2] * 5, [2] * 4, [3] * 2, [4] * 2, [12, 2, 2, 2]]
)
@pytest.mark.parametrize("uneven", [False, True])
def test_a_mean_over_kinds_covers_the_truth_as_often_as_it_says(
    counts: list[int], uneven: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """160 benchmarks whose kinds gain 0.8 to 1.3, the kinds varying alike or not; at most 18 may miss the mean."""
    monkeypatch.setattr(intervals, "RESAMPLES", 500)
    rng = np.random.default_rng(3)
    gains = np.linspace(math.log(0.8), math.log(1.3), len(counts))
    spreads = rng.permutation(np.linspace(0.02, 0.3, len(counts))) if uneven else np.full(len(counts), 0.15)
    missed = 0
    for _ in range(160):
        kinds: dict[str, Paired] = {}
        for kind, (count, gain, spread) in enumerate(zip(counts, gains, spreads, strict=True)):
            pairs = of_no_gain(rng, count, float(spread))
            kinds[str(kind)] = {id_: ([own[0] * math.exp(gain)], base) for id_, (own, base) in pairs.items()}
        mean = mean_over_kinds(kinds)
        assert mean is not None
        assert mean.interval is not None
        missed += not mean.interval.holds(math.exp(gains.mean()))
    assert missed <= 18
    assert stats.binom.sf(18, 160, 0.05) < 1e-3


def test_the_same_figures_give_the_same_interval() -> None:
    pairs = {str(i): ([10.0 + i], [9.0]) for i in range(6)}
    assert ratio_of_medians(pairs) == ratio_of_medians(pairs)
    assert math.isfinite(ratio_of_medians(pairs).interval.low)  # type: ignore[union-attr] # there are six prompts
