"""Guesses from a second, smaller model with the same tokenizer."""

from __future__ import annotations

from localspec.decoding.drafters.drafting import SourcesDrafter
from localspec.decoding.drafters.model_source import ModelSource
from localspec.decoding.language_model import LanguageModel


class ModelDrafter(SourcesDrafter):
    """Drafts with a language model alone.

    Args:
        model: the draft model.
        vocabulary_size: as in `ModelSource`.
    """

    def __init__(self, model: LanguageModel, vocabulary_size: int) -> None:
        super().__init__("model", ModelSource(model, vocabulary_size), None)
