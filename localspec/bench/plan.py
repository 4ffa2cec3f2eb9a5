"""What a benchmark is going to do: which generations, in which order, and what must be equal to go on with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from localspec.bench.arms import Arm
from localspec.bench.task_files import Task
from localspec.chat.events import SpeculationSettings
from localspec.decoding.sampling_settings import SamplingSettings


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """An arm with all its settings decided.

    Attributes:
        arm: what the person wrote.
        pair: what its models are called.
        sampling: how tokens are drawn; the seed is that of the first run.
        speculation: how guesses are made and kept.
    """

    arm: Arm
    pair: str
    sampling: SamplingSettings
    speculation: SpeculationSettings


@dataclass(frozen=True, slots=True)
class Conversation:
    """One task, once, with one arm."""

    arm: ArmPlan
    task: Task
    run: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A benchmark.

    Attributes:
        tasks: what is asked.
        arms: what is compared.
        runs: how often.
        max_tokens: most tokens of an answer.
        system: the system prompt; "" for none.
        tasks_name: where the tasks come from, for the person.
    """

    tasks: tuple[Task, ...]
    arms: tuple[ArmPlan, ...]
    runs: int
    max_tokens: int
    system: str = ""
    tasks_name: str = "built in"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its tasks, in order of first appearance."""
        return tuple(dict.fromkeys(task.kind for task in self.tasks))

    @property
    def generations(self) -> int:
        """How many records it makes."""
        return self.runs * len(self.arms) * sum(len(task.turns) for task in self.tasks)

    def conversations(self) -> Iterator[Conversation]:
        """All arms for a prompt before the next prompt; which arm is first goes round: none has the best place.

        It goes round within each kind, for the kinds are compared by themselves: prompts are counted kind by kind,
        though they are asked in turns.
        """
        by_kind = sorted(self.tasks, key=lambda task: self.kinds.index(task.kind))
        numbers = {task.id: number for number, task in enumerate(by_kind)}
        for run in range(self.runs):
            for task in self.tasks:
                first = (numbers[task.id] + run) % len(self.arms)
                for arm in (*self.arms[first:], *self.arms[:first]):
                    yield Conversation(arm, task, run)

    def as_json(self) -> dict[str, Any]:
        """What of the plan must be equal for records of two benchmarks to belong together."""
        return {
            "arms": {plan.arm.name: _arm_as_json(plan) for plan in self.arms},
            "tasks": {task.id: task.digest for task in self.tasks},
            "tasks_name": self.tasks_name,
            "runs": self.runs,
            "max_tokens": self.max_tokens,
            "system": self.system,
        }


def _arm_as_json(plan: ArmPlan) -> dict[str, Any]:
    sampling = asdict(plan.sampling)
    # JSON has no infinity: a forbidden token shows the text that asks for it.
    sampling["logit_bias"] = {
        str(token): "-inf" if bias == float("-inf") else bias for token, bias in plan.sampling.logit_bias
    }
    return {"pair": plan.pair, "sampling": sampling, "speculation": asdict(plan.speculation)}
