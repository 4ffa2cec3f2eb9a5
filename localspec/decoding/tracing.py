"""How each guess was judged: p, q and the random number, noted while the rejection rule does what it always does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localspec.decoding.acceptance import Rejection, Target, Verdict
from localspec.decoding.distributions import Distribution, probabilities_at, residual
from localspec.decoding.rounds import Draft


@dataclass(frozen=True, slots=True)
class JudgedGuess:
    """One guess and what decided on it.

    Attributes:
        token: the guess.
        p: the target's distribution at its place.
        q: the distribution it was drawn from; None for a deterministic guess (q is 1 on it).
        u: the random number, uniform in [0, 1); the guess is kept when u q(token) < p(token).
        kept: whether it was.
    """

    token: int
    p: Distribution
    q: Distribution | None
    u: float
    kept: bool

    @property
    def q_of_token(self) -> float:
        """How likely the draft was to guess it."""
        return 1.0 if self.q is None else self.q.probability(self.token)

    @property
    def p_of_token(self) -> float:
        """How likely the target is to write it."""
        return self.p.probability(self.token)

    @property
    def chance(self) -> float:
        """The chance that a guess drawn at this place is kept: sum of min(p, q) (Leviathan, Theorem 3.5)."""
        if self.q is None:
            return self.p_of_token
        ids, probabilities = self.q.support()
        return float(np.minimum(probabilities, probabilities_at(self.p, ids)).sum())


@dataclass(frozen=True, slots=True)
class JudgedRound:
    """One draft, judged.

    Attributes:
        guesses: the guesses that were looked at, in order: all of them, or those up to the first refused.
        drafted: all ids that were guessed.
        source: what the target's own token was drawn from: the residual after a rejection, else p after the draft.
        token: that token, a correction or the bonus.
        u: the random number it was drawn with.
    """

    guesses: tuple[JudgedGuess, ...]
    drafted: tuple[int, ...]
    source: Distribution
    token: int
    u: float


class WatchedRejection(Rejection):
    """`Rejection`, draw for draw, that notes what it saw. Exact at temperature 0 too, where p and q are certain.

    Args:
        seed: as `Rejection`'s: the same seed makes the same choices.

    Attributes:
        last: the round judged last; None before the first.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.last: JudgedRound | None = None
        self._drawn: list[float] = []
        draw = self._uniform

        def noted() -> float:
            self._drawn.append(draw())
            return self._drawn[-1]

        self._uniform = noted

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:
        """As `Rejection.verify`."""
        seen: list[Distribution] = []

        def watched(i: int) -> Distribution:
            seen.append(target(i))
            return seen[-1]

        self._drawn.clear()
        verdict = super().verify(draft, watched, position)
        # It draws one number for each guess it looks at, and one for the token of the target's own.
        *judging, own = self._drawn
        guesses = tuple(
            JudgedGuess(token, p, q, u, kept=i < verdict.accepted)
            for i, (token, q, p, u) in enumerate(zip(draft.tokens, draft.distributions, seen, judging, strict=False))
        )
        refused = guesses[-1] if guesses and not guesses[-1].kept else None
        source = residual(refused.p, refused.q, refused.token) if refused else seen[-1]
        self.last = JudgedRound(guesses, draft.tokens, source, verdict.token, own)
        return verdict
