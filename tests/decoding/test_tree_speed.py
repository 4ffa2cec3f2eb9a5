"""Trees against chains on machines without models: never slower than by chance, quicker where width costs little.

Both write the same text, by the coupled rule or at temperature 0, with the same tables; what passes cost is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from localspec.decoding.acceptance import rule_for
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.drafters.tree import TreeDrafter
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.loop import speculate
from localspec.decoding.rounds import Turn
from localspec.decoding.sampling_settings import SamplingSettings
from tests.decoding.processes import CPU_STEPS, CUDA_CLIFF, FLAT, LINEAR
from tests.decoding.table_model import TableModel, near, random_table
from tests.decoding.test_adaptive_exactness import SettledCosts

VOCABULARY = 60
TARGET = random_table(1, VOCABULARY, spread=2.5)
ANSWERS, TOKENS = 6, 150
STEPS_OF = {"steps": (CPU_STEPS, 0.18), "cliff": (CUDA_CLIFF, 0.25), "flat": (FLAT, 0.1), "linear": (LINEAR, 0.18)}


def seconds(drafter: Drafter, curve: Sequence[float], step: float, temperature: float) -> float:
    """What the passes of some answers take, the last of them counted: by then something is known of the pair."""
    costs = SettledCosts(dict(enumerate(curve, 1)), {width: step * (1 + 0.1 * (width - 1)) for width in range(1, 33)})
    # A text that repeats itself would end in a circle.
    sampling = SamplingSettings(temperature, top_k=0, top_p=1.0, min_p=0.0, presence_penalty=2.0 - 2 * temperature)
    knowledge, total = Knowledge(), 0.0
    for seed in range(ANSWERS):
        prompt = (seed, 7 * seed)
        target, length = TableModel(TARGET), AdaptiveLength(costs, knowledge, greedy=temperature == 0)
        target.evaluate(prompt[:-1], rows=0)
        drafter.prepare(prompt, lambda: False)
        turn = Turn(sampling, rule_for("coupled", replace(sampling, seed=seed)), length, max_tokens=TOKENS)
        taken = sum(costs.round(finished) for finished in speculate(target, drafter, prompt, turn))
        total += taken if seed >= ANSWERS // 3 else 0.0
    return total


def ratio(name: str, noise: float, temperature: float) -> float:
    """The speed of trees over that of chains."""
    draft = near(TARGET, 2, noise)
    chain, tree = ModelDrafter(TableModel(draft), VOCABULARY), TreeDrafter(TableModel(draft), VOCABULARY, None)
    chains, trees = (seconds(each, *STEPS_OF[name], temperature) for each in (chain, tree))
    return chains / trees


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("noise", [0.5, 1.2, 2.5])
@pytest.mark.parametrize("name", STEPS_OF)
def test_a_tree_is_never_slower_than_a_chain(name: str, noise: float, temperature: float) -> None:
    found = ratio(name, noise, temperature)

    assert found > 0.985
    if name == "flat":
        assert found > (1.0 if noise < 1 else 1.05)
