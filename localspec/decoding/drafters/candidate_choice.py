"""Which tokens of the candidates' tree are worth verifying."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from localspec.decoding.drafters.ngram_pool import Candidate
from localspec.decoding.tree_shape import best_count


class Choice(NamedTuple):
    """What to verify.

    Attributes:
        indices: into the tree, in its order.
        value: tokens expected of them, less what the whole pass takes.
    """

    indices: tuple[int, ...]
    value: float


def survivals(tree: Sequence[Candidate], acceptance: Callable[[int], float]) -> list[float]:
    """The chance that each token is kept.

    That is: the one it follows is kept, those tried before it at the same place are not, and it is.

    Args:
        tree: see `candidate_tree`.
        acceptance: by level, the chance that a token is kept when it is tried.
    """
    found: list[float] = []
    reached: dict[int, float] = {-1: 1.0}
    for i, (_, parent, level, _) in enumerate(tree):
        kept = reached[parent] * acceptance(level)
        found.append(kept)
        reached[parent] -= kept
        reached[i] = kept
    return found


def choose(survival: Sequence[float], pass_costs: Sequence[float], room: int) -> Choice:
    """The tokens whose expected number exceeds their cost by most (see `tree_shape`).

    Args:
        survival: of each token of the tree (see `survivals`).
        pass_costs: what a pass takes with 0, 1, ... of them, in tokens: not empty.
        room: most of them.
    """
    # No token is likelier to be kept than the one it follows, and sorting keeps the order of equals.
    best_first = sorted(range(len(survival)), key=lambda i: -survival[i])
    gains = [survival[i] for i in best_first]
    count = best_count(gains, [-cost for cost in pass_costs[: room + 1]])
    return Choice(tuple(sorted(best_first[:count])), sum(gains[:count]) - pass_costs[count])
