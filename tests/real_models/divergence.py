"""Two texts of one model are the same, or rounding is why they are not."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from localspec.bench.losslessness.divergence import NEAR_TIE, first_difference, gap_between
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.llama.context import Context


def require_same_text_or_near_tie(
    target: Context, prompt: Sequence[int], one: Sequence[int], other: Sequence[int], sampling: SamplingSettings
) -> None:
    """Pass when the texts are equal, or when the change of logits that would make them equal is below NEAR_TIE.

    A divergence is reported as a warning, with its place and gap.
    """
    place = first_difference(one, other)
    if place is None:
        return
    assert place < min(len(one), len(other)), "one text ends where the other goes on"
    gap = gap_between(target, [*prompt, *one[:place]], one[place], other[place], sampling)
    said = f"the texts part at token {place} of {len(one)}, where {gap:.4f} in a logit decides"
    warnings.warn(said, stacklevel=2)
    assert gap < NEAR_TIE, said
