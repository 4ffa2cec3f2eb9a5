# ruff: noqa: ARG002 # plans, lengths and lookups have arguments that these do not need
"""Trees of any shape that is asked for, and the exact law of what a round over them emits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from localspec.decoding.acceptance import Rejection
from localspec.decoding.draft_length import STOP, Choice, FixedLength, Offers
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.drafting import Found
from localspec.decoding.drafters.tree import TreeDrafter
from localspec.decoding.loop import speculate
from localspec.decoding.rounds import Prediction, Round, Turn
from localspec.decoding.tree_plan import Reach
from tests.decoding.outcomes import Explorer, outcomes
from tests.decoding.scenarios import CLOSE, ExactTarget, Scenario
from tests.decoding.table_model import Table, TableModel


@dataclass(frozen=True, slots=True)
class Shape:
    """A tree: a spine, guesses beside it that the model goes on from, one a pass, and what is added in the end.

    Attributes:
        spine: guesses of the model on the spine.
        beside: guesses that it goes on from.
        leaves: guesses added in the end.
        looked_up: tokens taken from the lookup before the model's.
        trust: the chance that a looked-up token is kept; of a sibling of the model's it is 0.4.
    """

    spine: int = 2
    beside: int = 1
    leaves: int = 1
    looked_up: int = 0
    trust: float = 0.5


class ShapedPlan:
    """A `TreePlan` that makes a tree of a shape, whatever it is worth."""

    predictions: tuple[Prediction, ...] = ()
    predicts = False

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._steps = 0
        self._looked_up = 0
        self._grown = 0
        self._read: int | None = None

    def choose(self, offers: Offers) -> Choice:
        left = min(self._shape.looked_up - self._looked_up, len(offers.looked_up))
        if left > 0:
            return Choice(looked_up=left)
        return Choice(step=True) if self._steps < self._shape.spine and offers.unread else STOP

    def keeps(self, greatest: float) -> bool:
        return True

    def drawn(self, greatest: float, *, likeliest: bool) -> None:
        self._steps += 1

    def looked_up(self, levels: Sequence[int]) -> None:
        self._looked_up += len(levels)

    def verified(self) -> int:
        return self._steps

    def expected(self, greatest: float) -> float:
        return 0.9

    def predicted(self, source: str, level: int, rank: int) -> Prediction:
        return Prediction(level, self._shape.trust if source == "ngram" else 0.4 if rank else 0.7, rank)

    def may_add(self, survival: float) -> bool:
        return True

    def reads(self, reaches: Sequence[Reach], unread: int) -> int:
        return min(len(reaches), self._shape.beside - self._grown, 1)

    def adds(self, survivals: Sequence[float]) -> int:
        if self._read is None:
            self._read = self._grown
        return min(len(survivals), self._shape.leaves - (self._grown - self._read))

    def grew(self, survival: float) -> None:
        self._grown += 1

    def stays(self, survivals: Sequence[float]) -> int:
        return len(survivals)


@dataclass(frozen=True, slots=True)
class Shaped(FixedLength):
    """A `DraftLength` of one shape of tree."""

    tokens: int = 31
    shape: Shape = field(default_factory=Shape)

    def tree_plan(self, room: int, *, leaves_out: bool) -> ShapedPlan:
        return ShapedPlan(self.shape)


class Continues:
    """A lookup that always finds the same tokens.

    Args:
        tokens: what it finds.
    """

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tokens

    def prepare(self, text: Sequence[int]) -> None:
        """Nothing to hold."""

    def find(self, text: Sequence[int], drafted: Sequence[int], limit: int) -> Found:
        tokens = self._tokens[:limit]
        return Found(tokens, [5] * len(tokens))

    def agree(self, length: int) -> None:
        """Nothing to forget."""


@dataclass(frozen=True, slots=True)
class Tree(Scenario):
    """Drafts trees of one shape, from the model of this table and what a lookup finds.

    Attributes:
        finds: what the lookup finds, wherever it is asked.
        shape: of the trees.
    """

    table: Table = field(default_factory=lambda: CLOSE)
    finds: tuple[int, ...] = ()
    shape: Shape = field(default_factory=Shape)

    def length(self) -> Shaped:
        return Shaped(shape=self.shape)

    def drafter(self) -> Drafter:
        return TreeDrafter(TableModel(self.table), self.target.shape[-1], Continues(self.finds))


RunRule = Callable[[], Rejection]
Change = Callable[[Drafter], Drafter]


def _as_it_is(drafter: Drafter) -> Drafter:
    return drafter


def rounds_that_can_be(
    scenario: Scenario, rule_maker: RunRule = lambda: Rejection(0), change: Change = _as_it_is
) -> list[tuple[Round, float]]:
    """Every first round of the scenario's answer, with its exact probability."""

    def run(explorer: Explorer) -> Round:
        target, drafter, rule = TableModel(scenario.target), change(scenario.drafter()), rule_maker()
        rule._uniform = explorer.uniform  # type: ignore[assignment] # a number in the making
        target.evaluate(scenario.prompt[:-1], rows=0)
        drafter.prepare(scenario.prompt, lambda: False)
        turn = Turn(scenario.sampling, rule, scenario.length(), max_tokens=scenario.answer)
        return next(speculate(target, drafter, scenario.prompt, turn))

    return list(outcomes(run))


def greatest_deviation(scenario: Scenario, rounds: Sequence[tuple[Round, float]]) -> float:
    """How far the law of any token of a round, given those before it, is from the target's own."""
    exact = ExactTarget(scenario.target, replace(scenario.sampling, seed=None))
    laws: dict[tuple[int, ...], NDArray[np.float64]] = defaultdict(lambda: np.zeros(scenario.target.shape[-1]))
    for finished, probability in rounds:
        for place, token in enumerate(finished.tokens):
            laws[finished.tokens[:place]][token] += probability
    return max(
        float(np.abs(law / law.sum() - exact.after((*scenario.prompt, *before))).max()) for before, law in laws.items()
    )
