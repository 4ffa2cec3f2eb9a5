"""Whole answers drafted by trees have the target's distribution, under every rule that can judge them.

What one round emits is worked out exactly in test_tree_enumeration; here are rounds that follow each other, shapes that
are decided as they are in use, whole vocabularies, and what is learned on the way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from localspec.decoding.acceptance import AcceptanceRule, Coupled, Greedy, Guess, Judgement, Rejection, rule_for
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.distributions import Distribution
from localspec.decoding.draft_length import DraftLength, FixedLength
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.ngram import NgramLookup
from localspec.decoding.drafters.tree import TreeDrafter
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.rounds import Round
from tests.decoding.exactness import find_error
from tests.decoding.processes import FLAT
from tests.decoding.scenarios import (
    CLOSE,
    FAR,
    PLAIN,
    SCENARIOS,
    TARGET,
    Scenario,
    answer_once,
    gather,
    seeds_whose_text_drafts_change,
)
from tests.decoding.table_model import Table, TableModel, near, random_table
from tests.decoding.test_adaptive_exactness import REPEATING, SettledCosts

STEPS = [1.0 + 0.1 * ((width - 1) // 4) for width in range(1, 33)]


@dataclass(frozen=True, slots=True)
class Trees(Scenario):
    """Drafts trees from the model of this table and from the text.

    Attributes:
        curve: seconds of a pass by width; None for trees of a fixed number of guesses.
    """

    table: Table = field(default_factory=lambda: CLOSE)
    draft_length: int = 6
    curve: tuple[float, ...] | None = None
    prompt: tuple[int, ...] = REPEATING
    answer: int = 14
    knowledge: Knowledge = field(default_factory=Knowledge)

    def length(self) -> DraftLength:
        if self.curve is None:
            return FixedLength(self.draft_length)
        costs = SettledCosts(dict(enumerate(self.curve, 1)), {1: 0.05, 32: 0.4})
        return AdaptiveLength(costs, self.knowledge, greedy=self.sampling.temperature == 0)

    def drafter(self) -> Drafter:
        return TreeDrafter(TableModel(self.table), self.target.shape[-1], NgramLookup())


def scenarios() -> dict[str, Trees]:
    """Made anew for each test: they learn."""
    return {
        "six guesses": Trees(),
        "twelve guesses, far draft": Trees(table=FAR, draft_length=12),
        "adaptive": Trees(curve=tuple(FLAT)),
        "adaptive, far draft": Trees(table=FAR, curve=tuple(STEPS)),
        "all truncations": Trees(SCENARIOS["all truncations"].sampling, curve=tuple(FLAT)),
        "everything": Trees(SCENARIOS["everything"].sampling, draft_length=8, table=FAR),
        "everything, adaptive": Trees(SCENARIOS["everything"].sampling, curve=tuple(FLAT)),
        "smaller draft vocabulary": Trees(table=near(TARGET[:5, :5], 6, 0.5)),
        "order 2": Trees(target=random_table(8, 5, order=2), table=random_table(9, 5), prompt=(1, 2, 3, 1, 2, 4, 0)),
    }


@pytest.mark.parametrize("name", scenarios())
def test_emitted_tokens_have_the_targets_distribution(name: str) -> None:
    tally = gather(scenarios()[name], "rejection", answers=80)

    assert find_error(tally.tests(), tally) is None


@pytest.mark.parametrize("name", scenarios())
def test_at_temperature_0_every_token_is_the_targets_likeliest(name: str) -> None:
    scenario = scenarios()[name]
    cold = replace(scenario, sampling=replace(scenario.sampling, temperature=0.0))

    for rule in ("auto", "greedy", "rejection", "coupled", "typical"):
        tally = gather(cold, rule, answers=1)
        assert find_error(tally.tests(), tally) is None


def rounds_of(scenario: Trees, rule: str, answers: int = 20) -> list[Round]:
    target, drafter = TableModel(scenario.target), scenario.drafter()
    return [
        finished
        for seed in range(answers)
        for finished in answer_once(scenario, target, drafter, rule_for(rule, replace(scenario.sampling, seed=seed)))
    ]


@pytest.mark.parametrize("rule", ["rejection", "coupled"])
def test_these_drafts_are_trees_of_many_shapes(rule: str) -> None:
    """Else the tests above would show nothing."""
    for name in ("six guesses", "adaptive", "adaptive, far draft"):
        finished = rounds_of(scenarios()[name], rule)
        assert len(Counter(each.parents for each in finished)) >= 10
        assert any(each.path != tuple(range(each.accepted)) for each in finished)
        assert any(len(set(each.sources)) == 2 for each in finished)


@pytest.mark.parametrize("name", scenarios())
def test_under_the_coupled_rule_drafts_change_no_text(name: str) -> None:
    assert seeds_whose_text_drafts_change(scenarios()[name], answers=10) == []


class CountsDraws(Rejection):
    """Counts the guesses it draws."""

    drawn = 0

    def propose(self, q: Distribution, position: int) -> int:
        self.drawn += 1
        return super().propose(q, position)

    def propose_several(self, q: Distribution, position: int, count: int) -> list[Guess]:
        self.drawn += count
        return super().propose_several(q, position, count)


def test_no_drawn_guess_is_left_out_under_rejection() -> None:
    for name in ("six guesses", "twelve guesses, far draft", "adaptive", "adaptive, far draft"):
        scenario, rule = scenarios()[name], CountsDraws(1)
        finished = answer_once(scenario, TableModel(scenario.target), scenario.drafter(), rule)
        assert sum(each.sources.count("model") for each in finished) == rule.drawn > 0


class KeepsTheFirstSibling(Coupled):
    """Where the target chose the second guess, the first is kept."""

    def judge(self, guesses: list[Guess], p: Distribution, position: int) -> Judgement:  # type: ignore[override]
        kept, token = super().judge(guesses, p, position)
        return Judgement(0, guesses[0].token) if kept else Judgement(kept, token)


class NoiseOfAnotherPlaceBehindSiblings(Coupled):
    """The noise goes on with the number of the guess, not with its place."""

    def judge(self, guesses: list[Guess], p: Distribution, position: int) -> Judgement:  # type: ignore[override]
        return super().judge(guesses, p, 0 if len(guesses) > 1 else position)


class SecondLikeliestWillDo(Greedy):
    """Any guess of several is kept that the target does not forbid."""

    def judge(self, guesses: list[Guess], p: Distribution, position: int) -> Judgement:  # type: ignore[override]
        return (
            Judgement(len(guesses) - 1, guesses[-1].token) if len(guesses) > 1 else super().judge(guesses, p, position)
        )


PLANTED: dict[str, tuple[type[AcceptanceRule], float]] = {
    "keeps the first sibling": (KeepsTheFirstSibling, 1.0),
    "one noise for all places with siblings": (NoiseOfAnotherPlaceBehindSiblings, 1.0),
    "the second likeliest will do": (SecondLikeliestWillDo, 0.0),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_error_is_found_out(name: str) -> None:
    rule, temperature = PLANTED[name]
    scenario = replace(scenarios()["twelve guesses, far draft"], sampling=replace(PLAIN, temperature=temperature))

    def made(_name: str, sampling: object) -> AcceptanceRule:
        return rule() if temperature == 0 else rule(sampling.seed or 0)  # type: ignore[attr-defined, call-arg]

    tally = gather(scenario, "coupled", 120, made)

    assert find_error(tally.tests(), tally) is not None
