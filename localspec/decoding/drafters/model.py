"""Guesses from a second, smaller model with the same tokenizer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from localspec.decoding.language_model import LanguageModel, keep_common_prefix
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import Draft, Turn
from localspec.decoding.sampling import confidence, to_distribution
from localspec.decoding.sampling_settings import SamplingSettings

DRAFT_MIN_P = 1e-5
"""Where the person cuts nothing off, q leaves out tokens 100,000 times less likely than the draft's likeliest.

Exact all the same, for q is what the tokens are drawn from; it halves the time to draw one from a large vocabulary, and
could lose no more acceptance than the mass it leaves out.
"""


class ModelDrafter:
    """Drafts token by token with a language model, keeping its KV cache from round to round.

    After a draft that was accepted whole the cache is one token behind the text; the next round catches up.

    Args:
        model: the draft model.
        vocabulary_size: ids below it exist in both vocabularies; q is 0 beyond (padding may differ in size).
    """

    name = "model"

    def __init__(self, model: LanguageModel, vocabulary_size: int) -> None:
        self._model = model
        self._vocabulary_size = min(vocabulary_size, model.vocabulary_size)

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Read the prompt, reusing the prefix already held.

        A prompt beyond the draft's context or vocabulary is left unread, and nothing is drafted after it.
        """
        shared = keep_common_prefix(self._model, text)
        if len(text) <= self._model.capacity and self._knows(text[shared:]):
            for _ in prefill(self._model, text[:-1], cancelled):
                pass

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        """Up to `limit` tokens, each drawn from q = the draft model's distribution under the person's settings."""
        limit = min(limit, self._model.capacity + 1 - len(text))
        length = turn.draft_length
        sampling = draft_sampling(turn.sampling)
        tokens: list[int] = []
        distributions = []
        confidences: list[float] = []
        seconds = 0.0
        pending = text[self._model.length :]
        if not self._knows(pending):
            return Draft()
        while len(tokens) < limit and length.more(len(tokens), confidences[-1] if confidences else None):
            began = time.perf_counter()
            row = self._model.evaluate(pending, rows=1)[0, : self._vocabulary_size]
            seconds += time.perf_counter() - began
            q = to_distribution(row, sampling, sampling.window(text, tokens))
            token = turn.rule.propose(q, len(text) + len(tokens))
            tokens.append(token)
            distributions.append(q)
            if length.needs_confidence:
                confidences.append(confidence(row, q, token))
            if token in turn.end_tokens or turn.cancelled():
                break
            pending = (token,)
        return Draft(tuple(tokens), tuple(distributions), tuple(confidences), self.name, seconds)

    def _knows(self, tokens: Sequence[int]) -> bool:
        """Whether the draft model can evaluate these: a target of a larger vocabulary may write an id it lacks."""
        return max(tokens) < self._model.vocabulary_size

    def agree(self, length: int) -> None:
        """Cut the draft model's cache back to the agreed text."""
        if self._model.length > length:
            self._model.truncate(length)


def draft_sampling(sampling: SamplingSettings) -> SamplingSettings:
    """The person's settings as the draft uses them."""
    if sampling.truncates or sampling.temperature == 0:
        return sampling
    # min-p comes before the temperature: to the power of it, it cuts at the same probability for every temperature.
    return replace(sampling, min_p=DRAFT_MIN_P**sampling.temperature)
