# ruff: noqa: ARG002 # an error is often an argument that is not looked at
"""Acceptance rules with one error each, of the kinds that were made before: a test that misses them is no test."""

from __future__ import annotations

from collections.abc import Callable

from localspec.decoding.acceptance import Rejection, Target, Verdict
from localspec.decoding.distributions import Distribution, residual
from localspec.decoding.rounds import Draft


class OpenRejection(Rejection):
    """Speculative sampling in pieces that can be replaced; as it stands it is right."""

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:
        """Accept token by token, as `Rejection` does."""
        for i, (token, q) in enumerate(zip(draft.tokens, draft.distributions, strict=True)):
            assert q is not None
            p, u = target(i), self._uniform()
            if not self.accepts(p, q, token, u):
                return Verdict(i, self.correction(p, q, token, u))
        return Verdict(len(draft.tokens), self.bonus(draft, target))

    def accepts(self, p: Distribution, q: Distribution, token: int, u: float) -> bool:
        """Whether the guess is kept."""
        return u < p.probability(token) / q.probability(token)

    def correction(self, p: Distribution, q: Distribution, token: int, u: float) -> int:
        """What is written in place of a guess that was not."""
        return residual(p, q, token).draw(self._uniform())

    def bonus(self, draft: Draft, target: Target) -> int:
        """What is written after a draft that was kept whole."""
        return target(len(draft.tokens)).draw(self._uniform())


class ResidualIsP(OpenRejection):
    """Corrects with a draw from p itself."""

    def correction(self, p: Distribution, q: Distribution, token: int, u: float) -> int:
        """A draw from p: what q likes too comes out too often."""
        return p.draw(self._uniform())


class SwappedInTheAcceptance(OpenRejection):
    """Takes p for q and q for p."""

    def accepts(self, p: Distribution, q: Distribution, token: int, u: float) -> bool:
        """The ratio upside down."""
        return u < q.probability(token) / max(p.probability(token), 1e-9)


class AlwaysAccepts(OpenRejection):
    """Keeps every guess."""

    def accepts(self, p: Distribution, q: Distribution, token: int, u: float) -> bool:
        """Always."""
        return True


class BonusFromQ(OpenRejection):
    """Lets the draft write the token after a draft that was kept whole."""

    def bonus(self, draft: Draft, target: Target) -> int:
        """A draw from the last q."""
        q = draft.distributions[-1] if draft.distributions else None
        return (q or target(0)).draw(self._uniform())


PLANTED: dict[str, Callable[[int], OpenRejection]] = {
    "residual-is-p": ResidualIsP,
    "p-and-q-swapped": SwappedInTheAcceptance,
    "always-accepts": AlwaysAccepts,
    "bonus-from-q": BonusFromQ,
}
"""Rules by name; each is made from a seed."""
