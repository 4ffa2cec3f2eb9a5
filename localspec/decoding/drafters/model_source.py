"""A draft model as a source of guesses: one token a pass, its KV cache kept from round to round."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from localspec.decoding.distributions import Distribution
from localspec.decoding.language_model import LanguageModel, keep_common_prefix
from localspec.decoding.pass_costs import WIDEST
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import DraftPass, Turn
from localspec.decoding.sampling import greatest_probability, to_distribution
from localspec.decoding.sampling_settings import SamplingSettings

DRAFT_MIN_P = 1e-5
"""Where the person cuts nothing off, q leaves out tokens 100,000 times less likely than the draft's likeliest.

Exact all the same, for q is what the tokens are drawn from; it halves the time to draw one from a large vocabulary, and
could lose no more acceptance than the mass it leaves out.
"""


After = Callable[[int], tuple[Distribution, float]]
"""After(i) is the distribution of the token after i more guesses, and its greatest probability; see `read`."""


class ModelSource:
    """Guesses token by token with a language model.

    After a draft that was accepted whole its cache is one token behind the text; the next round catches up.

    Args:
        model: the draft model.
        vocabulary_size: ids below it exist in both vocabularies; q is 0 beyond (padding may differ in size).

    Attributes:
        passes: what the model did in the present round.
    """

    def __init__(self, model: LanguageModel, vocabulary_size: int) -> None:
        self._model = model
        self._vocabulary_size = min(vocabulary_size, model.vocabulary_size)
        self._text: Sequence[int] = ()
        self.passes: list[DraftPass] = []

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Read the prompt, reusing the prefix already held.

        A prompt beyond the draft's context or vocabulary is left unread, and nothing is drafted after it.
        """
        shared = keep_common_prefix(self._model, text)
        if len(text) <= self._model.capacity and self._knows(text[shared:]):
            for _ in prefill(self._model, text[:-1], cancelled):
                pass

    def begin(self, text: Sequence[int], turn: Turn) -> None:
        """Begin a round after `text`."""
        self._text = text
        self._turn = turn
        self._sampling = draft_sampling(turn.sampling)
        self._known = self._knows(text[self._model.length :])
        self.passes = []

    def unread(self, drafted: Sequence[int]) -> int:
        """Tokens it must read to guess the one after `drafted`; 0 when it cannot guess there.

        It cannot where its context ends, and after an id that it lacks: a target of a larger vocabulary may write one.
        """
        length = len(self._text) + len(drafted)
        possible = self._known and length <= self._model.capacity and self._knows(drafted)
        return length - self._model.length if possible else 0

    def room(self, drafted: Sequence[int]) -> int:
        """How many guesses after `drafted` one pass can judge, what is unread being read in the same."""
        return max(0, min(WIDEST - self.unread(drafted), self._model.capacity - len(self._text) - len(drafted)))

    def next(self, drafted: Sequence[int]) -> tuple[Distribution, float]:
        """The distribution of the token after `drafted`, under the person's settings, and its greatest probability.

        At temperature 0, where the distribution is certain, the second is the greatest of the logits' softmax. It is
        0 when the draft-length rule does not ask for it.
        """
        return self.read(drafted)(0)

    def read(self, drafted: Sequence[int], guesses: Sequence[int] = ()) -> After:
        """Read, in one pass, what is unread up to the end of `drafted`, and `guesses` for what follows.

        Returns:
            What `next` gives, after `drafted` and any number of the guesses. It reads the model's rows: they must not
            be overwritten yet.
        """
        unread = (*self._text[self._model.length :], *drafted[max(0, self._model.length - len(self._text)) :])
        before = tuple(drafted)
        began = time.perf_counter()
        wanted = len(guesses) + 1
        rows = self._model.evaluate((*unread, *guesses), rows=wanted)[:, : self._vocabulary_size]
        seconds = time.perf_counter() - began
        self.passes.append(DraftPass(len(unread) + len(guesses), seconds, rows=wanted, verified=bool(guesses)))

        def after(kept: int) -> tuple[Distribution, float]:
            recent = self._sampling.window(self._text, (*before, *guesses[:kept]))
            q = to_distribution(rows[kept], self._sampling, recent)
            return q, greatest_probability(rows[kept], q) if self._turn.draft_length.needs_confidence else 0.0

        return after

    def agree(self, length: int) -> None:
        """Cut the draft model's cache back to the agreed text."""
        if self._model.length > length:
            self._model.truncate(length)

    def _knows(self, tokens: Sequence[int]) -> bool:
        """Whether the draft model can evaluate these."""
        return max(tokens, default=0) < self._model.vocabulary_size


def draft_sampling(sampling: SamplingSettings) -> SamplingSettings:
    """The person's settings as the draft uses them."""
    if sampling.truncates or sampling.temperature == 0:
        return sampling
    # min-p comes before the temperature: to the power of it, it cuts at the same probability for every temperature.
    return replace(sampling, min_p=DRAFT_MIN_P**sampling.temperature)
