"""From logits to a distribution: the person's sampling settings, applied in llama.cpp's order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localspec.decoding.distributions import LANES, Certain, Dense, Distribution, Sparse, TokenIds, padded_weights
from localspec.decoding.language_model import Logits

LEAST_TEMPERATURE = 1e-30
"""Any positive temperature below it is the same: a smaller one would overflow, and 0 times infinity is not a number."""


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How a token is drawn from logits; the defaults are llama.cpp's own.

    Applied in llama.cpp's order: logit bias, penalties, top-k, top-p, min-p, temperature.

    Attributes:
        temperature: 0 always takes the likeliest token.
        top_k: keep the k likeliest tokens; 0 keeps all.
        top_p: keep the likeliest tokens until their mass reaches p; 1 keeps all.
        min_p: keep the tokens at least min_p times as likely as the likeliest; 0 keeps all.
        repetition_penalty: divides positive and multiplies negative logits of tokens in the window; 1 is off.
        presence_penalty: taken off the logit of every token in the window, once.
        frequency_penalty: taken off the logit of a token in the window, once per occurrence.
        penalty_window: how many of the last tokens the penalties look at, the prompt's included; 0 turns them off,
            -1 looks at all.
        logit_bias: (token id, bias) pairs added to the logits; minus infinity forbids a token.
        seed: start of every random draw; None draws one for each answer.

    Raises:
        ValueError: a setting is outside its range; the words name it.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 64
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        _require(
            self.temperature >= 0 and math.isfinite(self.temperature), "temperature", "0 or more", self.temperature
        )
        _require(self.top_k >= 0, "top-k", "0 (off) or more", self.top_k)
        _require(0 < self.top_p <= 1, "top-p", "above 0 and at most 1 (off)", self.top_p)
        _require(0 <= self.min_p <= 1, "min-p", "between 0 (off) and 1", self.min_p)
        _require(
            self.repetition_penalty > 0 and math.isfinite(self.repetition_penalty),
            "repetition penalty",
            "above 0 (1 is off)",
            self.repetition_penalty,
        )
        _require(math.isfinite(self.presence_penalty), "presence penalty", "a finite number", self.presence_penalty)
        _require(math.isfinite(self.frequency_penalty), "frequency penalty", "a finite number", self.frequency_penalty)
        _require(self.penalty_window >= -1, "penalty window", "-1 (all), 0 (off) or more", self.penalty_window)
        for token, bias in self.logit_bias:
            _require(
                token >= 0 and not math.isnan(bias) and bias < math.inf,
                "logit bias",
                "a token id and a bias below infinity",
                f"{token}={bias}",
            )
        _require(self.seed is None or 0 <= self.seed < 2**64, "seed", "between 0 and 2^64 - 1", self.seed)

    @property
    def penalises(self) -> bool:
        """Whether any penalty is on, so that the recent tokens matter."""
        return self.penalty_window != 0 and (
            self.repetition_penalty != 1 or self.presence_penalty != 0 or self.frequency_penalty != 0
        )

    def window(self, text: Sequence[int], drafted: Sequence[int] = ()) -> Sequence[int]:
        """The tokens the penalties look at when the next one follows `text` and `drafted`; empty when all are off."""
        if not self.penalises:
            return ()
        if self.penalty_window < 0:
            return [*text, *drafted]
        missing = max(self.penalty_window - len(drafted), 0)
        return [*text[max(len(text) - missing, 0) :], *drafted][-self.penalty_window :]


def _require(fine: bool, name: str, range_: str, value: object) -> None:
    if not fine:
        raise ValueError(f"{name} must be {range_}, not {value}")


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
    ids = _truncated(logits, settings)
    kept = logits[ids].astype(np.float64)
    return Sparse(ids, np.exp((kept - kept[0]) / max(settings.temperature, LEAST_TEMPERATURE)))


def confidence(logits: Logits, q: Distribution, token: int) -> float:
    """The drafter's own probability of a token it drew: q's, or at temperature 0 the softmax of its logits."""
    return _dense(logits, 1.0).probability(token) if isinstance(q, Certain) else q.probability(token)


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
    greatest = logits.max()
    _require_usable(greatest)
    weights = padded_weights(logits.size)
    body = weights[: logits.size]
    np.subtract(logits, greatest, out=body)
    if temperature != 1:
        np.multiply(body, np.float32(1 / temperature), out=body)
    np.exp(body, out=body)
    return Dense(weights)


def _truncated(logits: Logits, settings: SamplingSettings) -> TokenIds:
    """The ids that top-k, top-p and min-p leave, likeliest first (smaller id first among equals)."""
    greatest = logits.max()
    _require_usable(greatest)
    if 0 < settings.top_k < logits.size:
        ids = _top_k(logits, settings.top_k)
        if settings.top_p < 1:
            ids = _top_p_of(ids, logits[ids], settings.top_p)
    elif settings.top_p < 1:
        ids = _top_p(logits, greatest, settings.top_p)
    else:
        ids = _at_least(logits, greatest + np.float32(math.log(settings.min_p)))
    if settings.min_p > 0:
        ids = ids[logits[ids] >= greatest + np.float32(math.log(settings.min_p))]
    return ids


def _at_least(logits: Logits, threshold: float | np.float32) -> TokenIds:
    """The ids of logits at or above a finite or infinite threshold, likeliest first."""
    ids = np.flatnonzero(logits >= threshold)
    return ids[np.argsort(-logits[ids], kind="stable")]


def _top_k(logits: Logits, k: int) -> TokenIds:
    """The k likeliest ids, likeliest first (llama_sampler_init_top_k).

    The k-th greatest of the column maxima of a grid is a threshold that at least k logits reach: one pass and a small
    sort instead of a partition of the vocabulary.
    """
    columns = logits.size // LANES
    if k < columns:
        maxima = logits[: columns * LANES].reshape(LANES, columns).max(axis=0)
        threshold = float(np.partition(maxima, columns - k)[columns - k])
    else:
        threshold = float(np.partition(logits, logits.size - k)[logits.size - k])
    ids = _at_least(logits, threshold)[:k]
    return ids[logits[ids] > -np.inf]


def _top_p_of(ids: TokenIds, sorted_logits: Logits, p: float) -> TokenIds:
    """The shortest prefix of `ids` whose share of their mass reaches p (llama_sampler_init_top_p)."""
    mass = np.exp(sorted_logits - sorted_logits[0])
    return ids[: _reaching(np.cumsum(mass / mass.sum(dtype=np.float64)), p)]


def _top_p(logits: Logits, greatest: float, p: float) -> TokenIds:
    """The likeliest ids of the whole vocabulary whose mass reaches p.

    Only the logits near the greatest are sorted; the search widens until their mass is enough.
    """
    weights = _dense(logits, 1.0)
    for depth in (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0):
        near = weights.weights[: logits.size][logits >= greatest - depth]
        if near.sum(dtype=np.float64) >= p * weights.total:
            ids = _at_least(logits, greatest - depth)
            break
    else:
        ids = _at_least(logits, -np.finfo(np.float32).max)
    return ids[: _reaching(np.cumsum(weights.weights[ids] / weights.total), p)]


def _reaching(cumulative: np.ndarray, p: float) -> int:
    """How many entries it takes to reach p."""
    return int(np.searchsorted(cumulative, p, side="left")) + 1
