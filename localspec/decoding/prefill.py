"""Reading a prompt in chunks, so that it can be shown and stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from localspec.decoding.language_model import LanguageModel

CHUNK = 512
"""Tokens per step: llama.cpp's default physical batch, beyond which a longer pass is not faster."""


def prefill(
    model: LanguageModel, tokens: Sequence[int], cancelled: Callable[[], bool], chunk: int = CHUNK
) -> Iterator[int]:
    """Evaluate what the model does not hold yet of `tokens`, without logits.

    Args:
        model: holds a prefix of `tokens`.
        tokens: what it shall hold in the end.
        cancelled: polled before each chunk; True ends the iteration early.
        chunk: tokens per step.

    Yields:
        The number of tokens held after each chunk.
    """
    while model.length < len(tokens) and not cancelled():
        model.evaluate(tokens[model.length : model.length + chunk], rows=0)
        yield model.length
