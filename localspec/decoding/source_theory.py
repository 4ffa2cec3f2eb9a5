"""How many times as fast as without speculation each source should be, by the costs of passes and what was learned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.drafter_names import BRANCHING, LOOKED_UP
from localspec.decoding.pass_costs import WIDEST, PassCosts
from localspec.decoding.source_speeds import SourceSpeeds

_USUAL_FIRST = ("hybrid", "ngram", "lookahead", "tree", "cascade")
"""The sources to choose from. The draft model alone has nothing that hybrid has not."""

_WIDE = 16
"""Tokens of a pass that holds a window of lookahead decoding, or a tree."""

_LOOKAHEAD_TOKENS = 1.5
"""Tokens a pass that lookahead decoding comes to: 1.57 to 1.78 on three prompts to SmolLM2 135M, which repeats itself
more than larger models do."""

_SECOND_GUESSES = 0.4
"""Of the places where the likeliest guess is wrong, those where the second likeliest is right: 0.45 at temperature 0,
0.40 at 0.8, with Qwen2.5-Coder 0.5B Q4_0 for 1.5B Q8_0 on 32 prompts."""


def candidates(drafters: Iterable[str], *, chains_only: bool) -> list[str]:
    """Which of the drafters that are here to choose among, the usual one first.

    Args:
        drafters: by name.
        chains_only: whether no draft may be a tree.
    """
    here = set(drafters)
    # Where hybrid is, it looks up as well.
    left_out = {"ngram"} if "hybrid" in here else set()
    left_out |= {"tree"} if chains_only else set()
    return [source for source in _USUAL_FIRST if source in here - left_out]


def promising(theories: Mapping[str, float], speeds: SourceSpeeds) -> dict[str, float]:
    """Those of the sources that are worth a choice, the usual one first, with their figures.

    The usual one makes the guesses of the draft model and those of the text, token by token. Another one must promise
    more than that, by theory or by what it showed here when it was named: to try one that does neither costs more than
    it finds. With the window of lookahead decoding, trees and cascades all as fast as hybrid by theory, or slower,
    trying them on two cores made answers 0.92 times as fast as hybrid alone, a rewriting 0.7 times.

    Args:
        theories: see `theory`; the usual one first.
        speeds: what is known of them.
    """
    usual, figure = next(iter(theories.items()))

    def surely_faster(source: str, each: float) -> bool:
        doubt = speeds.doubt((source, each), (usual, figure), of_text=False)
        return speeds.expected(source, each) * math.exp(-doubt) > speeds.expected(usual, figure)

    return {
        source: each
        for source, each in theories.items()
        if source == usual or each > figure or surely_faster(source, each)
    }


def theory(source: str, length: AdaptiveLength) -> float:
    """The figure of one source; 1 or more, as each guesses nothing where nothing pays."""
    costs = length.costs
    if source in LOOKED_UP:
        return max(1.0, _LOOKAHEAD_TOKENS / _times(costs, _WIDE)) if source in BRANCHING else 1.0
    outlook = length.outlook()
    if source != "tree":
        return outlook.speed_up
    kept = outlook.acceptance + (1 - outlook.acceptance) * _SECOND_GUESSES
    return max(outlook.speed_up, *(_tree(kept, depth, costs) for depth in range(1, (WIDEST - 1) // 2 + 1)))


def _tree(kept: float, depth: int, costs: PassCosts) -> float:
    """Two guesses for each of `depth` places, one of the two being kept so often."""
    tokens = sum(kept**i for i in range(depth + 1))
    step = costs.draft(1)
    return 0.0 if step == math.inf else tokens / (depth * step / costs.target(1) + _times(costs, 2 * depth + 1))


def _times(costs: PassCosts, width: int) -> float:
    return costs.target(width) / costs.target(1)
