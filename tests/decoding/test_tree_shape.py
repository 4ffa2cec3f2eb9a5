"""The shape of trees: the best of all there could be for the chances known, a chain or nothing where width is dear."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from localspec.decoding.acceptance import rule_for
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.draft_length import DraftLength, FixedLength
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.drafting import SourcesDrafter
from localspec.decoding.drafters.model_source import ModelSource
from localspec.decoding.drafters.ngram import NgramLookup
from localspec.decoding.drafters.tree import TreeDrafter
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.loop import speculate
from localspec.decoding.rounds import Round, Turn
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.tree_plan import Reach
from localspec.decoding.tree_shape import best_count, best_newcomers, is_among_best
from tests.decoding.processes import CPU_STEPS, CUDA_CLIFF, FLAT, LINEAR
from tests.decoding.table_model import TableModel, near, random_table
from tests.decoding.test_adaptive_exactness import STEEP, SettledCosts

CURVES = {"steps": CPU_STEPS, "cliff": CUDA_CLIFF, "flat": FLAT, "linear": LINEAR}


def random_tree(seed: int, size: int) -> tuple[list[int], list[float]]:
    """Parents, and chances that fall from each guess to those behind it."""
    rng = np.random.default_rng(seed)
    parents: list[int] = []
    chances: list[float] = []
    for i in range(size):
        parents.append(int(rng.integers(-1, i)))
        chances.append(float(rng.random() * (chances[parents[-1]] if parents[-1] >= 0 else 1.0)))
    return parents, chances


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("seed", range(4))
def test_the_best_guesses_of_the_best_size_are_the_best_of_all_trees(name: str, seed: int) -> None:
    parents, chances = random_tree(seed, 9)
    for rate in (0.4, 1.0, 2.5):
        values = [-rate * seconds for seconds in CURVES[name]]
        ranked = sorted(range(9), key=lambda i: -chances[i])

        chosen = ranked[: best_count([chances[i] for i in ranked], values)]

        assert all(parents[i] in {-1, *chosen} for i in chosen)
        best = max(
            sum(chances[i] for i in tree) + values[len(tree)]
            for size in range(10)
            for tree in itertools.combinations(range(9), size)
            if all(parents[i] in {-1, *tree} for i in tree)
        )
        assert sum(chances[i] for i in chosen) + values[len(chosen)] == pytest.approx(best)


def test_it_looks_over_a_step_of_the_curve() -> None:
    values = [0.0, -0.8, -0.85, -0.9]

    assert best_count([0.5], values) == 0
    assert best_count([0.5, 0.4, 0.3], values) == 3
    assert best_count([0.5, 0.04, 0.03], values) == 0
    assert best_count([0.5, 0.04, 0.03], values, least=1) == 1
    assert best_count([0.1, 0.1], [0.0]) == 0


def test_newcomers_take_the_place_of_what_is_worth_less() -> None:
    values = [0.0] * 4

    assert best_newcomers([0.9, 0.2, 0.1], [0.5, 0.3], values) == 2
    assert best_newcomers([0.9, 0.2, 0.1], [0.2, 0.1], values) == 1
    assert best_newcomers([0.9, 0.5, 0.4], [0.3], values) == 0
    assert is_among_best(0.3, [0.1, 0.2, 0.5], 2)
    assert not is_among_best(0.1, [0.1, 0.2, 0.5], 2)


def experienced() -> Knowledge:
    knowledge = Knowledge()
    knowledge.judged = 1000
    return knowledge


@dataclass(frozen=True, slots=True)
class Machine:
    curve: Sequence[float]
    step: float = 0.1

    def rule(self, knowledge: Knowledge | None = None) -> AdaptiveLength:
        costs = SettledCosts(dict(enumerate(self.curve, 1)), {1: self.step, 32: 4 * self.step})
        return AdaptiveLength(costs, knowledge or experienced(), greedy=False)


@pytest.mark.parametrize("leaves_out", [True, False])
def test_siblings_are_added_where_they_cost_little_and_not_where_they_are_dear(leaves_out: bool) -> None:
    cheap, dear = (Machine(curve).rule().tree_plan(20, leaves_out=leaves_out) for curve in (FLAT, STEEP))
    for plan in (cheap, dear):
        plan.drawn(0.5, likeliest=True)
    siblings = [0.3, 0.2, 0.1, 0.05, 0.001]

    assert cheap.adds(siblings) == 4
    assert dear.adds(siblings) == 0
    assert cheap.reads([Reach(0.3)], 1) == 1
    assert dear.reads([Reach(0.3)], 1) == 0


def test_as_many_are_read_in_a_pass_as_pay_for_its_width() -> None:
    reaches = [Reach(chance) for chance in (0.5, 0.4, 0.05, 0.02)]
    quick, slow, none = (
        Machine(FLAT, step).rule().tree_plan(20, leaves_out=False).reads(reaches, 1) for step in (0.02, 0.4, 5.0)
    )

    assert quick > slow >= none == 0


def test_a_cliff_is_filled_up_to_and_not_beyond() -> None:
    plan = Machine(CUDA_CLIFF).rule().tree_plan(31, leaves_out=False)
    plan.drawn(0.9, likeliest=True)

    # One pass holds eight tokens: the text's last, the spine's guess, and six more.
    assert plan.adds([0.05] * 20) == 6


def test_what_was_added_counts_against_the_spine() -> None:
    """The next guess of the spine would stand beyond the cliff; without the siblings it does not."""
    plans = [Machine(CUDA_CLIFF).rule().tree_plan(31, leaves_out=False) for _ in range(2)]
    for plan in plans:
        plan.drawn(0.9, likeliest=True)
    for _ in range(6):
        plans[0].grew(0.3)

    assert not plans[0].keeps(0.3)
    assert plans[1].keeps(0.3)


@pytest.mark.parametrize("leaves_out", [True, False])
def test_there_is_no_more_than_room_for(leaves_out: bool) -> None:
    for length in (Machine(FLAT).rule(), FixedLength(20)):
        for room in (0, 1, 5):
            plan = length.tree_plan(room, leaves_out=leaves_out)
            assert plan.adds([0.5] * 9) == room
            assert plan.stays([0.5] * 9) == room
            assert 2 * plan.reads([Reach(0.9)] * 9, 0) <= room


TARGET = random_table(51, 40, spread=2.5)
CLOSE = near(TARGET, 52, 0.8)
PROMPT = (1, 2, 3, 1, 2)


def rounds_of(drafter: Drafter, length: DraftLength, rule: str, temperature: float) -> list[Round]:
    """Two answers, the rule learning."""
    sampling = SamplingSettings(temperature=temperature, top_k=20, top_p=1.0, min_p=0.0, frequency_penalty=0.5)
    finished: list[Round] = []
    for seed in range(2):
        target = TableModel(TARGET)
        target.evaluate(PROMPT[:-1], rows=0)
        drafter.prepare(PROMPT, lambda: False)
        turn = Turn(sampling, rule_for(rule, replace(sampling, seed=seed)), length, max_tokens=60)
        finished += speculate(target, drafter, PROMPT, turn)
    return [replace(each, passes=(), target_seconds=0.0, seconds=0.0) for each in finished]


@pytest.mark.parametrize(
    ("name", "rule", "temperature"),
    [
        *(("linear", rule, 0.8) for rule in ("rejection", "coupled")),
        ("linear", "greedy", 0.0),
        # Under the coupled rule the second guess may be the better one, where the noise made the first unlikely.
        ("steep", "rejection", 0.8),
        ("steep", "greedy", 0.0),
    ],
)
def test_where_width_is_dear_it_is_the_chain_that_was_drafted_before(name: str, rule: str, temperature: float) -> None:
    curve = LINEAR if name == "linear" else STEEP
    vocabulary = TARGET.shape[-1]
    # On the steep curve a sure lookup is still worth adding when the model turns out to have no better guess.
    lookup = None if name == "steep" else NgramLookup()
    chain = SourcesDrafter("chain", ModelSource(TableModel(CLOSE), vocabulary), lookup)
    tree = TreeDrafter(TableModel(CLOSE), vocabulary, lookup)

    chains, trees = (rounds_of(each, Machine(curve, 0.02).rule(), rule, temperature) for each in (chain, tree))

    assert trees == chains
    assert all(each.parents == () for each in trees)
    if name == "steep":
        assert any(each.drafted for each in trees)
    assert any(not each.drafted for each in trees)


@pytest.mark.parametrize("tokens", [0, 1, 2, 7, 20])
@pytest.mark.parametrize(("rule", "temperature"), [("rejection", 0.8), ("coupled", 0.8), ("greedy", 0.0)])
def test_a_fixed_number_of_guesses_is_met(tokens: int, rule: str, temperature: float) -> None:
    drafter = TreeDrafter(TableModel(CLOSE), TARGET.shape[-1], NgramLookup())
    finished = rounds_of(drafter, FixedLength(tokens), rule, temperature)

    # The last rounds have no room for all of them.
    assert {len(each.drafted) for each in finished[:6]} == {tokens}
    if tokens != 2:
        assert (tokens < 2) == all(each.parents == () for each in finished)
