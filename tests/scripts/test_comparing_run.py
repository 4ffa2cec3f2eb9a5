from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field

import pytest

import comparing.quiet
from comparing.prompts import Question
from comparing.quiet import Clock
from comparing.run import Plan, Step, compare, warm_up
from comparing.samples import Answer
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.errors import LocalspecError

Asked = list[tuple[str, str, float, int | None, int]]


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing.quiet, "_LOOK_SECONDS", 0)


@dataclass
class TableArm:
    """An arm that writes down what it is asked, and answers at once."""

    name: str
    asked: Asked
    side: str = "server"
    pid: int = field(default_factory=os.getpid)
    must_draft: bool = False
    drafted: int = 0
    fails_at: int = -1

    def answer(self, question: Question, sampling: SamplingSettings, max_tokens: int) -> Answer:
        if len(self.asked) == self.fails_at:
            raise LocalspecError("it died")
        self.asked.append((self.name, question.id, sampling.temperature, sampling.seed, max_tokens))
        return Answer(len(question.tokens), (1, 2, 3), max_tokens, 1, 1.0, self.drafted, 0, "length")


def plan(prompts: int = 4, runs: int = 2, seed: int = 1) -> Plan:
    asked = tuple(Question(f"code-{i}", "code", "Hello", (1, 2), (), frozenset()) for i in range(prompts))
    return Plan(asked, (0.0, 0.8), SamplingSettings(seed=seed), max_tokens=32, runs=runs)


def order(seed: int) -> list[str]:
    asked: Asked = []
    arms = [TableArm(name, asked) for name in "abc"]
    list(compare(arms, plan(seed=seed), Clock([]), lambda _: None))
    return [name for name, *_ in asked]


def test_every_arm_is_asked_everything_once_and_prompt_by_prompt() -> None:
    asked: Asked = []
    arms = [TableArm(name, asked) for name in "abc"]

    found = list(compare(arms, plan(), Clock([]), lambda _: None))

    assert len(found) == len(asked) == 3 * 4 * 2 * 2
    assert set(Counter(asked).values()) == {1}
    for i in range(0, len(asked), 3):
        assert {name for name, *_ in asked[i : i + 3]} == set("abc")
        assert len({rest for _, *rest_ in asked[i : i + 3] if (rest := tuple(rest_))}) == 1
    assert {seed for *_, seed, _ in asked} == {1, 2}


def test_the_order_of_the_arms_is_shuffled_by_the_seed_alone() -> None:
    assert order(1) == order(1)
    assert order(1) != order(2)
    firsts = Counter(order(1)[::3])
    assert set(firsts) == set("abc")


def test_progress_tells_what_is_done_and_what_is_left() -> None:
    told: list[Step] = []
    arms = [TableArm("off", []), TableArm("3", [])]

    list(compare(arms, plan(prompts=1, runs=1), Clock([]), told.append))

    assert [(step.done, step.total) for step in told] == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert told[0].seconds_left is None
    assert all(step.seconds_left is not None and step.seconds_left >= 0 for step in told[1:])
    assert "code-0, temperature 0.8, server" in told[3].words


def test_what_was_measured_before_a_failure_is_passed_on() -> None:
    samples = compare([TableArm("off", [], fails_at=3)], plan(), Clock([]), lambda _: None)

    assert len([next(samples) for _ in range(3)]) == 3
    with pytest.raises(LocalspecError, match="it died"):
        next(samples)


def test_every_arm_is_warmed_up_and_one_that_does_not_draft_is_refused() -> None:
    asked: Asked = []

    warm_up([TableArm("off", asked), TableArm("3", asked, must_draft=True, drafted=9)], plan())
    with pytest.raises(LocalspecError, match="arm 3 does not draft"):
        warm_up([TableArm("3", asked, must_draft=True)], plan())

    assert [(name, tokens) for name, *_, tokens in asked] == [("off", 16), ("3", 16), ("3", 16)]


def test_a_process_that_works_when_it_should_be_idle_is_seen() -> None:
    clock = Clock([os.getpid()])
    clock.start()
    spent = sum(os.times()[:2])
    while sum(os.times()[:2]) < spent + 0.2:
        pass

    shares = clock.stop(working=-1)
    clock.start()
    own = clock.stop(working=os.getpid())

    assert shares.idle > 0
    assert own.idle == 0
