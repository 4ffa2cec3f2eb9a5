"""Block verification: a draft is kept or cut as a whole, not guess by guess (Sun et al. 2025, arXiv 2403.10444).

Token by token, a guess that the target likes better than the draft did is accepted for certain, and what it had to
spare is lost. Here it is carried on, and makes up for a later guess that the target likes less.
"""

from __future__ import annotations

from localspec.decoding.distributions import Distribution, excess
from localspec.decoding.rounds import Draft
from localspec.decoding.verdict import SamplesGuesses, Target, Verdict

LEAST_SHARE = 2.0**-53
"""A share below it is as good as 0: no random number but 0 itself is below it."""


class Block(SamplesGuesses):
    """Keep the longest part of the draft that passes (Sun 2025, Algorithm 2). Exact at every temperature.

    For guesses x_1..x_n, p_i and q_i being the distributions after i of them, the share of x_1..x_i is

        s_0 = 1,   s_i = min(1, s_(i-1) p_(i-1)(x_i) / q_(i-1)(x_i)),

    and R_i = sum over v of max(0, s_i p_i(v) - q_i(v)). Part i passes with probability

        h_n = s_n,   h_i = R_i / (R_i + 1 - s_i) for i < n,

    each with a random number of its own. The longest part that passes is kept, after it max(0, s_i p_i - q_i),
    normalised, gives the next token, or p_n after the whole draft. With one guess this is `Rejection`; never are fewer
    tokens kept in expectation than by it, and no other rule that knows only these p and q keeps more.

    A draft may end where it likes, as long as the token it leaves out was not looked at. Ending after x_1..x_k is the
    same as guessing, for certain, a token that the target never writes: then q_k is 0 wherever p_k is not, R_k = s_k,
    h_k = s_k / (s_k + 1 - s_k) = s_k, what follows is drawn from p_k, and no longer part passes, as its share is 0. So
    every such draft is one of the full length, of which the paper proves that it is exact. Leaving out a token because
    of what it is would be no such draft: hence not `may_leave_out`.

    Whether a round goes on behind a token depends on the guesses that follow it. So a token is no sample of p once it
    is known that the round came further. Given those before it, and that the round came to its place, it is: where the
    round ended before, the next one draws it from the same p, and together they have p by the place in the text.

    Args:
        seed: start of the random draws; every one is used once.
    """

    name = "block"
    lossless = True
    may_leave_out = False

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:  # noqa: ARG002 - as above
        """Ask for p along the draft, then look for the longest part that passes, from the end.

        Raises:
            ValueError: the draft is a tree.
        """
        if draft.parents:
            raise ValueError("block verification judges one chain of guesses, not a tree")
        drafted = len(draft.tokens)
        shares = [1.0]
        # min(s_i p_i(x), q_i(x)) of the guess x that follows: so much of s_i is surely not in R_i.
        taken: list[float] = []
        ps: list[Distribution] = []
        for i, (token, q) in enumerate(zip(draft.tokens, draft.distributions, strict=True)):
            ps.append(target(i))
            of_q = 1.0 if q is None else q.probability(token)
            of_p = shares[i] * ps[i].probability(token)
            taken.append(min(of_p, of_q))
            if of_p < LEAST_SHARE * of_q or of_p == 0:
                break
            shares.append(1.0 if of_p >= of_q else of_p / of_q)
        kept = len(shares) - 1
        if kept == drafted:
            if self._uniform() < shares[kept]:
                return Verdict(tuple(range(drafted)), target(drafted).draw(self._uniform()))
            kept -= 1
        while True:
            share, u = shares[kept], self._uniform()
            # Walking a vocabulary to find R_i is the dear part; most parts fail already at the most it can be.
            if kept == 0 or passes(u, share - taken[kept], share):
                mass, left = excess(ps[kept], draft.distributions[kept], draft.tokens[kept], share)
                if kept == 0 or passes(u, mass, share):
                    return Verdict(tuple(range(kept)), left.draw(self._uniform()))
            kept -= 1


def passes(u: float, mass: float, share: float) -> bool:
    """Whether u < R / (R + 1 - s), R being `mass` and s `share`."""
    return u * (mass + 1 - share) < mass
