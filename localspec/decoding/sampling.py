"""From logits to a distribution: the person's sampling settings, applied in llama.cpp's order.

Between two passes of a model the caches hold its weights, not this code: each numpy call costs some microseconds more
than in a loop of its own. So the rows are walked as seldom as possible, by methods and ufuncs without Python in front.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from localspec.decoding.distributions import LANES, Certain, Dense, Distribution, Sparse, TokenIds, padded_weights
from localspec.decoding.language_model import LogitRows, Logits
from localspec.decoding.sampling_settings import SamplingSettings

if TYPE_CHECKING:
    from localspec.decoding.rounds import Draft

LEAST_TEMPERATURE = 1e-30
"""Any positive temperature below it is the same: a smaller one would overflow, and 0 times infinity is not a number."""


def to_distribution(logits: Logits, settings: SamplingSettings, recent: Sequence[int] = ()) -> Distribution:
    """The distribution a token is drawn from, given one row of logits.

    Args:
        logits: shape (vocabulary,); read, never written.
        settings: the person's settings.
        recent: the tokens the penalties look at, as `SamplingSettings.window` gives them.

    Returns:
        `Certain` at temperature 0, `Dense` when nothing is truncated, else `Sparse`.

    Raises:
        ValueError: no logit is finite, or one is NaN: the model is broken or everything is forbidden.
    """
    if settings.logit_bias or recent:
        logits = _adjusted(logits, settings, recent)
    if settings.temperature == 0:
        token = int(logits.argmax())
        _require_usable(logits[token])
        return Certain(token)
    if not 0 < settings.top_k < logits.size and settings.top_p == 1 and settings.min_p == 0:
        return _dense(logits, max(settings.temperature, LEAST_TEMPERATURE))
    ids, kept = _truncated(logits, settings)
    scale = 1 / max(settings.temperature, LEAST_TEMPERATURE)
    return Sparse(ids, np.exp(np.subtract(kept, kept[0], dtype=np.float64) * scale))


def distributions_after(
    rows: LogitRows, text: Sequence[int], draft: Draft, settings: SamplingSettings
) -> Callable[[int], Distribution]:
    """What each row of a pass over a draft says of the next token, computed only when asked for.

    Args:
        rows: shape (n + 1, vocabulary): after the text, then after each of the n guesses.
        text: the ids before the draft.
        draft: the guesses.
        settings: the person's.

    Returns:
        A function of the row's number (see `verdict.Target`). It reads the rows: they must not be overwritten yet.
    """

    def distribution(i: int) -> Distribution:
        return to_distribution(rows[i], settings, settings.window(text, draft.path(i - 1)))

    return distribution


def softmax(logits: Logits) -> Dense:
    """The distribution of the whole vocabulary at temperature 1, whatever the person's settings.

    Raises:
        ValueError: as `to_distribution`.
    """
    return _dense(logits, 1.0)


def greatest_probability(logits: Logits, q: Distribution) -> float:
    """How sure a drafter is: the greatest probability in q, or at temperature 0 in the softmax of its logits."""
    return (_dense(logits, 1.0) if isinstance(q, Certain) else q).probability(q.likeliest())


def _require_usable(greatest: float | np.float32) -> None:
    if not math.isfinite(greatest):
        raise ValueError("no token has a usable logit: the model put out NaN or infinity, or every token is forbidden")


def _adjusted(logits: Logits, settings: SamplingSettings, recent: Sequence[int]) -> Logits:
    """A copy with logit bias and penalties applied (llama_sampler_init_logit_bias, llama_sampler_init_penalties)."""
    adjusted = logits.copy()
    for token, bias in settings.logit_bias:
        if token < adjusted.size:
            adjusted[token] += bias
    if recent:
        counts = Counter(token for token in recent if token < adjusted.size)
        ids = np.fromiter(counts.keys(), np.int64, len(counts))
        times = np.fromiter(counts.values(), np.float32, len(counts))
        values = adjusted[ids]
        repetition = np.float32(settings.repetition_penalty)
        values = np.where(values <= 0, values * repetition, values / repetition)
        adjusted[ids] = values - times * np.float32(settings.frequency_penalty) - np.float32(settings.presence_penalty)
    return adjusted


def _dense(logits: Logits, temperature: float) -> Dense:
    greatest = np.maximum.reduce(logits)
    _require_usable(greatest)
    weights = padded_weights(logits.size)
    body = weights[: logits.size]
    np.subtract(logits, greatest, out=body)
    if temperature != 1:
        np.multiply(body, np.float32(1 / temperature), out=body)
    np.exp(body, out=body)
    return Dense(weights)


def _truncated(logits: Logits, settings: SamplingSettings) -> tuple[TokenIds, Logits]:
    """The ids that top-k, top-p and min-p leave, and their logits, likeliest first (smaller id among equals)."""
    if 0 < settings.top_k < logits.size:
        ids, kept = _top_k(logits, settings.top_k)
        if settings.top_p < 1:
            count = _top_p_of(kept, settings.top_p)
            ids, kept = ids[:count], kept[:count]
    else:
        greatest = np.maximum.reduce(logits)
        _require_usable(greatest)
        if settings.top_p < 1:
            ids, kept = _top_p(logits, greatest, settings.top_p)
        else:
            ids, kept = _at_least(logits, greatest + np.float32(math.log(settings.min_p)))
    if settings.min_p > 0:
        # `kept` falls, so its negative is sorted.
        count = int((-kept).searchsorted(-(kept[0] + np.float32(math.log(settings.min_p))), side="right"))
        ids, kept = ids[:count], kept[:count]
    return ids, kept


def _at_least(logits: Logits, threshold: float | np.float32) -> tuple[TokenIds, Logits]:
    """The ids of logits at or above a threshold, and those logits, likeliest first."""
    ids = (logits >= threshold).nonzero()[0]
    kept = logits[ids]
    order = (-kept).argsort(kind="stable")
    return ids[order], kept[order]


def _top_k(logits: Logits, k: int) -> tuple[TokenIds, Logits]:
    """The k likeliest ids and their logits, likeliest first (llama_sampler_init_top_k).

    The k-th greatest of the column maxima of a grid is a threshold that at least k logits reach: one pass and a small
    sort instead of a partition of the vocabulary.
    """
    columns = logits.size // LANES
    grid = logits[: columns * LANES].reshape(LANES, columns)
    tops = np.maximum.reduce(grid, axis=0) if k < columns else logits.copy()
    tops.partition(tops.size - k)
    # NaN sorts last: if there is one, it is among these.
    _require_usable(np.maximum.reduce(tops[tops.size - k :]))
    ids, kept = _at_least(logits, tops[tops.size - k])
    _require_usable(kept[0])
    ids, kept = ids[:k], kept[:k]
    # Forbidden tokens can be among the k likeliest when k is large.
    return (ids, kept) if kept[-1] > -np.inf else (ids[kept > -np.inf], kept[kept > -np.inf])


def _top_p_of(falling_logits: Logits, p: float) -> int:
    """How many of the likeliest tokens it takes for their share of the mass to reach p (llama_sampler_init_top_p)."""
    mass = np.exp(falling_logits - falling_logits[0])
    return _reaching((mass / np.add.reduce(mass, dtype=np.float64)).cumsum(), p)


def _top_p(logits: Logits, greatest: np.float32, p: float) -> tuple[TokenIds, Logits]:
    """The likeliest ids of the whole vocabulary whose mass reaches p, and their logits.

    Only the logits near the greatest are sorted; the search widens until their mass is enough.
    """
    weights = _dense(logits, 1.0)
    for depth in (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0):
        near = weights.weights[: logits.size][logits >= greatest - depth]
        if near.sum(dtype=np.float64) >= p * weights.total:
            ids, kept = _at_least(logits, greatest - depth)
            break
    else:
        ids, kept = _at_least(logits, -np.finfo(np.float32).max)
    count = _reaching((weights.weights[ids] / weights.total).cumsum(), p)
    return ids[:count], kept[:count]


def _reaching(cumulative: np.ndarray, p: float) -> int:
    """How many entries it takes to reach p."""
    return int(cumulative.searchsorted(p, side="left")) + 1
