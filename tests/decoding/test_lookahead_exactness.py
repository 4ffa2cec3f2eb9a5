"""What lookahead decoding writes has the target's own distribution, and an error in its rule or drafts is found out."""

# ruff: noqa: ARG002 # an error is often an argument that is not looked at
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from localspec.decoding.acceptance import AcceptanceRule, Guess, Judgement, Rejection, Verdict, rule_for
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.distributions import Distribution, Sparse, residual
from localspec.decoding.draft_length import DraftLength, FixedLength
from localspec.decoding.drafters.jacobi_window import WindowShape
from localspec.decoding.drafters.lookahead import LookaheadDrafter
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Draft, Round, Turn
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.verdict import Target
from tests.decoding.exactness import find_error
from tests.decoding.planted_errors import NoiseByPlaceInTheRound
from tests.decoding.processes import FLAT
from tests.decoding.scenarios import SCENARIOS, TARGET, Scenario, answer_once, gather, seeds_whose_text_drafts_change
from tests.decoding.table_model import TableModel, random_table

REPEATING = (1, 2, 3, 1, 2, 4, 0, 5, 6, 1, 2, 3)
"""A prompt after which the pool knows several ways to go on."""

SMALL = WindowShape(3, 3)


class SettledCosts(PassCosts):
    def observe(self, finished: Round) -> None:
        """Nothing moves them."""


@dataclass(frozen=True, slots=True)
class Looking(Scenario):
    """Drafts by lookahead decoding, of fixed length or (0) as long as they are worth on a machine of flat costs."""

    prompt: tuple[int, ...] = REPEATING
    draft_length: int = 6
    answer: int = 10
    shape: WindowShape | None = SMALL
    knowledge: Knowledge = field(default_factory=Knowledge)

    def length(self) -> DraftLength:
        if self.draft_length:
            return FixedLength(self.draft_length)
        costs = SettledCosts(dict(enumerate(FLAT, 1)), {})
        return AdaptiveLength(costs, self.knowledge, greedy=self.sampling.temperature == 0)

    def drafter(self) -> LookaheadDrafter:
        return LookaheadDrafter(self.shape)


FEW = Looking(target=random_table(312, 4, spread=0.7), prompt=(1, 2, 3, 1, 2, 0, 0, 3, 1, 1, 3, 2, 1), answer=12)
"""Few tokens, none of them likely: there are many guesses for a place, and most are refused."""


def scenarios() -> dict[str, Looking]:
    """Made anew for each test: what is known grows."""
    return {
        "plain": Looking(),
        "one guess": Looking(draft_length=1),
        "a wider window": Looking(shape=WindowShape(4, 4), draft_length=12),
        "order 2": Looking(target=random_table(8, 5, order=2), prompt=(1, 2, 3, 1, 2, 4, 0, 1, 2)),
        "all truncations": Looking(SCENARIOS["all truncations"].sampling),
        "everything": Looking(SCENARIOS["everything"].sampling),
        "few tokens": FEW,
        "by worth": Looking(draft_length=0, shape=None),
        "by worth, top-p": Looking(SCENARIOS["top-p"].sampling, draft_length=0),
    }


@pytest.mark.parametrize("rule", ["rejection", "block"])
@pytest.mark.parametrize("name", scenarios())
def test_emitted_tokens_have_the_targets_distribution(name: str, rule: str) -> None:
    tally = gather(scenarios()[name], rule, answers=500 if name == "plain" else 100)

    assert find_error(tally.tests(), tally) is None


@pytest.mark.parametrize("name", scenarios())
def test_under_the_coupled_rule_drafts_change_no_text(name: str) -> None:
    assert seeds_whose_text_drafts_change(scenarios()[name], answers=20) == []


@pytest.mark.parametrize("name", scenarios())
def test_at_temperature_0_every_token_is_the_targets_likeliest(name: str) -> None:
    scenario = scenarios()[name]
    cold = replace(scenario, sampling=replace(scenario.sampling, temperature=0.0), answer=40)

    tally = gather(cold, "greedy", answers=3)

    assert find_error(tally.tests(), tally) is None


def rounds_of(scenario: Looking, rule: str, answers: int = 40) -> list[Round]:
    target, drafter = TableModel(scenario.target), scenario.drafter()
    return [
        finished
        for seed in range(answers)
        for finished in answer_once(scenario, target, drafter, rule_for(rule, replace(scenario.sampling, seed=seed)))
    ]


