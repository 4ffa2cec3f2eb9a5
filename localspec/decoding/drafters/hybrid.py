"""Guesses from a draft model and from the text itself, whichever is worth more at each token."""

from __future__ import annotations

from localspec.decoding.drafters.drafting import SourcesDrafter
from localspec.decoding.drafters.model_source import ModelSource
from localspec.decoding.drafters.ngram import NgramLookup


class HybridDrafter(SourcesDrafter):
    """Drafts with a model and a lookup; one draft may hold tokens of both.

    Args:
        model: the draft model's source.
        lookup: the lookup; either may serve another drafter too, one at a time.
    """

    def __init__(self, model: ModelSource, lookup: NgramLookup) -> None:
        super().__init__("hybrid", model, lookup)
