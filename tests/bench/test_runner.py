"""Arms of a real engine: the same start for all, nothing lost, the same text where it must be the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.bench.arms import parse_arms
from localspec.bench.energy import EnergyMeter
from localspec.bench.plan import ArmPlan, Plan
from localspec.bench.records import Record
from localspec.bench.runner import Runner, Step
from localspec.bench.task_files import Task
from localspec.chat.events import SpeculationSettings
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.client import EngineClient
from localspec.engine.messages import LoadPair, ModelSettings

TASKS = (
    Task("colours", "list", ("Name three colours.", "And one more.")),
    Task("count", "numbers", ("Count from one to five.",)),
)


def plan(arms: str, runs: int = 1, tasks: tuple[Task, ...] = TASKS, temperature: float = 0.0) -> Plan:
    sampling, speculation = SamplingSettings(temperature=temperature, seed=3), SpeculationSettings(draft_length=2)
    plans = (ArmPlan(arm, "pair", arm.sampling(sampling), arm.speculation(speculation)) for arm in parse_arms(arms))
    return Plan(tasks, tuple(plans), runs, max_tokens=10)


@pytest.fixture(scope="module")
def engine(smollm2_path: Path, smollm2_draft_path: Path) -> Iterator[EngineClient]:
    with EngineClient() as client:
        loading = LoadPair(ModelSettings(smollm2_path), ModelSettings(smollm2_draft_path), context=512, threads=1)
        list(client.load(loading))
        yield client


def records(engine: EngineClient, wanted: Plan, **changes: object) -> list[Record]:
    runner = Runner({"pair": engine}, wanted, EnergyMeter(), **changes)  # type: ignore[arg-type] # its fields
    runner.warm_up()
    return list(runner.run({}))


@pytest.fixture(scope="module")
def made(engine: EngineClient) -> list[Record]:
    return records(engine, plan("off,on,3+coupled"))


def test_every_arm_answers_every_turn_of_every_prompt(made: list[Record]) -> None:
    wanted = {
        (arm, task.id, 0, turn)
        for arm in ("off", "on", "3+coupled")
        for task in TASKS
        for turn in range(len(task.turns))
    }
    assert {record.key for record in made} == wanted
    assert len(made) == len(wanted)


def test_no_arm_starts_with_what_another_one_read(made: list[Record]) -> None:
    for task in TASKS:
        first = [record for record in made if record.prompt_id == task.id and record.turn == 0]
        assert len({record.prompt_tokens for record in first}) == 1
        assert len({record.reused_tokens for record in first}) == 1
        # What all prompts begin with is known; the question is not.
        assert first[0].reused_tokens < first[0].prompt_tokens - 3


def test_within_a_conversation_the_cache_is_kept(made: list[Record]) -> None:
    for record in made:
        if record.turn == 1:
            assert record.reused_tokens > 15


def test_at_temperature_0_the_ids_are_the_same_with_and_without(made: list[Record]) -> None:
    texts = {record.key: record.token_ids for record in made}
    for task in TASKS:
        assert texts["off", task.id, 0, 0] == texts["on", task.id, 0, 0] == texts["3+coupled", task.id, 0, 0]


def test_the_rounds_add_up_to_the_statistics(made: list[Record]) -> None:
    for record in made:
        assert len(record.token_ids) == record.statistics.emitted == sum(each.emitted for each in record.rounds)
        assert sum(each.drafted for each in record.rounds) == record.statistics.drafted
        assert sum(each.target_seconds for each in record.rounds) == pytest.approx(record.statistics.target_seconds)
        assert record.time_to_first_token is not None
        assert (record.statistics.drafted == 0) == (record.arm == "off")


def test_a_round_tells_whether_guesses_were_refused(engine: EngineClient) -> None:
    """The lengths do not tell it of a tree: its kept branch may be a short one."""
    made = records(engine, plan("on,4+tree,4+ngram", runs=2, temperature=1.0))
    for record in made:
        assert sum(bool(each.corrected) for each in record.rounds) == dict(record.statistics.origins).get(
            "correction", 0
        )
    assert any(each.corrected for record in made for each in record.rounds)


def test_the_arm_that_goes_first_changes_from_prompt_to_prompt() -> None:
    wanted = plan("off,on,3", runs=2)
    order = [conversation.arm.arm.name for conversation in wanted.conversations()]
    assert order == ["off", "on", "3", "on", "3", "off", "on", "3", "off", "3", "off", "on"]
    assert wanted.generations == 18


def test_every_run_has_a_seed_of_its_own_and_every_arm_the_same(engine: EngineClient) -> None:
    made = records(engine, plan("off,2", runs=2, tasks=TASKS[1:], temperature=1.0))
    assert {(record.run, record.seed) for record in made} == {(0, 3), (1, 4)}


def test_what_is_made_already_is_not_made_again(engine: EngineClient, made: list[Record]) -> None:
    wanted = plan("off,on,3+coupled")
    steps: list[Step] = []
    runner = Runner({"pair": engine}, wanted, EnergyMeter(), report=steps.append)
    # The first turn of one conversation is known, its second is not: it is held again, and only the second is new.
    missing = ("on", "colours", 0, 1)
    again = list(runner.run({record.key: record for record in made if record.key != missing}))
    assert [record.key for record in again] == [missing]
    assert len(steps) == 1
    assert steps[0].done == len(made) - 1


def test_a_stop_keeps_what_was_made(engine: EngineClient) -> None:
    seen: list[Record] = []
    runner = Runner({"pair": engine}, plan("off,on"), EnergyMeter(), stopped=lambda: len(seen) >= 2)
    for record in runner.run({}):
        seen.append(record)  # noqa: PERF402 - the stop above looks at it meanwhile
    assert 2 <= len(seen) <= 3


def test_a_prompt_that_does_not_fit_is_left_out_and_named(engine: EngineClient) -> None:
    tasks = (Task("long", "long", ("word " * 2000,)), TASKS[1])
    runner = Runner({"pair": engine}, plan("off", tasks=tasks), EnergyMeter())
    assert [record.prompt_id for record in runner.run({})] == ["count"]
    assert list(runner.left_out) == ["long"]


def test_passes_are_timed_for_both_models(engine: EngineClient) -> None:
    times = Runner({"pair": engine}, plan("off"), EnergyMeter()).pass_times((1, 2), repeats=1)["pair"]
    assert [width for width, _ in times.target] == [width for width, _ in times.draft] == [1, 2]
    assert all(seconds > 0 for _, seconds in (*times.target, *times.draft))
