"""Intervals hold what they say, and no difference is called real for lack of figures."""

import math

import numpy as np
import pytest
from scipy import stats

from localspec.bench.intervals import mean_over_kinds, ratio_of_medians, student_t


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
    for prompts in (1, 2):
        ratio = ratio_of_medians({str(i): ([20.0] * 50, [10.0] * 50) for i in range(prompts)})
        assert ratio is not None
        assert (ratio.value, ratio.interval, ratio.real) == (2.0, None, False)
    kinds = {kind: {"x": ([20.0], [10.0])} for kind in "abcdefgh"}
    mean = mean_over_kinds(kinds)
    assert mean is not None
    assert mean.interval is None
    assert ratio_of_medians({}) is None
    assert mean_over_kinds({"a": {}}) is None


def test_a_clear_gain_is_real() -> None:
    pairs = {str(i): ([20.0 + i, 20.5 + i], [10.0 + i / 2, 10.2 + i / 2]) for i in range(4)}
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


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """120 benchmarks of 6 prompts whose true ratio is 1.5: at most 14 may miss it (5 % expected, P < 0.1 % at 5 %)."""
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(120):
        base = 10 * np.exp(0.1 * rng.normal(size=6))
        gain = 1.5 * np.exp(0.15 * rng.normal(size=6))
        pairs = {str(i): ([float(b * g)], [float(b)]) for i, (b, g) in enumerate(zip(base, gain, strict=True))}
        ratio = ratio_of_medians(pairs)
        assert ratio is not None
        assert ratio.interval is not None
        missed += not ratio.interval.holds(1.5)
    assert missed <= 14
    assert stats.binom.sf(14, 120, 0.05) < 1e-3


def test_the_same_figures_give_the_same_interval() -> None:
    pairs = {str(i): ([10.0 + i], [9.0]) for i in range(5)}
    assert ratio_of_medians(pairs) == ratio_of_medians(pairs)
    assert math.isfinite(ratio_of_medians(pairs).interval.low)  # type: ignore[union-attr] # there are five prompts
