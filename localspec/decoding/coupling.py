"""The coupled choice: one source of Gumbel noise for draft and target.

Daliri et al. 2024, "Coupling without communication". The argmax over v of log p(v) + g(v), with g Gumbel, is the
argmin over v of e(v) / p(v), with e exponential: a race. e(v) = -log(1 - u(v)), and u comes from a counter-based hash
of (seed, position, v), so nothing is stored, nothing is drawn in order, and draft and target see the same noise without
talking to each other.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from localspec.decoding.distributions import Certain, Dense, Distribution

Words = NDArray[np.uint32]

SCALE = 2.0**-32
ROUNDING = 1e-6
"""Bound on the relative error of the float32 screening below (three roundings of 6e-8 each)."""


def shared_choice(distribution: Distribution, seed: int, position: int) -> int:
    """The winner of the race for this seed and position: a sample of the distribution when the seed is random.

    Args:
        distribution: p or q.
        seed: 0 <= seed < 2^64.
        position: index of the token in the text.

    The noise has 32 bits: a token less likely than about 1e-10 comes out too seldom, a total variation of at most
    1.5e-5 over 150,000 tokens that nothing cuts off.
    """
    if isinstance(distribution, Certain):
        return distribution.token
    if isinstance(distribution, Dense):
        return _dense_winner(distribution, seed, position)
    ids, probabilities = distribution.support()
    order = np.argsort(ids)
    finish = exponentials(hashed(ids.astype(np.uint32), seed, position)) / probabilities
    return int(ids[order[finish[order].argmin()]])


def shared_choices(distribution: Distribution, seed: int, position: int, count: int) -> list[int]:
    """The first `count` to finish in the race of `shared_choice`, the winner first; fewer where there are fewer."""
    ids, probabilities = distribution.support()
    finish = exponentials(hashed(ids.astype(np.uint32), seed, position)) / probabilities
    return [int(token) for token in ids[np.lexsort((ids, finish))[:count]]]


def exponentials(words: Words) -> NDArray[np.float64]:
    """Standard exponential variates from uniform 32-bit words."""
    return -np.log1p(-(words.astype(np.float64) + 0.5) * SCALE)


def _dense_winner(distribution: Dense, seed: int, position: int) -> int:
    """As above over the whole vocabulary, taking logarithms of the few that can win only.

    Since e >= u, a token with u(v) / p(v) above the finish of any one runner cannot win.
    """
    weights = distribution.weights
    words = hashed(_counter(weights.size), seed, position)
    speed = weights / (words.astype(np.float32) + np.float32(0.5))
    front = int(speed.argmax())
    finish = exponentials(words[front : front + 1])[0] / weights[front]
    candidates = np.flatnonzero(speed >= SCALE / finish * (1 - ROUNDING))
    finishes = exponentials(words[candidates]) / weights[candidates].astype(np.float64)
    return int(candidates[finishes.argmin()])


@lru_cache(maxsize=4)
def _counter(size: int) -> Words:
    return np.arange(size, dtype=np.uint32)


def hashed(ids: Words, seed: int, position: int) -> Words:
    """Uniform 32-bit words, one for each id, from two rounds of a 32-bit mixer keyed by (seed, position)."""
    key = _mix64(_mix64(seed) ^ position)
    words = ids * np.uint32(0x9E3779B9)
    words += np.uint32(key & 0xFFFFFFFF)
    _mix32_in_place(words)
    words ^= np.uint32(key >> 32)
    _mix32_in_place(words)
    return words


def _mix32_in_place(words: Words) -> None:
    """Wellons' lowbias32: a bijection of 32-bit words with a bias near the least known for two multiplications."""
    words ^= words >> np.uint32(16)
    words *= np.uint32(0x7FEB352D)
    words ^= words >> np.uint32(15)
    words *= np.uint32(0x846CA68B)
    words ^= words >> np.uint32(16)


def _mix64(word: int) -> int:
    """The finaliser of SplitMix64 (Steele 2014), on Python integers."""
    mask = 0xFFFFFFFFFFFFFFFF
    word = (word + 0x9E3779B97F4A7C15) & mask
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return word ^ (word >> 31)
