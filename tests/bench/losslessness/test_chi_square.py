"""The tail of chi-square, the test, and the correction for many tests, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

from localspec.bench.losslessness.chi_square import holm, pearson, share_test, upper_tail


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 57, 400])
@pytest.mark.parametrize("factor", [0.0, 0.1, 0.7, 1.0, 1.5, 3.0, 10.0])
def test_the_tail_is_scipys(degrees: int, factor: float) -> None:
    assert upper_tail(factor * degrees, degrees) == pytest.approx(
        stats.chi2.sf(factor * degrees, degrees), rel=1e-9, abs=1e-300
    )


def test_pearsons_test_is_scipys_where_no_outcome_is_rare() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4])
    observed = np.array([110, 190, 320, 380])
    assert pearson(p, observed) == pytest.approx(stats.chisquare(observed, p * 1000).pvalue)


def test_rare_outcomes_are_counted_together_and_one_outcome_is_no_test() -> None:
    rare = np.array([0.9, *[0.001] * 100])
    observed = np.array([900, *[1] * 100])
    assert pearson(rare, observed) == 1.0
    assert pearson(np.array([1.0]), np.array([50])) == 1.0


def test_a_share_is_tested_from_both_sides_and_only_where_the_limit_holds() -> None:
    assert share_test(500, 1000, 0.5) == 1.0
    assert share_test(450, 1000, 0.5) == share_test(550, 1000, 0.5) == pytest.approx(0.00157, rel=0.01)
    assert share_test(1000, 1000, 1.0) is None


def test_holms_correction_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_p_values_of_right_draws_are_uniform() -> None:
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(8))
    values = [pearson(p, rng.multinomial(5000, p)) for _ in range(300)]
    assert stats.kstest(values, "uniform").pvalue > 1e-4
