"""What the papers predict: expected tokens, speed-up, arithmetic, the memory bound; and the best there is in hindsight.

Leviathan: Leviathan, Kalman, Matias 2023, "Fast inference from transformers via speculative decoding"
(arXiv 2211.17192); its alpha is `acceptance` here, its gamma `drafted`, its c the cost of a draft step in passes.
Roofline: Williams, Waterman, Patterson 2009, "Roofline: an insightful visual performance model".
All times are in seconds. `pass_seconds[n - 1]` is T(n), one target pass over n tokens, as measured on this machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localspec.decoding.draft_length import LONGEST_DRAFT

# How tokens, speed and arithmetic follow from the acceptance.


def expected_tokens(acceptance: float, drafted: int) -> float:
    """Tokens a round emits on average: (1 - a^(k+1)) / (1 - a) (Leviathan, equation 1).

    Args:
        acceptance: chance that a guess is kept, given that those before it were; independent of the place.
        drafted: guesses a round, 0 or more.

    Raises:
        ValueError: the acceptance is not a probability, or the length is negative.
    """
    if not 0 <= acceptance <= 1 or drafted < 0:
        raise ValueError(f"no acceptance {acceptance} of {drafted} guesses is possible")
    # The geometric series, summed: exact also at an acceptance of 1, where the fraction is 0 / 0.
    return math.fsum(acceptance**i for i in range(drafted + 1))


def speed_up(acceptance: float, drafted: int, draft_cost: float) -> float:
    """Speed over none, if a pass costs the same at any width: E / (k c + 1) (Leviathan, Theorem 3.8).

    Args:
        acceptance: as in `expected_tokens`.
        drafted: as in `expected_tokens`.
        draft_cost: seconds of a draft step over seconds of a target pass.
    """
    return expected_tokens(acceptance, drafted) / (drafted * draft_cost + 1)


def round_seconds(drafted: int, pass_seconds: Sequence[float], draft_step: float) -> float:
    """Seconds of a round of `drafted` guesses: k c + T(k + 1).

    Raises:
        ValueError: no pass so wide was measured.
    """
    if drafted + 1 > len(pass_seconds):
        raise ValueError(f"a pass over {drafted + 1} tokens was not measured, only up to {len(pass_seconds)}")
    return drafted * draft_step + pass_seconds[drafted]


def measured_speed_up(acceptance: float, drafted: int, pass_seconds: Sequence[float], draft_step: float) -> float:
    """Speed over none with measured costs: E T(1) / (k c + T(k + 1)).

    Leviathan's Theorem 3.8 without its assumption that a wider pass costs no more.
    """
    seconds = round_seconds(drafted, pass_seconds, draft_step)
    return expected_tokens(acceptance, drafted) * pass_seconds[0] / seconds


def arithmetic_increase(acceptance: float, drafted: int, draft_arithmetic: float = 0.0) -> float:
    """Operations per token over those without speculation: (k c' + k + 1) / E (Leviathan, Theorem 3.11).

    Args:
        acceptance: as in `expected_tokens`.
        drafted: as in `expected_tokens`.
        draft_arithmetic: operations of a draft step over those of the target for one token.
    """
    return (drafted * draft_arithmetic + drafted + 1) / expected_tokens(acceptance, drafted)


@dataclass(frozen=True, slots=True)
class BestLength:
    """The draft length that pays most; `speed_up` is 1 and `drafted` 0 when none pays."""

    drafted: int
    speed_up: float


def best_draft_length(acceptance: float, pass_seconds: Sequence[float], draft_step: float) -> BestLength:
    """The fixed length of greatest `measured_speed_up` among those whose passes were measured, the shortest of equals.

    Leviathan, section 3.5, with a measured cost curve: it need not be smooth, so every length is tried.
    """
    lengths = range(min(len(pass_seconds), LONGEST_DRAFT + 1))
    gains = [measured_speed_up(acceptance, drafted, pass_seconds, draft_step) for drafted in lengths]
    best = max(lengths, key=gains.__getitem__)
    return BestLength(best, gains[best])


# Two distributions at one position.


def overlap(p: ArrayLike, q: ArrayLike) -> float:
    """The chance that a token drawn from q is kept: sum of min(p, q) (Leviathan, Theorem 3.5 and Corollary 3.6)."""
    return float(np.minimum(p, q).sum())


def total_variation(p: ArrayLike, q: ArrayLike) -> float:
    """How far apart they are: sum of |p - q| / 2 = 1 - `overlap` (Leviathan, Definition 3.2 and Lemma 3.3)."""
    return float(np.abs(np.subtract(p, q)).sum() / 2)


def residual(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """What a correction is drawn from: max(0, p - q), normalised (Leviathan, Algorithm 1).

    Raises:
        ValueError: p equals q, so that nothing is ever rejected.
    """
    excess = np.maximum(np.subtract(p, q, dtype=np.float64), 0.0)
    if not excess.any():
        raise ValueError("p equals q: there is nothing to correct")
    return np.asarray(excess / excess.sum())


# What memory allows.


def seconds_per_token_bound(bytes_per_token: float, bandwidth: float) -> float:
    """The least seconds for one token, when all it needs is read once (Roofline, section 3): bytes / bandwidth."""
    return bytes_per_token / bandwidth


def tokens_per_second_bound(bytes_per_token: float, bandwidth: float) -> float:
    """The most tokens a second without speculation: the inverse of `seconds_per_token_bound`."""
    return bandwidth / bytes_per_token


def arithmetic_intensity(operations: float, bytes_read: float) -> float:
    """Operations for each byte read (Roofline, section 3: operational intensity)."""
    return operations / bytes_read


def ridge_point(operations_per_second: float, bandwidth: float) -> float:
    """The intensity from which on arithmetic, not memory, is the limit (Roofline, section 3)."""
    return operations_per_second / bandwidth


def kv_bytes_per_token(layers: int, kv_heads: int, head_length: int, element_bytes: float = 2) -> float:
    """Bytes a token of context adds to every later pass: a key and a value in each layer.

    Shazeer 2019, "Fast transformer decoding" (arXiv 1911.02150), section 2.4, with heads that share keys and values
    (Ainslie 2023, arXiv 2305.13245).
    """
    return 2 * layers * kv_heads * head_length * element_bytes


# The best in hindsight.


def accepted_runs(agrees: Sequence[bool]) -> tuple[int, ...]:
    """For each position of a finished text, how many guesses in a row would have been kept from there on.

    Args:
        agrees: agrees[i]: the draft, given the text before position i, would have guessed the token at i. For greedy
            decoding that is all one needs to know: kept guesses are the text, so the next guess follows the text too.
    """
    runs = [0] * len(agrees)
    following = 0
    for i in reversed(range(len(agrees))):
        following = following + 1 if agrees[i] else 0
        runs[i] = following
    return tuple(runs)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Draft lengths, round after round, and the seconds they take together."""

    lengths: tuple[int, ...]
    seconds: float


def clairvoyant(
    accepted: Sequence[int], pass_seconds: Sequence[float], draft_step: float, longest: int = LONGEST_DRAFT
) -> Schedule:
    """The cheapest sequence of draft lengths for a text that is already known: no rule can write it faster.

    Dynamic programming from the end of the text: from position i a draft of k tokens costs k c + T(k + 1) and reaches
    i + min(k, accepted[i]) + 1. As in the loop, a draft is never so long that it could overshoot the end.

    Args:
        accepted: for each position of the text, how many guesses in a row would have been kept from there on.
        pass_seconds: T(1), T(2), ...
        draft_step: seconds of one draft step.
        longest: the longest draft allowed.
    """
    text = len(accepted)
    seconds = [0.0] * (text + 1)
    choices = [0] * text
    for i in reversed(range(text)):
        most = min(longest, len(pass_seconds) - 1, text - i - 1)
        costs = [
            round_seconds(drafted, pass_seconds, draft_step) + seconds[i + min(drafted, accepted[i]) + 1]
            for drafted in range(most + 1)
        ]
        choices[i] = min(range(most + 1), key=costs.__getitem__)
        seconds[i] = costs[choices[i]]
    lengths = []
    at = 0
    while at < text:
        lengths.append(choices[at])
        at += min(choices[at], accepted[at]) + 1
    return Schedule(tuple(lengths), seconds[0])
