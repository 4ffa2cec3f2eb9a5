"""Which drafted tokens to keep, and what to write after them.

Notation of Leviathan 2023 and Chen 2023: p is the target's distribution at a position after the person's sampling
settings, q the one the draft token was really drawn from. A rule is exact ("lossless") when the emitted tokens are
distributed as p, whatever q is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from localspec.decoding.block_verification import Block
from localspec.decoding.coupling import shared_choice, shared_choices
from localspec.decoding.distributions import Certain, Distribution, likeliest, residual
from localspec.decoding.rules import ACCEPTANCE_RULES, automatic_rule, contradiction
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.verdict import (
    AcceptanceRule,
    BranchingRule,
    Guess,
    Judgement,
    SamplesGuesses,
    Target,
    TokenByToken,
    Verdict,
)

__all__ = [
    "AcceptanceRule",
    "Block",
    "BranchingRule",
    "Coupled",
    "Greedy",
    "Guess",
    "Judgement",
    "Rejection",
    "Target",
    "Typical",
    "Verdict",
    "entropy",
    "rule_for",
]


class Greedy(TokenByToken):
    """Keep the guesses that are the target's likeliest token (Stern 2018). Exact at temperature 0."""

    name = "greedy"
    lossless = True
    may_leave_out = True

    def propose(self, q: Distribution, position: int) -> int:  # noqa: ARG002 - the Protocol's argument
        """The draft's likeliest token."""
        return q.likeliest()

    def propose_several(self, q: Distribution, position: int, count: int) -> list[Guess]:  # noqa: ARG002 - likewise
        """The draft's likeliest tokens."""
        return [Guess(token, q) for token in likeliest(q, count)]

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:  # noqa: ARG002 - likewise
        """Accept the guess that is argmax p; else argmax p is written."""
        return _chosen(guesses, p.likeliest())


class Rejection(SamplesGuesses, TokenByToken):
    """Speculative sampling (Leviathan 2023, Algorithm 1; Chen 2023, Algorithm 2). Exact at every temperature.

    Accept x with probability min(1, p(x) / q(x)); after a rejection max(0, p - q), normalised, takes p's place, for the
    next guess at the same place (multi-round rejection: SpecInfer, arXiv 2305.09781, section 4.3), or to draw from.
    P(accept) = sum over v of min(p(v), q(v)).

    Args:
        seed: start of the random draws; every one is used once.
    """

    name = "rejection"
    lossless = True
    may_leave_out = False

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:  # noqa: ARG002 - as above
        """Accept the first guess that passes; else draw from what is left of p."""
        for i, (token, q) in enumerate(guesses):
            q_of_token = 1.0 if q is None else q.probability(token)
            if self._uniform() * q_of_token < p.probability(token):
                return Judgement(i, token)
            p = residual(p, q, token)
        return Judgement(None, p.draw(self._uniform()))


class Coupled(TokenByToken):
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

    def propose_several(self, q: Distribution, position: int, count: int) -> list[Guess]:
        """The draft's first choices under that noise."""
        return [Guess(token, q) for token in shared_choices(q, self._seed, position, count)]

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        """Accept the guess that is the target's own choice; else that choice is written."""
        return _chosen(guesses, shared_choice(p, self._seed, position))


class Typical(SamplesGuesses, TokenByToken):
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

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:  # noqa: ARG002 - as above
        """Accept the first guess that is typical of p."""
        if guesses:
            enough = min(self._epsilon, self._delta * np.exp(-entropy(p)))
            for i, (token, _) in enumerate(guesses):
                if p.probability(token) > enough:
                    return Judgement(i, token)
        return Judgement(None, p.draw(self._uniform()))


def _chosen(guesses: Sequence[Guess], own: int) -> Judgement:
    """The judgement of a rule under which the target writes `own`, whatever was guessed."""
    return Judgement(next((i for i, guess in enumerate(guesses) if guess.token == own), None), own)


def entropy(distribution: Distribution) -> float:
    """Shannon entropy in nats."""
    if isinstance(distribution, Certain):
        return 0.0
    _, probabilities = distribution.support()
    return float(-(probabilities * np.log(probabilities)).sum())


def rule_for(name: str, sampling: SamplingSettings, drafter: str = "none") -> AcceptanceRule:
    """The rule of that name for these settings.

    At temperature 0 p is certain and every rule comes to the same, so greedy is returned. For "auto" see
    `automatic_rule`.

    Args:
        name: one of ACCEPTANCE_RULES.
        sampling: its temperature and seed are used; a seed of None draws one.
        drafter: whose guesses it is to judge.

    Raises:
        ValueError: an unknown name, or a rule that cannot judge them.
    """
    if name not in ACCEPTANCE_RULES:
        raise ValueError(f"the acceptance rule must be one of {', '.join(ACCEPTANCE_RULES)}, not {name!r}")
    if sampling.temperature == 0:
        return Greedy()
    if wrong := contradiction(name, drafter, sampling.temperature):
        raise ValueError(f"{wrong.title[:1].lower()}{wrong.title[1:]}. {wrong.why.removesuffix('.')}")
    seed = random.SystemRandom().getrandbits(64) if sampling.seed is None else sampling.seed
    name = automatic_rule(drafter, sampling.temperature) if name == "auto" else name
    rules: dict[str, Callable[[int], AcceptanceRule]] = {
        "coupled": Coupled,
        "rejection": Rejection,
        "typical": Typical,
        "block": Block,
    }
    return rules[name](seed)
