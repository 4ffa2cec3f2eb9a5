"""What an acceptance rule is given and what it decides."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from localspec.decoding.distributions import Distribution
from localspec.decoding.rounds import Draft

Target = Callable[[int], Distribution]
"""Target(i) is p after the text and the first i drafted tokens, 0 <= i <= n; computed only when asked for."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`accepted` drafted tokens are kept, then `token`, the target's own, follows: a correction or the bonus."""

    accepted: int
    token: int


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
