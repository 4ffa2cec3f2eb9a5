"""The order of a benchmark: no arm has the best place, in no kind of text."""

from collections import Counter

import pytest

from localspec.bench.arms import parse_arms
from localspec.bench.plan import ArmPlan, Conversation, Plan
from localspec.bench.task_files import built_in_tasks, chosen_tasks
from localspec.chat.events import SpeculationSettings
from localspec.decoding.sampling_settings import SamplingSettings


def plan(arms: int, runs: int = 1, limit: int | None = None) -> Plan:
    names = ",".join(["off", *(str(length) for length in range(1, arms))])
    plans = (ArmPlan(arm, "pair", SamplingSettings(), SpeculationSettings()) for arm in parse_arms(names))
    return Plan(chosen_tasks(built_in_tasks(), limit=limit), tuple(plans), runs, max_tokens=8)


def even(counts: Counter[str], arms: int) -> bool:
    """Whether no arm was counted more than once oftener than another."""
    of_all = [*counts.values(), *[0] * (arms - len(counts))]
    return max(of_all) - min(of_all) <= 1


@pytest.mark.parametrize("limit", [None, 3, 2, 1])
@pytest.mark.parametrize("arms", [2, 3, 4, 8])
def test_each_arm_has_each_place_equally_often_in_each_kind_and_over_all(arms: int, limit: int | None) -> None:
    wanted = plan(arms, runs=2, limit=limit)
    order = list(wanted.conversations())
    rounds = [order[i : i + arms] for i in range(0, len(order), arms)]
    assert all(len({(each.task.id, each.run) for each in of_prompt}) == 1 for of_prompt in rounds)
    for run in range(wanted.runs):
        for place in range(arms):
            at = [of_prompt[place] for of_prompt in rounds if of_prompt[place].run == run]
            assert even(Counter(map(arm_of, at)), arms)
            for kind in wanted.kinds:
                assert even(Counter(arm_of(each) for each in at if each.task.kind == kind), arms)


@pytest.mark.parametrize("arms", [2, 3, 4, 8])
def test_a_prompt_begins_with_another_arm_in_each_run(arms: int) -> None:
    order = list(plan(arms, runs=arms).conversations())
    firsts = Counter((each.task.id, arm_of(each)) for each in order[::arms])
    assert set(firsts.values()) == {1}


def test_a_benchmark_cut_short_has_seen_every_kind() -> None:
    asked = [each.task.kind for each in plan(2).conversations()]
    assert len(set(asked[:16])) == 8


def arm_of(conversation: Conversation) -> str:
    return conversation.arm.arm.name
