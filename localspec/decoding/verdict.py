"""What an acceptance rule is given and what it decides."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from localspec.decoding.distributions import Distribution, excess
from localspec.decoding.rounds import Draft

Target = Callable[[int], Distribution]
"""Target(0) is p after the text, Target(i + 1) p after guess i and those it follows, 0 <= i < n; computed only when
asked for. In a chain Target(i) is p after the first i guesses."""


class Guess(NamedTuple):
    """A token and the q it was drawn from; None for a deterministic guess (q is 1 on it)."""

    token: int
    q: Distribution | None


class Judgement(NamedTuple):
    """Which of the guesses for a place was kept, None for none of them, and the token that stands there now."""

    kept: int | None
    token: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The guesses of `path` are kept, then `token`, the target's own, follows: a correction or the bonus.

    Attributes:
        path: indices into the draft, each guess following the one before it.
        token: an id.
    """

    path: tuple[int, ...]
    token: int

    @property
    def accepted(self) -> int:
        """How many guesses are kept."""
        return len(self.path)


class AcceptanceRule(Protocol):
    """How a draft is drawn and verified."""

    @property
    def name(self) -> str:
        """The rule's name in the settings."""
        ...

    @property
    def lossless(self) -> bool:
        """Whether the text is distributed exactly as the target's own."""
        ...

    @property
    def may_leave_out(self) -> bool:
        """Whether guesses may be left out of the target's pass after they were seen.

        True where each token of the text is the target's own choice, whatever was guessed. Where the choice depends on
        the guess, as in rejection sampling, leaving out those that look bad would favour the others.
        """
        ...

    def propose(self, q: Distribution, position: int) -> int:
        """Draw a draft token from q, for the given position in the text."""
        ...

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:
        """Decide on a draft whose first token stands at `position` in the text. An empty draft is a plain step."""
        ...


@runtime_checkable
class BranchingRule(AcceptanceRule, Protocol):
    """A rule that can choose between several guesses for the same place."""

    def propose_several(self, q: Distribution, position: int, count: int) -> list[Guess]:
        """Draw up to `count` different tokens for one position, to be tried in this order.

        Each comes with the distribution it was drawn from, given those before it. There are fewer where q has fewer.
        """
        ...

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        """Decide which of the guesses for one position is kept, and write the target's own token where none is."""
        ...


class TokenByToken:
    """What the rules have in common that judge one position after the other."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        """See `BranchingRule.judge`."""
        raise NotImplementedError

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:
        """Walk down the draft as long as a guess is kept; what follows the last one kept is the target's own."""
        path: list[int] = []
        while True:
            last = path[-1] if path else -1
            children = draft.children(last)
            guesses = [Guess(draft.tokens[i], draft.distributions[i]) for i in children]
            kept, token = self.judge(guesses, target(last + 1), position + len(path))
            if kept is None:
                return Verdict(tuple(path), token)
            path.append(children[kept])


class SamplesGuesses:
    """What the rules have in common whose guesses are samples of q, each random number being used once.

    Args:
        seed: start of the random draws.
    """

    def __init__(self, seed: int) -> None:
        self._uniform = random.Random(seed).random  # noqa: S311 - sampling, not secrets

    def propose(self, q: Distribution, position: int) -> int:  # noqa: ARG002 - the Protocol's argument
        """A sample of q."""
        return q.draw(self._uniform())

    def propose_several(self, q: Distribution, position: int, count: int) -> list[Guess]:  # noqa: ARG002 - likewise
        """Samples of q without replacement, each with what was left of q when it was drawn."""
        guesses: list[Guess] = []
        for _ in range(count):
            if guesses:
                mass, q = excess(q, None, guesses[-1].token, 1.0)
                if mass == 0:
                    break
            guesses.append(Guess(q.draw(self._uniform()), q))
        return guesses
