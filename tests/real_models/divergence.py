"""Where two texts of one model part, and whether rounding can be the reason.

The width of a pass changes the rounding of its logits, so a text is never promised to the byte: where two candidates
are as good as equal, either may win. What is promised is that nothing else makes a difference.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

from localspec.decoding.coupling import exponentials, hashed
from localspec.decoding.language_model import keep_common_prefix
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import never
from localspec.decoding.sampling import to_distribution
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.llama.context import Context

NEAR_TIE = 0.5
"""Logits. Passes of different width were seen to differ by up to 0.64 in one logit at width 43; a draft is narrower."""


def require_same_text_or_near_tie(
    target: Context, prompt: Sequence[int], one: Sequence[int], other: Sequence[int], sampling: SamplingSettings
) -> None:
    """Pass when the texts are equal, or when the change of logits that would make them equal is below NEAR_TIE.

    A divergence is reported as a warning, with its place and gap.
    """
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if place is None:
        assert len(one) == len(other)
        return
    gap = gap_between(target, [*prompt, *one[:place]], one[place], other[place], sampling)
    said = f"the texts part at token {place} of {len(one)}, where {gap:.4f} in a logit decides"
    warnings.warn(said, stacklevel=2)
    assert gap < NEAR_TIE, said


def gap_between(target: Context, text: Sequence[int], a: int, b: int, sampling: SamplingSettings) -> float:
    """By how much the logits of `a` and `b` after `text` would have to change for the other one to be chosen."""
    keep_common_prefix(target, text)
    for _ in prefill(target, text[:-1], never):
        pass
    logits = target.evaluate(text[-1:])[0]
    if sampling.temperature == 0:
        return float(abs(logits[a] - logits[b]))
    assert sampling.seed is not None
    p = to_distribution(logits, sampling, sampling.window(text))
    if not (p.probability(a) and p.probability(b)):
        return math.inf
    noise = exponentials(hashed(np.array([a, b], np.uint32), sampling.seed, len(text)))
    finishes = noise / np.array([p.probability(a), p.probability(b)])
    return float(sampling.temperature * abs(np.log(finishes[0] / finishes[1])))
