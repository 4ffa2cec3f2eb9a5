"""Where two texts of one model part, and whether rounding is the reason.

The width of a pass changes the rounding of its logits, so a text is never promised to the byte: where two candidates
are as good as equal, either may win. What is promised is that nothing else makes a difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from localspec.decoding.coupling import exponentials, hashed, shared_choice
from localspec.decoding.language_model import BranchingModel, LanguageModel, Logits, keep_common_prefix
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import Round, never
from localspec.decoding.sampling import to_distribution
from localspec.decoding.sampling_settings import SamplingSettings

NEAR_TIE = 0.5
"""Logits. Passes of different width were seen to differ by up to 0.64 in one logit at width 43; a draft is narrower."""

MOST_ROUNDING = 1.0
"""Logits. A pass whose width changes a logit by more computes something else, and that is not called rounding."""


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Index of the first token that differs, or that only one has; None when the texts are equal."""
    shorter = min(len(one), len(other))
    place = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    return None if place == len(one) == len(other) else place


def row_after(target: LanguageModel, text: Sequence[int]) -> Logits:
    """The logits after `text`, from a pass of one token."""
    catch_up(target, text)
    row: Logits = target.evaluate(text[-1:])[0].copy()
    return row


def row_in_pass(target: LanguageModel, text: Sequence[int], finished: Round, kept: int) -> Logits:
    """The logits after `text` and the first `kept` tokens of a round's path, from a pass like the one of that round.

    The tokens stand in it as they stood: chain or tree, and as many that rode along. Which ones those were is not known
    any more, and makes no difference: no guess attends to them.
    """
    catch_up(target, text)
    tokens = (text[-1], *finished.drafted, *[text[-1]] * finished.lookahead)
    guess = finished.path[kept - 1] + 1 if kept else 0
    if not finished.parents and not finished.lookahead:
        row: Logits = target.evaluate(tokens)[guess].copy()
        return row
    assert isinstance(target, BranchingModel)  # else there was no such round
    guesses = len(finished.drafted)
    parents = [-1, *(parent + 1 for parent in finished.parents or range(-1, guesses - 1))]
    parents += [0, *range(guesses + 1, len(tokens) - 1)][: finished.lookahead]
    length = target.length
    row = target.evaluate_tree(tokens, parents)[guess].copy()
    target.truncate(length)
    return row


def catch_up(target: LanguageModel, text: Sequence[int]) -> None:
    """Have the cache hold this text but its last token."""
    keep_common_prefix(target, text)
    for _ in prefill(target, text[:-1], never):
        pass


def choice_of(row: Logits, text: Sequence[int], sampling: SamplingSettings) -> int:
    """What greedy decoding, or the coupled rule above temperature 0, writes after `text` from these logits."""
    p = to_distribution(row, sampling, sampling.window(text))
    return shared_choice(p, sampling.seed or 0, len(text))


def gap_between(target: LanguageModel, text: Sequence[int], a: int, b: int, sampling: SamplingSettings) -> float:
    """By how much the logits of `a` and `b` after `text` would have to change for the other one to be chosen."""
    return gap_in(row_after(target, text), text, a, b, sampling)


def gap_in(row: Logits, text: Sequence[int], a: int, b: int, sampling: SamplingSettings) -> float:
    """As `gap_between`, from the logits; infinite when the settings cut one of the two off."""
    if sampling.temperature == 0:
        return float(abs(row[a] - row[b]))
    p = to_distribution(row, sampling, sampling.window(text))
    if not (p.probability(a) and p.probability(b)):
        return math.inf
    noise = exponentials(hashed(np.array([a, b], np.uint32), sampling.seed or 0, len(text)))
    finishes = noise / np.array([p.probability(a), p.probability(b)])
    return float(sampling.temperature * abs(np.log(finishes[0] / finishes[1])))


def top_two_gap(row: Logits) -> float:
    """How far the likeliest token is ahead of the next, in logits."""
    second, first = np.partition(row, row.size - 2)[-2:]
    return float(first - second)
