# ruff: noqa: ARG002 # an error is often an argument that is not looked at
"""Acceptance rules with one error each, of the kinds that were made before: a test that misses them is no test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from localspec.bench.losslessness.planted_trees import TREE_ERRORS
from localspec.decoding.acceptance import AcceptanceRule, Block, Rejection, Target, Verdict
from localspec.decoding.distributions import Distribution, excess, residual
from localspec.decoding.rounds import Draft
from localspec.decoding.rules import LOSSY_RULES


class OpenRejection(Rejection):
    """Speculative sampling in pieces that can be replaced; as it stands it is right."""

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:
        """Accept token by token, as `Rejection` does."""
        for i, (token, q) in enumerate(zip(draft.tokens, draft.distributions, strict=True)):
            assert q is not None
            p, u = target(i), self._uniform()
            if not self.accepts(p, q, token, u):
                return Verdict(tuple(range(i)), self.correction(p, q, token, u))
        return Verdict(tuple(range(len(draft.tokens))), self.bonus(draft, target))

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
        return _bonus_from_q(draft, target).draw(self._uniform())


def _bonus_from_q(draft: Draft, target: Target) -> Distribution:
    q = draft.distributions[-1] if draft.distributions else None
    return q or target(0)


class OpenBlock(Block):
    """Block verification in pieces that can be replaced, from the first guess to the last; as it stands it is right."""

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:
        """Judge every part of the draft, as the paper writes it down."""
        drafted, shares, passed = len(draft.tokens), [1.0], [True]
        for i, (token, q) in enumerate(zip(draft.tokens, draft.distributions, strict=True)):
            of_q = 1.0 if q is None else q.probability(token)
            shares.append(self.share(shares[i] * target(i).probability(token) / of_q))
            passed.append(self.number(i) < self.chance(draft, target, i + 1, shares[-1]))
        kept = self.longest(passed)
        if kept == drafted:
            return Verdict(tuple(range(kept)), self.bonus(draft, target))
        return Verdict(tuple(range(kept)), self.correction(draft, target, kept, shares[kept]).draw(self._uniform()))

    def share(self, ratio: float) -> float:
        """The share of a part, given the ratio of p to q along it."""
        return min(1.0, ratio)

    def number(self, part: int) -> float:
        """What decides on a part."""
        return self._uniform()

    def chance(self, draft: Draft, target: Target, part: int, share: float) -> float:
        """The probability that a part of so many guesses passes."""
        if part == len(draft.tokens):
            return share
        mass, _ = excess(target(part), draft.distributions[part], draft.tokens[part], share) if share else (0.0, None)
        return mass / (mass + 1 - share) if share < 1 else 1.0

    def longest(self, passed: list[bool]) -> int:
        """The part to keep."""
        return max(i for i, each in enumerate(passed) if each)

    def correction(self, draft: Draft, target: Target, kept: int, share: float) -> Distribution:
        """What to draw from after a part that is not the whole."""
        return excess(target(kept), draft.distributions[kept], draft.tokens[kept], share)[1]

    def bonus(self, draft: Draft, target: Target) -> int:
        """What is written after a draft that was kept whole."""
        return target(len(draft.tokens)).draw(self._uniform())


class BlockCorrectsWithP(OpenBlock):
    """Corrects with a draw from p itself."""

    def correction(self, draft: Draft, target: Target, kept: int, share: float) -> Distribution:
        """All of p: what q likes too comes out too often."""
        return target(kept)


class BlockEndsAtTheFirstFailure(OpenBlock):
    """Cuts the draft before the first part that does not pass, though a longer one may."""

    def longest(self, passed: list[bool]) -> int:
        """All before the first that failed."""
        return passed.index(False) - 1 if False in passed else len(passed) - 1


class BlockPassesByTheShare(OpenBlock):
    """Lets every part pass as the whole draft does."""

    def chance(self, draft: Draft, target: Target, part: int, share: float) -> float:
        """The share alone, whatever could still be drawn behind it."""
        return share


class BlockBonusFromQ(OpenBlock):
    """Lets the draft write the token after a draft that was kept whole."""

    def bonus(self, draft: Draft, target: Target) -> int:
        """A draw from the last q."""
        return _bonus_from_q(draft, target).draw(self._uniform())


REJECTION_ERRORS: dict[str, Callable[[int], AcceptanceRule]] = {
    "residual-is-p": ResidualIsP,
    "p-and-q-swapped": SwappedInTheAcceptance,
    "always-accepts": AlwaysAccepts,
    "bonus-from-q": BonusFromQ,
}
BLOCK_ERRORS: dict[str, Callable[[int], AcceptanceRule]] = {
    "block-corrects-with-p": BlockCorrectsWithP,
    "block-first-failure": BlockEndsAtTheFirstFailure,
    "block-passes-by-share": BlockPassesByTheShare,
    "block-bonus-from-q": BlockBonusFromQ,
}
PLANTED = REJECTION_ERRORS | BLOCK_ERRORS | TREE_ERRORS
"""Rules by name; each is made from a seed. Errors that show whatever the pair and however little choice it leaves."""


def judges_together(rule: str) -> bool:
    """Whether that rule, or the one an error is planted in, is block verification."""
    return rule == "block" or rule in BLOCK_ERRORS


@dataclass(frozen=True, slots=True)
class Control:
    """What shows whether a test is worth anything.

    Attributes:
        right: name of a rule that must pass it: the one under test, unless that is not meant to be exact.
        errors: rules that must not, by name.
    """

    right: str
    errors: Mapping[str, Callable[[int], AcceptanceRule]]


def control_of(rule: str, *, branching: bool) -> Control:
    """That of the test of a rule; `branching`: it judges trees."""
    right = "rejection" if rule in LOSSY_RULES else rule
    if judges_together(rule):
        return Control(right, BLOCK_ERRORS)
    return Control(right, TREE_ERRORS if branching else REJECTION_ERRORS)
