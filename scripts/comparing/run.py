"""Asks all arms all questions, one after the other."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from comparing.arms import Arm
from comparing.prompts import Question
from comparing.quiet import Clock
from comparing.samples import Cell, Sample
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.errors import LocalspecError

WARM_UP_TOKENS = 16
"""Tokens of each arm's first answer, which does not count: pages come in, kernels are chosen, clocks go up."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask.

    Attributes:
        questions: prompts, categories in turns.
        temperatures: each prompt is asked at each of them.
        sampling: the rest of how tokens are drawn; its seed is that of the first run.
        max_tokens: most tokens of an answer.
        runs: how often.
    """

    questions: tuple[Question, ...]
    temperatures: tuple[float, ...]
    sampling: SamplingSettings
    max_tokens: int
    runs: int

    def cells(self) -> Iterator[tuple[Cell, Question]]:
        """What all arms are asked, in order."""
        for run in range(self.runs):
            for question in self.questions:
                for temperature in self.temperatures:
                    yield Cell(question.category, question.id, temperature, run), question

    def sampling_of(self, cell: Cell) -> SamplingSettings:
        """How tokens are drawn there."""
        return replace(self.sampling, temperature=cell.temperature, seed=(self.sampling.seed or 0) + cell.run)


@dataclass(frozen=True, slots=True)
class Step:
    """What is about to be done.

    Attributes:
        done: answers there are.
        total: answers there will be.
        seconds_left: a guess; None before the first answer.
        words: which arm is asked what.
    """

    done: int
    total: int
    seconds_left: float | None
    words: str


def warm_up(arms: Sequence[Arm], plan: Plan) -> None:
    """Let every arm write a few tokens.

    Raises:
        LocalspecError: an arm failed, or has a draft model and does not use it.
    """
    cell, question = next(plan.cells())
    for arm in arms:
        answer = arm.answer(question, plan.sampling_of(cell), min(WARM_UP_TOKENS, plan.max_tokens))
        if arm.must_draft and not answer.drafted and answer.tokens > 2:
            raise LocalspecError(
                f"The {arm.side}'s arm {arm.name} does not draft",
                "It has a draft model, and wrote its first answer without a guess.",
            )


def compare(arms: Sequence[Arm], plan: Plan, clock: Clock, report: Callable[[Step], None]) -> Iterator[Sample]:
    """All samples, each as soon as it is there: for each prompt every arm once, in an order drawn anew.

    Raises:
        LocalspecError: an arm failed; the samples before were passed on.
    """
    cells = list(plan.cells())
    total = len(cells) * len(arms)
    # The same order for the same seed: a run can be made again.
    dice = random.Random(plan.sampling.seed)  # noqa: S311 - an order, not a secret
    began, done = time.monotonic(), 0
    for cell, question in cells:
        for arm in dice.sample(arms, len(arms)):
            left = (time.monotonic() - began) / done * (total - done) if done else None
            words = f"{cell.prompt_id}, temperature {cell.temperature:g}, {arm.side} {arm.name}, run {cell.run + 1}"
            report(Step(done, total, left, words))
            clock.wait_until_idle()
            clock.start()
            answer = arm.answer(question, plan.sampling_of(cell), plan.max_tokens)
            shares = clock.stop(arm.pid)
            yield Sample(arm.side, arm.name, cell, answer, shares.idle, shares.elsewhere)
            done += 1
