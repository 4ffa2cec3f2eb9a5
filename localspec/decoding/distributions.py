"""Probability distributions over token ids: certain, sparse (after truncation) and dense (the whole vocabulary).

A row of 150,000 logits costs a fair part of a millisecond each time it is walked, so every kind here does only what a
caller asks for: `probability` needs the normaliser alone, the residual is built only after a rejection.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

TokenIds = NDArray[np.int64]
Probabilities = NDArray[np.float64]

FIRST_TRIED = 16
"""How many of the likeliest tokens a draw tries one by one before it takes a cumulative sum."""

LANES = 64
"""Rows of the grid a dense distribution is summed over; a power of two that keeps each pass within SIMD registers."""


class Distribution(Protocol):
    """A distribution over token ids 0, 1, ..."""

    def probability(self, token: int) -> float:
        """The probability of `token`, 0 outside the support."""
        ...

    def draw(self, u: float) -> int:
        """The token at quantile `u` in [0, 1): a sample when u is uniform."""
        ...

    def likeliest(self) -> int:
        """The token of greatest probability, the smallest id among equals."""
        ...

    def support(self) -> tuple[TokenIds, Probabilities]:
        """The ids of positive probability and their probabilities, equal in length, summing to 1."""
        ...


class Certain:
    """All mass on one token: greedy decoding, or a deterministic guess."""

    __slots__ = ("token",)

    def __init__(self, token: int) -> None:
        self.token = token

    def probability(self, token: int) -> float:
        """1 for the token, else 0."""
        return 1.0 if token == self.token else 0.0

    def draw(self, u: float) -> int:  # noqa: ARG002 - the Protocol's argument; there is nothing to choose
        """The token, whatever `u`."""
        return self.token

    def likeliest(self) -> int:
        """The token."""
        return self.token

    def support(self) -> tuple[TokenIds, Probabilities]:
        """The token, with probability 1."""
        return np.array([self.token]), np.ones(1)


class Sparse:
    """Mass on a few listed tokens, best listed likeliest first.

    Args:
        ids: shape (n,), distinct ids, n >= 1.
        weights: shape (n,), proportional to their probabilities, not negative, of positive sum.
    """

    def __init__(self, ids: TokenIds, weights: Probabilities) -> None:
        self._ids = ids
        self._weights = weights
        self._total = float(np.add.reduce(weights))

    def probability(self, token: int) -> float:
        """The probability of `token`, 0 when it is not listed."""
        found = (self._ids == token).nonzero()[0]
        return float(self._weights[found[0]]) / self._total if found.size else 0.0

    def draw(self, u: float) -> int:
        """The token at quantile `u`, in the order the ids are listed."""
        left = u * self._total
        # Between two passes of a model everything is cold, and a numpy call costs more than a few steps in Python.
        for i, weight in enumerate(self._weights[:FIRST_TRIED].tolist()):
            left -= weight
            if left < 0:
                return int(self._ids[i])
        cumulative = self._weights.cumsum()
        return int(self._ids[_first_above(cumulative, u * cumulative[-1])])

    def likeliest(self) -> int:
        """The token of greatest probability, the smallest id among equals."""
        return int(self._ids[self._weights == self._weights.max()].min())

    def support(self) -> tuple[TokenIds, Probabilities]:
        """The listed tokens of positive probability."""
        positive = self._weights > 0
        return self._ids[positive], self._weights[positive] / self._total


class Dense:
    """Mass on the whole vocabulary.

    The weights lie in a grid of LANES rows, padded with zeros: column sums are one fast pass that gives the normaliser,
    and a draw needs a cumulative sum of the column sums and of one column, not of the vocabulary.

    Args:
        weights: float32, from `padded_weights`, proportional to the probabilities, not negative, of positive sum.
            Owned from now on: the array is used again for another distribution when this one is gone.
    """

    def __init__(self, weights: NDArray[np.float32]) -> None:
        self._weights = weights
        self._grid = weights.reshape(LANES, -1)
        self._column_sums = np.add.reduce(self._grid, axis=0).astype(np.float64)
        self.total = float(np.add.reduce(self._column_sums))

    def __del__(self) -> None:
        spare = _spare_weights.setdefault(self._weights.size, [])
        if len(spare) < MOST_SPARE:
            spare.append(self._weights)

    @property
    def weights(self) -> NDArray[np.float32]:
        """The weights as given, padding included; valid as long as this distribution."""
        return self._weights

    def probability(self, token: int) -> float:
        """weights[token] / total; 0 beyond the vocabulary."""
        return float(self._weights[token]) / self.total if token < self._weights.size else 0.0

    def draw(self, u: float) -> int:
        """The token at quantile `u`, in the order of the grid's columns."""
        cumulative = self._column_sums.cumsum()
        target = u * cumulative[-1]
        column = _first_above(cumulative, target)
        before = cumulative[column - 1] if column else 0.0
        lane = _first_above(self._grid[:, column].cumsum(dtype=np.float64), target - before)
        return lane * self._grid.shape[1] + column

    def likeliest(self) -> int:
        """The token of greatest probability, the smallest id among equals."""
        return int(self._weights.argmax())

    def likeliest_ids(self, count: int) -> TokenIds:
        """Among others, the `count` likeliest tokens; in order of their ids.

        The least of the `count` greatest column maxima is a threshold that so many weights reach.
        """
        tops = np.maximum.reduce(self._grid, axis=0) if count < self._grid.shape[1] else self._weights.copy()
        if count < tops.size:
            tops.partition(tops.size - count)
            least = tops[tops.size - count]
            if least > 0:
                return np.flatnonzero(self._weights >= least)
        return np.flatnonzero(self._weights)

    def support(self) -> tuple[TokenIds, Probabilities]:
        """Every token of positive weight."""
        ids = np.flatnonzero(self._weights)
        return ids, self._weights[ids].astype(np.float64) / self.total


