"""llama.cpp's own sampler chain, asked for the distribution it samples from."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import llama_cpp.llama_cpp as low
import numpy as np
from numpy.typing import NDArray

from localspec.decoding.sampling_settings import SamplingSettings

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def chain_probabilities(
    logits: NDArray[np.float32], settings: SamplingSettings, text: Sequence[int]
) -> NDArray[np.float64]:
    """The probability of every token by `llama_sampler_chain`, in the order of llama.cpp's common_sampler_init."""
    candidates = np.zeros(logits.size, _CANDIDATE)
    candidates["id"] = np.arange(logits.size)
    candidates["logit"] = logits
    array = low.llama_token_data_array(candidates.ctypes.data_as(low.llama_token_data_p), logits.size, -1, False)
    chain = _chain(logits.size, settings, len(text))
    try:
        for token in text:
            low.llama_sampler_accept(chain, token)
        low.llama_sampler_apply(chain, ctypes.byref(array))
    finally:
        low.llama_sampler_free(chain)
    kept = candidates[: array.size]
    probabilities = np.zeros(logits.size)
    probabilities[kept["id"]] = kept["p"]
    return probabilities


def _chain(vocabulary: int, settings: SamplingSettings, length: int) -> object:
    chain = low.llama_sampler_chain_init(low.llama_sampler_chain_default_params())
    # Its -1 (the whole text) is resolved by the caller in llama.cpp too.
    window = length if settings.penalty_window < 0 else settings.penalty_window
    biases = (low.llama_logit_bias * len(settings.logit_bias))(*settings.logit_bias)
    for sampler in (
        low.llama_sampler_init_logit_bias(vocabulary, len(biases), biases),
        low.llama_sampler_init_penalties(
            vocabulary,
            window,
            settings.repetition_penalty,
            settings.frequency_penalty,
            settings.presence_penalty,
        ),
        low.llama_sampler_init_top_k(settings.top_k),
        low.llama_sampler_init_top_p(settings.top_p, 0),
        low.llama_sampler_init_min_p(settings.min_p, 0),
        low.llama_sampler_init_temp_ext(settings.temperature, 0.0, 1.0),
        low.llama_sampler_init_dist(0),
    ):
        low.llama_sampler_chain_add(chain, sampler)
    return chain
