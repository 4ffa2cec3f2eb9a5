# ruff: noqa: ARG002 # an error is often an argument that is not looked at
"""Errors in how several guesses for one place are drawn and judged, one each; see `planted`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localspec.decoding.acceptance import AcceptanceRule, Guess, Judgement, Rejection
from localspec.decoding.distributions import Distribution, Sparse, residual


class ResidualNotUpdated(Rejection):
    """Judges the second guess as if the first had not been refused."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        """The same p for every guess."""
        for i, (token, q) in enumerate(guesses):
            if self._uniform() * (1.0 if q is None else q.probability(token)) < p.probability(token):
                return Judgement(i, token)
        if not guesses:
            return Judgement(None, p.draw(self._uniform()))
        return Judgement(None, residual(p, guesses[-1].q, guesses[-1].token).draw(self._uniform()))


class CorrectionFromP(Rejection):
    """After all guesses were refused draws the target's own token as if none had been made."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        """All of p: what the guesses were drawn from comes out too often."""
        judgement = super().judge(guesses, p, position)
        return judgement if judgement.kept is not None else Judgement(None, p.draw(self._uniform()))


class ResidualOfTheFirstAlone(Rejection):
    """Forgets, in the end, what the second refused guess and those behind it leave of p."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        """A correction from what the first guess left."""
        first = p
        for i, (token, q) in enumerate(guesses):
            if self._uniform() * (1.0 if q is None else q.probability(token)) < p.probability(token):
                return Judgement(i, token)
            p = residual(p, q, token)
        if guesses:
            p = residual(first, guesses[0].q, guesses[0].token)
        return Judgement(None, p.draw(self._uniform()))


class ClaimsTheWholeQ(Rejection):
    """Says of second guesses that they were drawn from q, the first still being in it."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self._whole: dict[int, Distribution] = {}

    def propose(self, q: Distribution, position: int) -> int:
        """Remember q for the siblings."""
        self._whole[position] = q
        return super().propose(q, position)

    def propose_several(self, q: Distribution, position: int, count: int) -> list[Guess]:
        """Not renormalised: q is what was left when the guess was drawn."""
        whole = self._whole.get(position, q)
        return [Guess(each.token, whole) for each in super().propose_several(q, position, count)]


class DrawsWithReplacement(ClaimsTheWholeQ):
    """Draws second guesses from the whole of q, and says that they were drawn from what the first left of it."""

    def propose_several(self, q: Distribution, position: int, count: int) -> list[Guess]:
        """The first may be drawn again."""
        drawn = self._whole.get(position, q).draw(self._uniform())
        return [Guess(drawn, q)]


class LikeliestSibling(Rejection):
    """Takes the likeliest that is left for a second guess, and says that it was drawn."""

    def propose_several(self, q: Distribution, position: int, count: int) -> list[Guess]:
        """What a greedy draft would try next."""
        return [Guess(q.likeliest(), q)]


class OrderedByP(Rejection):
    """Tries the guess first that the target likes best."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        """In another order than they were drawn, and one that depends on what they are."""
        order = sorted(range(len(guesses)), key=lambda i: -p.probability(guesses[i].token))
        kept, token = super().judge([guesses[i] for i in order], p, position)
        return Judgement(None if kept is None else order[kept], token)


class LastFirst(Rejection):
    """Tries guesses in the opposite order to that in which they were drawn."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        """The last one was drawn from what the others had left."""
        kept, token = super().judge(guesses[::-1], p, position)
        return Judgement(None if kept is None else len(guesses) - 1 - kept, token)


class LookedUpSaidToBeDrawn(Rejection):
    """Judges a guess that is certain as if it had been drawn from a q that spreads over all tokens."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        """It is kept too often."""
        ids, ones = p.support()
        spread = Sparse(ids, 0 * ones + 1)
        return super().judge([Guess(token, q or spread) for token, q in guesses], p, position)


TREE_ERRORS: dict[str, Callable[[int], AcceptanceRule]] = {
    "tree-residual-not-updated": ResidualNotUpdated,
    "tree-corrects-with-p": CorrectionFromP,
    "tree-forgets-last-residual": ResidualOfTheFirstAlone,
    "tree-q-not-renormalised": ClaimsTheWholeQ,
    "tree-draws-with-replacement": DrawsWithReplacement,
    "tree-likeliest-sibling": LikeliestSibling,
    "tree-ordered-by-p": OrderedByP,
    "tree-last-first": LastFirst,
    "tree-lookup-said-drawn": LookedUpSaidToBeDrawn,
}
"""By name; each is made from a seed."""