@pytest.mark.parametrize("name", ["plain", "by worth"])
def test_these_drafts_are_trees_beside_a_window(name: str) -> None:
    """Else the tests above would show nothing."""
    rounds = rounds_of(scenarios()[name], "rejection")

    assert sum(bool(each.parents) for each in rounds) > len(rounds) / 5
    assert sum(each.lookahead > 0 for each in rounds) > len(rounds) / 2
    assert any(each.accepted >= 2 for each in rounds)


def test_under_block_drafts_are_chains() -> None:
    rounds = rounds_of(scenarios()["plain"], "block")

    assert not any(each.parents for each in rounds)
    assert any(len(each.drafted) > 1 for each in rounds)
    assert any(each.lookahead for each in rounds)


class TakesNothingOut(Rejection):
    """A refused guess stays in p: neither the next guess for its place nor the token that is drawn knows of it."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        for i, (token, _) in enumerate(guesses):
            if self._uniform() < p.probability(token):
                return Judgement(i, token)
        return Judgement(None, p.draw(self._uniform()))


class JudgesEachAsTheFirst(Rejection):
    """Each guess is judged by the whole of p; only what is drawn in the end knows what was refused."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        left = p
        for i, (token, q) in enumerate(guesses):
            if self._uniform() < p.probability(token):
                return Judgement(i, token)
            left = residual(left, q, token)
        return Judgement(None, left.draw(self._uniform()))


class OneNumberForAll(Rejection):
    """The guesses for a place are judged by the same random number."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        u = self._uniform()
        for i, (token, q) in enumerate(guesses):
            if u < p.probability(token):
                return Judgement(i, token)
            p = residual(p, q, token)
        return Judgement(None, p.draw(self._uniform()))


class KeepsTheFirst(Rejection):
    """What was guessed is written, as if guesses of the target's own needed no verification."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        return Judgement(0, guesses[0].token) if guesses else super().judge(guesses, p, position)


class DuplicatesJudgedAgain(Rejection):
    """A second candidate that begins with the same token is tried again, with p as it was."""

    def judge(self, guesses: Sequence[Guess], p: Distribution, position: int) -> Judgement:
        again = super().judge(guesses[:1], p, position)
        return super().judge(guesses, p, position) if guesses and again.kept is None else again


class RowOfTheLastSibling(Rejection):
    """What follows a kept guess is read from the row of the one after it."""

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:
        return super().verify(draft, lambda i: target(min(i + 1, len(draft.tokens)) if i else 0), position)


class WritesTheWindow(LookaheadDrafter):
    """Has the first token of its window written: it says that it was drawn from a q that hardly ever draws it."""

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        window = super().draft(text, limit, turn).lookahead
        if not window:
            return Draft()
        token = window.tokens[0]
        return Draft((token,), (Sparse(np.array([token, token ^ 1]), np.array([1e-9, 1.0])),), (self.name,))


@dataclass(frozen=True, slots=True)
class Writing(Looking):
    def drafter(self) -> LookaheadDrafter:
        return WritesTheWindow(self.shape)


RuleMaker = Callable[[int], AcceptanceRule]


PLANTED: dict[str, tuple[Looking, RuleMaker]] = {
    "what was refused is not taken out": (Looking(), TakesNothingOut),
    "each guess judged as the first": (FEW, JudgesEachAsTheFirst),
    "one number for all guesses of a place": (FEW, OneNumberForAll),
    "keeps the first": (Looking(), KeepsTheFirst),
    "duplicates judged again": (Looking(), DuplicatesJudgedAgain),
    "the row of another guess": (Looking(), RowOfTheLastSibling),
    "noise by place in the round": (Looking(), NoiseByPlaceInTheRound),
    "window tokens are written": (Writing(), Rejection),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_error_is_found_out(name: str) -> None:
    scenario, rule = PLANTED[name]

    def maker(_name: str, sampling: SamplingSettings) -> AcceptanceRule:
        return rule(sampling.seed or 0)

    tally = gather(scenario, "rejection", 400, maker)

    assert find_error(tally.tests(), tally) is not None


def test_the_text_of_a_seed_is_the_same_with_and_without() -> None:
    for seed in range(30):
        sampling = replace(Looking().sampling, seed=seed)
        texts = [
            [
                token
                for each in answer_once(scenario, TableModel(TARGET), scenario.drafter(), rule_for("coupled", sampling))
                for token in each.tokens
            ]
            for scenario in (Looking(answer=40), Looking(answer=40, shape=WindowShape(5, 4)), Off(answer=40))
        ]
        assert texts[0] == texts[1] == texts[2]


@dataclass(frozen=True, slots=True)
class Off(Looking):
    def length(self) -> DraftLength:
        return FixedLength(0)
