"""With a draft length decided at each token the text is still the target's own, and a plan that cheats is caught.

Here the costs stay as they are given: how long these tests take must not decide what they test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from localspec.decoding.acceptance import Rejection, rule_for
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.drafters.drafting import SourcesDrafter
from localspec.decoding.drafters.hybrid import HybridDrafter
from localspec.decoding.drafters.model_source import ModelSource
from localspec.decoding.drafters.ngram import NgramDrafter, NgramLookup
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Round
from localspec.decoding.sampling_settings import SamplingSettings
from tests.decoding.exactness import find_error
from tests.decoding.processes import CPU_STEPS, FLAT
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
from tests.decoding.table_model import Table, TableModel

REPEATING = (1, 2, 3, 1, 2, 4, 0, 5, 6, 1, 2, 3)
STEEP = [1.0 + 0.45 * width for width in range(32)]


class SettledCosts(PassCosts):
    def observe(self, finished: Round) -> None:
        """Nothing moves them."""


@dataclass(frozen=True, slots=True)
class Adaptive(Scenario):
    """Drafts as long as they are worth, by what the answers so far have taught."""

    source: str = "model"
    table: Table = field(default_factory=lambda: CLOSE)
    curve: Sequence[float] = tuple(FLAT)
    step: float = 0.05
    prompt: tuple[int, ...] = REPEATING
    answer: int = 14
    knowledge: Knowledge = field(default_factory=Knowledge)

    def length(self) -> AdaptiveLength:
        costs = SettledCosts(dict(enumerate(self.curve, 1)), {1: self.step, 32: 8 * self.step})
        return AdaptiveLength(costs, self.knowledge, greedy=self.sampling.temperature == 0)

    def drafter(self) -> SourcesDrafter:
        model = ModelSource(TableModel(self.table), self.target.shape[-1])
        if self.source == "ngram":
            return NgramDrafter(NgramLookup())
        return HybridDrafter(model, NgramLookup()) if self.source == "hybrid" else SourcesDrafter("model", model, None)


def scenarios() -> dict[str, Adaptive]:
    """Made anew for each test: they learn."""
    return {
        **{f"{source}, flat": Adaptive(source=source) for source in ("model", "ngram", "hybrid")},
        **{f"{source}, steps": Adaptive(source=source, curve=CPU_STEPS) for source in ("model", "ngram", "hybrid")},
        "model, steep": Adaptive(curve=STEEP),
        "far model, flat": Adaptive(table=FAR),
        "hybrid, all truncations": Adaptive(SCENARIOS["all truncations"].sampling, source="hybrid"),
        "hybrid, everything": Adaptive(SCENARIOS["everything"].sampling, source="hybrid"),
    }


@pytest.mark.parametrize("rule", ["rejection", "block"])
@pytest.mark.parametrize("name", scenarios())
def test_emitted_tokens_have_the_targets_distribution(name: str, rule: str) -> None:
    tally = gather(scenarios()[name], rule, answers=200)

    assert find_error(tally.tests(), tally) is None


@pytest.mark.parametrize("name", scenarios())
def test_under_the_coupled_rule_drafts_change_no_text(name: str) -> None:
    assert seeds_whose_text_drafts_change(scenarios()[name], answers=20) == []


@pytest.mark.parametrize("name", scenarios())
def test_at_temperature_0_every_token_is_the_targets_likeliest(name: str) -> None:
    scenario = scenarios()[name]
    cold = replace(scenario, sampling=replace(scenario.sampling, temperature=0.0))

    tally = gather(cold, "greedy", answers=5)

    assert find_error(tally.tests(), tally) is None


def rounds_of(scenario: Adaptive, rule: str, answers: int = 60) -> list[Round]:
    target, drafter = TableModel(TARGET), scenario.drafter()
    return [
        finished
        for seed in range(answers)
        for finished in answer_once(scenario, target, drafter, rule_for(rule, replace(scenario.sampling, seed=seed)))
    ]


def test_these_drafts_do_differ_in_length() -> None:
    """Else the tests above would show nothing."""
    for name, least in (("model, flat", 4), ("hybrid, flat", 5), ("model, steps", 3)):
        lengths = Counter(len(finished.drafted) for finished in rounds_of(scenarios()[name], "rejection"))
        assert len([length for length, count in lengths.items() if count >= 5]) >= least, lengths


def test_under_rejection_no_guess_is_left_out_once_it_was_drawn() -> None:
    """Each pass of the model makes a guess that is verified, but for the last of a draft: that one was not drawn."""
    finished = rounds_of(Adaptive(curve=CPU_STEPS), "rejection")

    assert all(len(each.passes) - len(each.drafted) in (0, 1) for each in finished)
    assert any(len(each.passes) > len(each.drafted) for each in finished)


@pytest.mark.parametrize(("rule", "temperature"), [("coupled", 1.0), ("greedy", 0.0)])
def test_where_each_token_is_the_targets_choice_guesses_may_be_left_out(rule: str, temperature: float) -> None:
    """Beyond the last pass, whose guess was not drawn."""
    for curve in (CPU_STEPS, STEEP):
        scenario = Adaptive(replace(PLAIN, temperature=temperature), curve=curve)
        finished = rounds_of(scenario, rule, 200)
        assert all(len(each.predictions) == len(each.drafted) for each in finished)
        if rule == "coupled" and curve is CPU_STEPS:
            assert any(len(each.passes) - len(each.drafted) > 1 for each in finished)


class LeavesOut(Rejection):
    """Has guesses left out after they were drawn, as if each token were the target's own choice."""

    may_leave_out = True


def test_a_plan_that_judges_by_the_token_drawn_is_caught_under_rejection() -> None:
    """Unlikely guesses are not verified, so those that are come out too often: why `may_leave_out` is False there."""
    scenario = Adaptive(curve=STEEP, step=0.01, table=FAR, sampling=replace(PLAIN, temperature=1.5))

    def rule(_name: str, sampling: SamplingSettings) -> Rejection:
        return LeavesOut(sampling.seed or 0)

    honest = gather(replace(scenario, knowledge=Knowledge()), "rejection", 700)
    cheating = gather(replace(scenario, knowledge=Knowledge()), "rejection", 700, rule)

    assert find_error(honest.tests(), honest) is None
    assert find_error(cheating.tests(), cheating) is not None
