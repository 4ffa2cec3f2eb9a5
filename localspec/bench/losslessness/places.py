"""One place of real text: what the models say there, and which guesses are made."""

from __future__ import annotations

from dataclasses import dataclass

from localspec.decoding.distributions import Certain, Distribution


@dataclass(frozen=True, slots=True)
class Place:
    """What the models say at one place, and what is guessed there.

    Attributes:
        p: the target's distribution.
        q: the draft's; None where there is no draft model.
        cut: see `findings.Position`.
        guesses: those for this place, in the order in which they are tried: a token that was looked up, or None for one
            that is drawn from q, or from what those before it left of q. One or more.
    """

    p: Distribution
    q: Distribution | None
    cut: bool
    guesses: tuple[int | None, ...] = (None,)

    @property
    def first(self) -> Distribution:
        """What the first guess is drawn from; certain where it is looked up."""
        token = self.guesses[0]
        if token is not None:
            return Certain(token)
        assert self.q is not None
        return self.q