_spare_weights: dict[int, list[NDArray[np.float32]]] = {}
"""Arrays of distributions that are gone, by size. A fresh array of a large vocabulary costs twice its softmax in page
faults, so they are used again."""

MOST_SPARE = 40
"""Spare arrays kept: a round of the longest draft has a p and a q for each of its tokens."""


def padded_weights(vocabulary_size: int) -> NDArray[np.float32]:
    """An uninitialised array for `Dense`, its padding zeroed: shape (vocabulary rounded up to a multiple of LANES,)."""
    size = -(-vocabulary_size // LANES) * LANES
    spare = _spare_weights.get(size)
    weights = spare.pop() if spare else np.empty(size, np.float32)
    weights[vocabulary_size:] = 0.0
    return weights


def _first_above(cumulative: Probabilities, target: float) -> int:
    """First index whose cumulative sum exceeds `target`: never an entry of zero weight.

    Rounding can leave `target` at or above the last sum; then the last entry that added anything is meant.
    """
    index = int(cumulative.searchsorted(target, side="right"))
    if index < cumulative.size:
        return index
    return int(cumulative.searchsorted(cumulative[-1], side="left"))


def likeliest(distribution: Distribution, count: int) -> list[int]:
    """The `count` tokens of greatest probability, likeliest first, the smaller id first among equals."""
    if count == 1:
        return [distribution.likeliest()]
    if isinstance(distribution, Dense):
        ids = distribution.likeliest_ids(count)
        probabilities = probabilities_at(distribution, ids)
    else:
        ids, probabilities = distribution.support()
    if ids.size > count:
        least = np.partition(probabilities, -count)[-count]
        ids, probabilities = ids[probabilities >= least], probabilities[probabilities >= least]
    return [int(token) for token in ids[np.lexsort((ids, -probabilities))[:count]]]


def residual(p: Distribution, q: Distribution | None, rejected: int) -> Distribution:
    """The distribution max(0, p - q), normalised: what to draw from after a rejection (Leviathan 2023, Algorithm 1).

    Args:
        p: the target's distribution.
        q: the distribution `rejected` was drawn from; None for a deterministic guess, where q is 1 on it.
        rejected: the token that was drawn from q and refused.

    Returns:
        The residual; p itself when rounding leaves nothing of it, which p = q alone can cause.
    """
    return excess(p, q, rejected, 1.0)[1]


def excess(p: Distribution, q: Distribution | None, guess: int, share: float) -> tuple[float, Distribution]:
    """What a share of p has in excess of q: max(0, share * p - q).

    Args:
        p: the target's distribution.
        q: the distribution `guess` was drawn from; None for a deterministic guess, where q is 1 on it.
        guess: the token that was drawn from q.
        share: above 0, at most 1. Dense distributions are float32: far below 1e-30 it would overflow.

    Returns:
        Its sum, and the distribution in proportion to it; p itself when nothing is left.
    """
    if isinstance(p, Certain):
        of_q = q.probability(p.token) if q is not None else float(p.token == guess)
        return max(0.0, share - of_q), p
    if isinstance(p, Dense):
        left = _dense_excess(p, q, guess, share)
        return (share * left.total / p.total, left) if left.total else (0.0, p)
    ids, probabilities = p.support()
    if q is None:
        over = np.where(ids == guess, 0.0, share * probabilities)
    else:
        over = np.maximum(share * probabilities - probabilities_at(q, ids), 0.0)
    mass = float(np.add.reduce(over))
    return mass, Sparse(ids, over) if mass else p


def _dense_excess(p: Dense, q: Distribution | None, guess: int, share: float) -> Dense:
    """max(0, p - q / share), in proportion."""
    over = padded_weights(p.weights.size)
    if isinstance(q, Dense):
        common = min(p.weights.size, q.weights.size)
        np.multiply(q.weights[:common], np.float32(p.total / (q.total * share)), out=over[:common])
        over[common:] = 0.0
        np.subtract(p.weights, over, out=over)
        np.maximum(over, 0.0, out=over)
        return Dense(over)
    np.copyto(over, p.weights)
    if q is None:
        over[guess] = 0.0
    else:
        ids, probabilities = q.support()
        over[ids] = np.maximum(over[ids] - probabilities * (p.total / share), 0.0)
    return Dense(over)


def probabilities_at(distribution: Distribution, ids: TokenIds) -> Probabilities:
    """The probabilities of several tokens: shape (ids.size,), 0 outside the support."""
    if isinstance(distribution, Dense):
        inside = ids < distribution.weights.size
        found = np.zeros(ids.size)
        found[inside] = distribution.weights[ids[inside]] / distribution.total
        return found
    listed, probabilities = distribution.support()
    order = np.argsort(listed)
    places = np.minimum(np.searchsorted(listed, ids, sorter=order), listed.size - 1)
    candidates = order[places]
    return np.where(listed[candidates] == ids, probabilities[candidates], 0.0)
