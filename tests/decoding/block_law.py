"""What block verification and rejection do, worked out in full: every draft with its probability, every outcome of it.

Plain numpy, straight from the papers' formulas, over all texts of a few tokens: nothing is sampled.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Text = tuple[int, ...]
Law = NDArray[np.float64]
"""Probabilities of all tokens: shape (vocabulary,)."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is drafted, and from what.

    Attributes:
        p: the target's law after so many tokens.
        q: the draft's.
        longest: the most guesses of a draft.
        ends: whether a draft ends after these guesses, all of which are in it.
    """

    p: Callable[[Text], Law]
    q: Callable[[Text], Law]
    longest: int
    ends: Callable[[Text], bool] = lambda _guesses: False

    def drafts(self, guesses: Text = ()) -> Iterator[tuple[Text, float]]:
        """All drafts that may be made, each with its probability."""
        if len(guesses) == self.longest or self.ends(guesses):
            yield guesses, 1.0
            return
        for token, probability in enumerate(self.q(guesses).tolist()):
            if probability:
                for draft, rest in self.drafts((*guesses, token)):
                    yield draft, probability * rest

    def ratio(self, draft: Text, i: int) -> float:
        """p / q of the guess after the first i."""
        return float(self.p(draft[:i])[draft[i]] / self.q(draft[:i])[draft[i]])

    def shares(self, draft: Text) -> list[float]:
        """s_0..s_n."""
        return list(
            itertools.accumulate(
                range(len(draft)), lambda share, i: min(1.0, share * self.ratio(draft, i)), initial=1.0
            )
        )

    def over(self, draft: Text, i: int, share: float) -> Law:
        """What of p is left after the first i guesses, when the draft ends there all of it."""
        p = share * self.p(draft[:i])
        return p if i == len(draft) else np.maximum(p - self.q(draft[:i]), 0.0)

    def chances(self, draft: Text) -> list[float]:
        """h_0..h_n of block verification; h_0 is 1, for no guess at all always passes."""
        shares, n = self.shares(draft), len(draft)
        chances = [1.0]
        for i in range(1, n + 1):
            mass = self.over(draft, i, shares[i]).sum()
            spare = mass + 1 - shares[i]
            chances.append(shares[n] if i == n else mass / spare if spare else 1.0)
        return chances

    def kept_by_block(self, draft: Text) -> list[float]:
        """The probability that 0..n guesses are kept by block verification."""
        chances = self.chances(draft)
        return [chance * math.prod(1 - later for later in chances[i + 1 :]) for i, chance in enumerate(chances)]

    def kept_by_rejection(self, draft: Text) -> list[float]:
        """The same of token by token rejection."""
        reached = [math.prod(min(1.0, self.ratio(draft, j)) for j in range(i)) for i in range(len(draft) + 1)]
        return [here - after for here, after in itertools.pairwise((*reached, 0.0))]

    def expected(self, kept: Callable[[Text], list[float]]) -> float:
        """Guesses kept in a round, on average."""
        return sum(chance * float(np.dot(kept(draft), range(len(draft) + 1))) for draft, chance in self.drafts())

    def law_of_block(self, drafts: Iterator[tuple[Text, float]] | None = None) -> dict[Text, float]:
        """The probability of each text of longest + 1 tokens: a round, and then the target's own tokens."""
        law: dict[Text, float] = defaultdict(float)
        for draft, chance in drafts or self.drafts():
            shares = self.shares(draft)
            for i, kept in enumerate(self.kept_by_block(draft)):
                over = self.over(draft, i, shares[i])
                if kept and over.any():
                    for token, next_chance in enumerate((over / over.sum()).tolist()):
                        for text, rest in self.continued((*draft[:i], token)):
                            law[text] += chance * kept * next_chance * rest
        return law

    def continued(self, text: Text) -> Iterator[tuple[Text, float]]:
        """All continuations to longest + 1 tokens by the target alone."""
        if len(text) == self.longest + 1:
            yield text, 1.0
            return
        for token, probability in enumerate(self.p(text).tolist()):
            for longer, rest in self.continued((*text, token)):
                yield longer, probability * rest

    def distance(self, law: dict[Text, float]) -> float:
        """The greatest difference between a law of texts and the target's own."""
        return max(abs(law[text] - probability) for text, probability in self.continued(()))
