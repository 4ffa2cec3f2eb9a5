"""Cascades with one error each between the levels. The exactness test must find every one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from localspec.decoding.acceptance import Rejection
from localspec.decoding.distributions import Distribution, residual
from localspec.decoding.drafters.cascade import _CascadeDrafting
from localspec.decoding.drafters.model_source import After, ModelSource
from localspec.decoding.rounds import Draft
from localspec.decoding.verdict import Guess, Judgement
from tests.decoding.cascades import CASCADES, Cascade


class QOfThePlaceBefore(_CascadeDrafting):
    def _judge(self, guesses: Draft, after: After, position: int) -> tuple[int, bool]:
        first = len(self._tokens)
        judged = super()._judge(guesses, after, position)
        for place in range(1, len(self._tokens) - first):
            self._distributions[first + place] = after(place - 1)[0]
        return judged


class SameNumbersEveryRound(_CascadeDrafting):
    def step(self, model: ModelSource) -> bool:
        self._inner.rule = Rejection(self._below.sampling.seed or 0)
        return super().step(model)


class _OtherQOfACorrection(_CascadeDrafting):
    """Claims something else of a token that took the place of a guess."""

    def claimed(self, p: Distribution, q: Distribution, guess: int) -> Distribution:
        raise NotImplementedError

    def _judge(self, guesses: Draft, after: After, position: int) -> tuple[int, bool]:
        kept, wanted = super()._judge(guesses, after, position)
        if kept < len(guesses.tokens):
            q = guesses.distributions[kept]
            assert q is not None
            self._distributions[-1] = self.claimed(after(kept)[0], q, guesses.tokens[kept])
        return kept, wanted


class CorrectionSaidToBeDrawnFromTheGuesssQ(_OtherQOfACorrection):
    def claimed(self, p: Distribution, q: Distribution, guess: int) -> Distribution:  # noqa: ARG002 - that is the error
        return q


class CorrectionSaidToBeDrawnFromTheResidual(_OtherQOfACorrection):
    def claimed(self, p: Distribution, q: Distribution, guess: int) -> Distribution:
        return residual(p, q, guess)


class _LeavesOut(_CascadeDrafting):
    """Leaves out a token it has drawn."""

    def leaves_out(self, q: Distribution, token: int, *, refused: bool) -> bool:
        raise NotImplementedError

    def _judge(self, guesses: Draft, after: After, position: int) -> tuple[int, bool]:
        kept, wanted = super()._judge(guesses, after, position)
        if self.leaves_out(after(kept)[0], self._tokens[-1], refused=kept < len(guesses.tokens)):
            for each in (self._tokens, self._distributions, self._sources):
                each.pop()
            return kept, False
        return kept, wanted


class UnlikelyTokensLeftOut(_LeavesOut):
    def leaves_out(self, q: Distribution, token: int, *, refused: bool) -> bool:  # noqa: ARG002 - see above
        return q.probability(token) < 0.2


class CorrectionsLeftOut(_LeavesOut):
    def leaves_out(self, q: Distribution, token: int, *, refused: bool) -> bool:  # noqa: ARG002 - see above
        return refused


class KeepsEveryGuess(Rejection):
    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        return Judgement(0, guesses[0].token) if guesses else super().judge(guesses, p, position)


@dataclass(frozen=True, slots=True)
class Planted:
    """An error, where it shows, and how many answers it takes to see it nearly always.

    Attributes:
        name: what it takes the place of in the module `cascade`.
        inside: whether it shows in the guesses rather than in the text.
    """

    name: str
    error: Any
    scenario: Cascade
    answers: int = 300
    rule: str = "rejection"
    inside: bool = False


def the_same_seed(seed: int, source: str) -> int:  # noqa: ARG001 # the error
    return seed


PLANTED: dict[str, Planted] = {
    "q of the place before": Planted(
        "_CascadeDrafting", QOfThePlaceBefore, CASCADES["few tokens, two blocks"], rule="block"
    ),
    "same numbers every round": Planted(
        "_CascadeDrafting", SameNumbersEveryRound, CASCADES["lookup, longer"], rule="block", inside=True
    ),
    "correction's q is the guess's": Planted(
        "_CascadeDrafting", CorrectionSaidToBeDrawnFromTheGuesssQ, CASCADES["few tokens, two blocks"], 200
    ),
    "correction's q is the residual": Planted(
        "_CascadeDrafting", CorrectionSaidToBeDrawnFromTheResidual, CASCADES["one round, sparse q"], 400
    ),
    "unlikely tokens left out": Planted("_CascadeDrafting", UnlikelyTokensLeftOut, CASCADES["lookup"]),
    "corrections left out": Planted("_CascadeDrafting", CorrectionsLeftOut, CASCADES["one round, lookup"], 600),
    "inner guesses always kept": Planted("Rejection", KeepsEveryGuess, CASCADES["few tokens, guesses"], 200),
    "random numbers of the outer rule": Planted("seed_of", the_same_seed, CASCADES["few tokens, one round"], 400),
}
