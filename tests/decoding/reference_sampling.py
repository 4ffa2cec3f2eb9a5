"""The sampling settings a second time: slow, in float64, token by token, written from llama.cpp's sources.

Nothing of `localspec.decoding.sampling` is used but the settings themselves, so that the two can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localspec.decoding.sampling_settings import SamplingSettings


def exact_probabilities(
    logits: Sequence[float] | NDArray[np.float32], settings: SamplingSettings, text: Sequence[int]
) -> NDArray[np.float64]:
    """The probability of every token after `text` (the whole of it: the penalties' window is cut here)."""
    values = _penalised(_biased([float(value) for value in logits], settings), settings, text)
    order = sorted(range(len(values)), key=lambda token: (-values[token], token))
    if settings.temperature == 0:
        kept = order[:1]
    else:
        kept = _after_min_p(_after_top_p(_after_top_k(order, settings), values, settings), values, settings)
    greatest = values[kept[0]]
    weights = [math.exp((values[t] - greatest) / settings.temperature) if settings.temperature else 1.0 for t in kept]
    probabilities = np.zeros(len(values))
    probabilities[kept] = np.array(weights) / math.fsum(weights)
    return probabilities


def boundary_margin(
    logits: Sequence[float] | NDArray[np.float32], settings: SamplingSettings, text: Sequence[int]
) -> float:
    """How far the nearest truncation is from falling otherwise: below about 1e-6 rounding may decide it.

    In units of probability for top-p, of logits for top-k and min-p.
    """
    values = _penalised(_biased([float(value) for value in logits], settings), settings, text)
    order = sorted(range(len(values)), key=lambda token: (-values[token], token))
    margins = [math.inf]
    if 0 < settings.top_k < len(order):
        last, first_out = values[order[settings.top_k - 1]], values[order[settings.top_k]]
        margins.append(last - first_out if last > -math.inf else math.inf)
    kept = _after_top_k(order, settings)
    if settings.top_p < 1:
        shares = _cumulative_shares(kept, values)
        margins.append(min(abs(share - settings.top_p) for share in shares))
    if settings.min_p > 0:
        threshold = values[order[0]] + math.log(settings.min_p)
        margins.extend(abs(values[token] - threshold) for token in kept if token != order[0])
    return min(margins)


def _biased(values: list[float], settings: SamplingSettings) -> list[float]:
    for token, bias in settings.logit_bias:
        if token < len(values):
            values[token] += bias
    return values


def _penalised(values: list[float], settings: SamplingSettings, text: Sequence[int]) -> list[float]:
    window = list(text)
    if settings.penalty_window >= 0:
        window = window[len(window) - min(settings.penalty_window, len(window)) :]
    for token in set(window):
        if token < len(values):
            value, times = values[token], window.count(token)
            value = value / settings.repetition_penalty if value > 0 else value * settings.repetition_penalty
            values[token] = value - times * settings.frequency_penalty - settings.presence_penalty
    return values


def _after_top_k(order: list[int], settings: SamplingSettings) -> list[int]:
    return order[: settings.top_k] if settings.top_k > 0 else order


def _cumulative_shares(kept: list[int], values: list[float]) -> list[float]:
    weights = [math.exp(values[token] - values[kept[0]]) for token in kept]
    total = math.fsum(weights)
    shares, so_far = [], 0.0
    for weight in weights:
        so_far += weight
        shares.append(so_far / total)
    return shares


def _after_top_p(kept: list[int], values: list[float], settings: SamplingSettings) -> list[int]:
    if settings.top_p >= 1:
        return kept
    for place, share in enumerate(_cumulative_shares(kept, values)):
        if share >= settings.top_p:
            return kept[: place + 1]
    return kept


def _after_min_p(kept: list[int], values: list[float], settings: SamplingSettings) -> list[int]:
    if settings.min_p == 0:
        return kept
    threshold = values[kept[0]] + math.log(settings.min_p)
    return [token for token in kept if values[token] >= threshold or token == kept[0]]
