"""Sources that take turns within an answer, each judged by its own rule, leave the text the target's own.

Which source is next depends on the token written last: the hardest case, as what was written decides how it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from localspec.decoding.acceptance import AcceptanceRule, rule_for
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.chosen import ChosenDrafter, ChosenRule
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.drafters.ngram import NgramLookup
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.drafters.tree import TreeDrafter
from localspec.decoding.rounds import Draft, Turn
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.seeds import seed_of
from localspec.decoding.source_choice import SourceChoice
from tests.decoding.exactness import find_error
from tests.decoding.scenarios import CLOSE, FAR, SCENARIOS, Scenario, gather
from tests.decoding.table_model import TableModel

SOURCES = ("model", "tree", "none")
ANSWERS = 900
"""Enough to find a draft that the wrong rule judges."""


class ByTheLastToken(SourceChoice):
    """Names the source that the last token of the text stands for."""

    def __init__(self) -> None:
        self.source = SOURCES[0]

    @property
    def current(self) -> str:
        return self.source

    def follow(self, text: Sequence[int]) -> None:
        self.source = SOURCES[text[-1] % len(SOURCES)]


class Following(ChosenDrafter):
    """Tells the choice how the text goes on, as a session does after each round."""

    def __init__(self, drafters: dict[str, Drafter], rules: dict[str, AcceptanceRule], choice: ByTheLastToken) -> None:
        super().__init__(drafters, rules, choice)
        self.choice = choice

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        self.choice.follow(text)
        super().prepare(text, cancelled)

    def agree(self, text: Sequence[int], length: int) -> None:
        super().agree(text, length)
        self.choice.follow(text[: length + 1])


@dataclass
class Answers:
    """Makes drafters and rules of answers that share a choice."""

    scenario: Scenario
    acceptance: str = "auto"
    drafting: type[Following] = Following

    def __post_init__(self) -> None:
        self.choice = ByTheLastToken()
        self.rules: dict[str, AcceptanceRule] = {}

    def drafter(self) -> Drafter:
        size = self.scenario.target.shape[-1]
        drafters: dict[str, Drafter] = {
            "model": ModelDrafter(TableModel(CLOSE), size),
            "tree": TreeDrafter(TableModel(FAR), size, NgramLookup()),
            "none": NoDrafter(),
        }
        return self.drafting(drafters, self.rules, self.choice)

    def rule(self, name: str, sampling: SamplingSettings) -> AcceptanceRule:  # noqa: ARG002 # each source has its own
        self.rules.clear()
        for source in SOURCES:
            seed = seed_of(sampling.seed or 0, f"the rule of {source}")
            self.rules[source] = rule_for(self.acceptance, replace(sampling, seed=seed), source)
        return ChosenRule(self.rules, self.choice)


def error_of(name: str, answers: Answers, count: int = ANSWERS) -> object:
    class Taking(Scenario):
        def drafter(self) -> Drafter:
            return answers.drafter()

    plain = SCENARIOS[name]
    taking = Taking(plain.sampling, answer=plain.answer, together=(3, 3))
    tally = gather(taking, "block", count, answers.rule)
    return find_error(tally.tests(), tally)


@pytest.mark.parametrize(
    ("name", "acceptance"),
    [
        *(("dense", acceptance) for acceptance in ("auto", "rejection", "coupled")),
        *(("top-p", acceptance) for acceptance in ("auto", "coupled")),
        ("frequency penalty", "auto"),
    ],
)
def test_the_text_is_the_targets_whichever_source_guessed(name: str, acceptance: str) -> None:
    assert error_of(name, Answers(SCENARIOS[name], acceptance)) is None


class AskedAnother(Following):
    """A draft whose first guess is an even number is thrown away, and another source asked."""

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        draft = super().draft(text, limit, turn)
        if draft.tokens and draft.tokens[0] % 2 == 0:
            self.choice.source = "none"
            return Draft()
        return draft


class JudgedByTheNext(Following):
    """The choice moves on between the draft and its verification."""

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        draft = super().draft(text, limit, turn)
        if self.choice.source == "model":
            self.choice.source = "lenient"
        return draft


def test_a_source_that_is_left_for_what_it_guessed_bends_the_text() -> None:
    assert error_of("dense", Answers(SCENARIOS["dense"], drafting=AskedAnother), 2 * ANSWERS) is not None


def test_a_draft_that_another_rule_judges_bends_the_text() -> None:
    answers = Answers(SCENARIOS["dense"], drafting=JudgedByTheNext)
    judge = answers.rule

    def with_lenient(name: str, sampling: SamplingSettings) -> AcceptanceRule:
        rule = judge(name, sampling)
        answers.rules["lenient"] = rule_for("typical", sampling)
        return rule

    answers.rule = with_lenient  # type: ignore[method-assign] # the error
    assert error_of("dense", answers) is not None
