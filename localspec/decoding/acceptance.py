"""Which drafted tokens to keep, and what to write after them.

Notation of Leviathan 2023 and Chen 2023: p is the target's distribution at a position after the person's sampling
settings, q the one the draft token was really drawn from. A rule is exact ("lossless") when the emitted tokens are
distributed as p, whatever q is.
"""

from __future__ import annotations

import random

import numpy as np

from localspec.decoding.block_verification import Block
from localspec.decoding.coupling import shared_choice
from localspec.decoding.distributions import Certain, Distribution, residual
from localspec.decoding.rounds import Draft
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.verdict import AcceptanceRule, SamplesGuesses, Target, Verdict

__all__ = [
    "ACCEPTANCE_RULES",
    "AcceptanceRule",
    "Block",
    "Coupled",
    "Greedy",
    "Rejection",
    "Target",
    "Typical",
    "Verdict",
    "entropy",
    "rule_for",
]


class Greedy:
    """Keep the guesses that are the target's likeliest token (Stern 2018). Exact at temperature 0."""

    name = "greedy"
    lossless = True
    may_leave_out = True

    def propose(self, q: Distribution, position: int) -> int:  # noqa: ARG002 - the Protocol's argument
        """The draft's likeliest token."""
        return q.likeliest()

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:  # noqa: ARG002 - as above
        """Accept while the guess is argmax p; the correction is argmax p."""
        for i, token in enumerate(draft.tokens):
            own = target(i).likeliest()
            if own != token:
                return Verdict(i, own)
        return Verdict(len(draft.tokens), target(len(draft.tokens)).likeliest())


class Rejection(SamplesGuesses):
    """Speculative sampling (Leviathan 2023, Algorithm 1; Chen 2023, Algorithm 2). Exact at every temperature.

    Accept x with probability min(1, p(x) / q(x)); after a rejection draw from max(0, p - q), normalised.
    P(accept) = sum over v of min(p(v), q(v)).

    Args:
        seed: start of the random draws; every one is used once.
    """

    name = "rejection"
    lossless = True
    may_leave_out = False

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:  # noqa: ARG002 - as above
        """Accept token by token; the first rejection is corrected from the residual."""
        for i, (token, q) in enumerate(zip(draft.tokens, draft.distributions, strict=True)):
            p = target(i)
            q_of_token = 1.0 if q is None else q.probability(token)
            if self._uniform() * q_of_token >= p.probability(token):
                return Verdict(i, residual(p, q, token).draw(self._uniform()))
        return Verdict(len(draft.tokens), target(len(draft.tokens)).draw(self._uniform()))


class Coupled:
    """Draft and target draw with the same noise (Daliri 2024). Exact, and the text depends on the seed alone.

    The target's choice y at a position is the argmax over v of log p(v) + g(seed, position, v), g Gumbel noise; a guess
    is kept when it equals y. So speculation on and off, and any two drafts, give the same text at any temperature.

    Args:
        seed: start of the noise.
    """

    name = "coupled"
    lossless = True
    may_leave_out = True

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def propose(self, q: Distribution, position: int) -> int:
        """What the draft would choose under the noise that the target will see."""
        return shared_choice(q, self._seed, position)

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:
        """Accept while the guess is the target's own choice; the correction is that choice."""
        for i, token in enumerate(draft.tokens):
            own = shared_choice(target(i), self._seed, position + i)
            if own != token:
                return Verdict(i, own)
        drafted = len(draft.tokens)
        return Verdict(drafted, shared_choice(target(drafted), self._seed, position + drafted))


class Typical(SamplesGuesses):
    """Keep whatever the target finds likely enough (Medusa, arXiv 2401.10774, section 3.3.1). NOT lossless.

    Accept x when p(x) > min(epsilon, delta * exp(-H(p))), H the entropy in nats; after a rejection draw from p.

    Args:
        seed: start of the random draws.
        epsilon: a probability that always suffices.
        delta: how much of exp(-H(p)) suffices; a flat p asks for less.
    """

    name = "typical"
    lossless = False
    may_leave_out = False

    def __init__(self, seed: int, epsilon: float = 0.09, delta: float = 0.3) -> None:
        super().__init__(seed)
        self._epsilon = epsilon
        self._delta = delta

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:  # noqa: ARG002 - as above
        """Accept while the guess is typical of p."""
        for i, token in enumerate(draft.tokens):
            p = target(i)
            if p.probability(token) <= min(self._epsilon, self._delta * np.exp(-entropy(p))):
                return Verdict(i, p.draw(self._uniform()))
        return Verdict(len(draft.tokens), target(len(draft.tokens)).draw(self._uniform()))


def entropy(distribution: Distribution) -> float:
    """Shannon entropy in nats."""
    if isinstance(distribution, Certain):
        return 0.0
    _, probabilities = distribution.support()
    return float(-(probabilities * np.log(probabilities)).sum())


ACCEPTANCE_RULES = ("auto", "greedy", "rejection", "block", "coupled", "typical")
"""The names `rule_for` knows."""


def rule_for(name: str, sampling: SamplingSettings) -> AcceptanceRule:
    """The rule of that name for these settings.

    At temperature 0 p is certain and every rule comes to the same, so greedy is returned. Above it "auto" is block:
    exact as rejection is, and on average it never keeps fewer guesses.

    Args:
        name: one of ACCEPTANCE_RULES.
        sampling: its temperature and seed are used; a seed of None draws one.

    Raises:
        ValueError: an unknown name, or greedy above temperature 0.
    """
    if name not in ACCEPTANCE_RULES:
        raise ValueError(f"the acceptance rule must be one of {', '.join(ACCEPTANCE_RULES)}, not {name!r}")
    if sampling.temperature == 0:
        return Greedy()
    seed = random.SystemRandom().getrandbits(64) if sampling.seed is None else sampling.seed
    if name == "greedy":
        raise ValueError(f"greedy acceptance needs temperature 0, not {sampling.temperature}; above it use block")
    if name == "coupled":
        return Coupled(seed)
    if name == "rejection":
        return Rejection(seed)
    return Typical(seed) if name == "typical" else Block(seed)
