"""Errors of trees, one each: in how siblings are drawn, in how they are judged, in what a branch is taken to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from localspec.bench.losslessness.planted_trees import (
    ClaimsTheWholeQ,
    CorrectionFromP,
    DrawsWithReplacement,
    LastFirst,
    LikeliestSibling,
    LookedUpSaidToBeDrawn,
    OrderedByP,
    ResidualNotUpdated,
    ResidualOfTheFirstAlone,
)
from localspec.decoding.acceptance import Rejection, Target, Verdict
from localspec.decoding.distributions import Distribution
from localspec.decoding.drafters import Drafter
from localspec.decoding.loop import speculate
from localspec.decoding.rounds import Draft, Turn
from tests.decoding.scenarios import Scenario
from tests.decoding.table_model import TableModel
from tests.decoding.trees import _as_it_is


class RowOfTheFirst(Rejection):
    """Behind a second guess the target's row of the first is read."""

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:
        def row(i: int) -> Distribution:
            if i == 0 or not draft.parents:
                return target(i)
            return target(draft.children(draft.parents[i - 1])[0] + 1)

        return super().verify(draft, row, position)


class LeavesOutWhatLooksBad:
    """A drafter whose unlikely second guesses are taken out again once they were drawn.

    Args:
        drafter: does the drafting.
    """

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter
        self.name = drafter.name
        self.prepare = drafter.prepare
        self.agree = drafter.agree

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        draft = self._drafter.draft(text, limit, turn)
        keep = [i for i in range(len(draft.tokens)) if not self._looks_bad(draft, i)]
        places = {-1: -1, **{i: place for place, i in enumerate(keep)}}
        return Draft(
            tuple(draft.tokens[i] for i in keep),
            tuple(draft.distributions[i] for i in keep),
            tuple(draft.sources[i] for i in keep),
            parents=tuple(places[draft.parents[i]] for i in keep),
        )

    @staticmethod
    def _looks_bad(draft: Draft, guess: int) -> bool:
        q = draft.distributions[guess]
        first = draft.children(draft.parents[guess])[0] == guess
        return q is not None and not first and not draft.children(guess) and q.probability(draft.tokens[guess]) < 0.5


def without_its_last(self: Draft, guess: int) -> Sequence[int]:
    """A window that ends before the guess itself."""
    return [] if guess < 0 else [self.tokens[i] for i in _ancestry(self, guess)[:-1]]


def in_the_order_given(self: Draft, guess: int) -> Sequence[int]:
    """A window over the draft as if it were a chain."""
    return self.tokens[: guess + 1]


def of_the_first_sibling(self: Draft, guess: int) -> Sequence[int]:
    """A window in which the guess is the first for its place."""
    if guess < 0:
        return []
    line = _ancestry(self, guess)
    before = line[-2] if len(line) > 1 else -1
    return [*(self.tokens[i] for i in line[:-1]), self.tokens[self.children(before)[0]]]


def _ancestry(draft: Draft, guess: int) -> list[int]:
    line: list[int] = []
    while guess >= 0:
        line.append(guess)
        guess = draft.parents[guess] if draft.parents else guess - 1
    return line[::-1]


class WrongPath(TableModel):
    """Keeps the first branch, whichever was chosen."""

    def keep(self, path: Sequence[int]) -> None:
        first = [0]
        while len(first) < len(path):
            first.append(next(i for i, parent in enumerate(self._parents) if parent == first[-1]))
        super().keep(first)

    def answer(self, scenario: Scenario) -> None:
        """Answers, its cache being compared with the text after each round.

        Raises:
            AssertionError: it holds something else.
        """
        text, drafter = list(scenario.prompt), scenario.drafter()
        self.evaluate(text[:-1], rows=0)
        drafter.prepare(text, lambda: False)
        turn = Turn(scenario.sampling, Rejection(3), scenario.length(), max_tokens=40)
        for finished in speculate(self, drafter, tuple(text), turn):
            text.extend(finished.tokens)
            assert list(self.tokens) == text[:-1], "the cache is not the text"


@dataclass(frozen=True, slots=True)
class PlantedInTrees:
    """An error, and a tree in which it shows.

    Attributes:
        rule: makes the rule.
        change: what is done to the drafter.
        path: in place of `Draft.path`.
    """

    tree: str = "branches and leaves"
    sampling: str = "plain"
    rule: Callable[[], Rejection] = lambda: Rejection(0)
    change: Callable[[Drafter], Drafter] = _as_it_is
    path: Callable[[Draft, int], Sequence[int]] | None = None


_TWO = PlantedInTrees("one place, two guesses")
_PENALISED = PlantedInTrees("a branch that goes on", "penalties")

PLANTED: dict[str, PlantedInTrees] = {
    "the residual is not updated between siblings": replace(_TWO, rule=lambda: ResidualNotUpdated(0)),
    "the correction is drawn from p": replace(_TWO, rule=lambda: CorrectionFromP(0)),
    "the last residual is forgotten": replace(_TWO, rule=lambda: ResidualOfTheFirstAlone(0)),
    "q is not renormalised after the first sibling": replace(_TWO, rule=ClaimsTheWholeQ),
    "drawn with replacement, judged without": replace(_TWO, rule=DrawsWithReplacement),
    "the likeliest sibling said to be drawn": replace(_TWO, rule=lambda: LikeliestSibling(0)),
    "siblings in order of p": replace(_TWO, rule=lambda: OrderedByP(0)),
    "the last sibling first": replace(_TWO, rule=lambda: LastFirst(0)),
    "a drawn sibling left out because it looks bad": replace(_TWO, change=LeavesOutWhatLooksBad),
    "the same, in a tree": PlantedInTrees(change=LeavesOutWhatLooksBad),
    "a looked-up sibling said to be drawn": PlantedInTrees(
        "looked-up tokens, and the model's again", rule=lambda: LookedUpSaidToBeDrawn(0)
    ),
    "the row of the wrong sibling": PlantedInTrees("a branch that goes on", rule=lambda: RowOfTheFirst(0)),
    "the window without the guess": replace(_PENALISED, path=without_its_last),
    "the window over the draft in its order": replace(_PENALISED, path=in_the_order_given),
    "the window of the first sibling": replace(_PENALISED, path=of_the_first_sibling),
}
