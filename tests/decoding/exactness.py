"""Whether emitted tokens have the target's distribution: Pearson's test with a stated error probability.

A token is exact when, given everything before it, it has the target's own distribution, wherever in a round it stands.
So for a set of tokens, let p_t be the target's exact distribution of token t and x_t what was emitted. Then

    D = sum over t of (indicator of x_t - p_t)        has mean 0 and covariance
    C = sum over t of (diag(p_t) - p_t p_t'),         and D' C^-1 D is chi-square distributed in the limit

(a martingale's central limit theorem: p_t may depend on all that was emitted before). Where all p_t are equal this is
Pearson's sum of (observed - expected)^2 / expected. One test is made for each place in the round and last token.

Which tokens are in a set must be known before they are drawn. Under block verification the place in the round is not:
whether a round goes on behind a token depends on the guesses that follow it. There the sets are made by the place in
the answer: the first round begins where the answer does, so its places are the round's too. And several tokens together
count as one outcome, as long as a block where there are few tokens: a rule that judges a block may bend nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from localspec.bench.losslessness.chi_square import cells

SUITE_ERROR = 1e-6
"""Probability that a correct program fails any of the statistical tests of this folder, over all choices of seeds."""

MOST_TESTS = 10_000
"""Bound on the number of chi-square tests in this folder; each gets an equal share of SUITE_ERROR (Bonferroni)."""

TEST_ERROR = SUITE_ERROR / MOST_TESTS


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """One test: `p_value` is the probability of a statistic as great as this one, if all is exact."""

    name: Hashable
    count: int
    statistic: float
    degrees: int

    @property
    def p_value(self) -> float:
        return float(chi2.sf(self.statistic, self.degrees)) if self.degrees else 1.0


@dataclass(slots=True)
class Tally:
    """Emitted tokens with their exact distributions, in groups.

    Attributes:
        impossible: tokens that were emitted although their probability is 0.
    """

    impossible: list[tuple[Hashable, int]] = field(default_factory=list)
    _groups: dict[Hashable, dict[int, list[int]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    _distributions: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    def add(self, group: Hashable, exact: NDArray[np.float64], token: int) -> None:
        """Count one token; `exact` must be the same object for the same distribution."""
        if not exact[token] > 0:
            self.impossible.append((group, token))
            return
        self._distributions[id(exact)] = exact
        self._groups[group][id(exact)].append(token)

    def tests(self) -> list[ChiSquare]:
        return [self._test(group, draws) for group, draws in self._groups.items()]

    def _test(self, group: Hashable, draws: dict[int, list[int]]) -> ChiSquare:
        size = max(exact.size for exact in self._distributions.values())
        expected, observed = np.zeros(size), np.zeros(size)
        for key, tokens in draws.items():
            expected[: self._distributions[key].size] += len(tokens) * self._distributions[key]
            observed += np.bincount(tokens, minlength=size)
        cell, count = cells(expected)
        difference = np.bincount(cell, observed - expected, count)
        covariance = np.zeros((count, count))
        for key, tokens in draws.items():
            p = np.bincount(cell[: self._distributions[key].size], self._distributions[key], count)
            covariance += len(tokens) * (np.diag(p) - np.outer(p, p))
        inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
        degrees = int(np.linalg.matrix_rank(covariance, tol=1e-9 * covariance.max(initial=1.0), hermitian=True))
        return ChiSquare(group, int(observed.sum()), float(difference @ inverse @ difference), degrees)


def find_error(tests: Iterable[ChiSquare], tally: Tally | None = None) -> str | None:
    """What is wrong, in words; None when nothing is."""
    if tally is not None and tally.impossible:
        return f"{len(tally.impossible)} tokens of probability 0 were emitted, first {tally.impossible[0]}"
    worst = min(tests, key=lambda test: test.p_value)
    if worst.p_value < TEST_ERROR:
        return f"chi-square {worst.statistic:.1f} at {worst.degrees} degrees, p = {worst.p_value:.1e}: {worst}"
    return None
