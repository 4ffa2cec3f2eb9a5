"""What a pass costs on this machine, measured (DESIGN section 4): T(n) of the target, c of the draft."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from localspec.decoding.language_model import LanguageModel

# Ids of a text of no length, spread so that each pass looks up other rows of the embedding.
_STRIDE = 7919


def pass_seconds(
    model: LanguageModel, width: int, repeats: int, cancelled: Callable[[], bool], rows: int | None = None
) -> float | None:
    """Median seconds of a pass over `width` tokens.

    The passes follow each other behind the text that the cache holds, as in an answer, and read that text once more:
    which experts a mixture of experts asks for depends on the tokens. Afterwards the cache holds what it held.

    Args:
        model: its cache may hold any text, a full one included: then the passes go over the text's own end.
        width: tokens a pass.
        repeats: passes that count, one or more; a pass before them does not.
        cancelled: polled between passes.
        rows: how many of the last tokens get a row of logits: 1 as when drafting; None for all, as when verifying.

    Returns:
        The median, or None when it was cancelled.

    Raises:
        ValueError: `width` is below 1 or beyond what the model can hold, or `rows` beyond what it can put out.
    """
    if not 1 <= width <= model.capacity:
        raise ValueError(f"a pass of {width} tokens was asked for, and the model can hold {model.capacity}")
    seconds = []
    with room_behind(model, width) as text:
        beginning = model.length
        for _ in range(repeats + 1):
            if cancelled():
                return None
            if model.length + width > model.capacity:
                model.truncate(beginning)
            seconds.append(one_pass(model, tuple(itertools.islice(text, width)), rows))
    return statistics.median(seconds[1:])


def one_pass(model: LanguageModel, tokens: Sequence[int], rows: int | None = None) -> float:
    """Seconds that a pass over `tokens` takes now.

    Raises:
        ValueError: there is no room for them.
    """
    began = time.perf_counter()
    model.evaluate(tokens, rows)
    return time.perf_counter() - began


@contextmanager
def room_behind(model: LanguageModel, width: int) -> Iterator[Iterator[int]]:
    """Room for `width` tokens, given back as it was found; yields tokens to evaluate there, without end."""
    held = tuple(model.tokens)
    kept = min(len(held), model.capacity - width)
    spread = range(0, model.vocabulary_size * _STRIDE, _STRIDE)
    model.truncate(kept)
    try:
        yield itertools.cycle(held or (token % model.vocabulary_size for token in spread))
    finally:
        model.truncate(min(model.length, kept))
    if held[kept:]:
        model.evaluate(held[kept:], rows=0)
