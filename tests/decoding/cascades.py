"""Scenarios in which the draft model is drafted for in its turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from localspec.decoding.acceptance import rule_for
from localspec.decoding.draft_length import STOP, DraftPlan, FixedLength
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.cascade import CascadeDrafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.drafters.model_source import draft_sampling
from localspec.decoding.drafters.ngram import NgramDrafter, NgramLookup
from localspec.decoding.rounds import Draft, Turn
from tests.decoding.exactness import Tally
from tests.decoding.scenarios import (
    CLOSE,
    FAR,
    OTHER_DRAFTS,
    SCENARIOS,
    TARGET,
    ExactTarget,
    GuessingDrafter,
    RuleMaker,
    Scenario,
    answer_once,
)
from tests.decoding.table_model import Table, TableModel, near, random_table

REPEATING = (1, 2, 3, 1, 2, 4, 0, 5, 6, 1, 2, 3)
CLOSER = near(CLOSE, 31, 0.6)
SMALL = near(CLOSE[:5, :5], 32, 0.5)


class OneRound(FixedLength):
    """One step of the draft model, whatever it brings."""

    def plan(self, room: int) -> DraftPlan:
        plan = super().plan(room)
        choose = plan.choose
        plan.choose = lambda offers: STOP if plan.verified() else choose(offers)  # type: ignore[method-assign]
        return plan


@dataclass(frozen=True, slots=True)
class Cascade(Scenario):
    """A draft model of the first table, drafted for by that of the second, and so on.

    Attributes:
        tables: of the draft models, the one that drafts for the target first.
        last: who drafts for the last of them: "ngram", or a key of OTHER_DRAFTS; "" for nobody.
        one_round: whether a draft is what one inner round brings.
    """

    tables: Sequence[Table] = field(default_factory=lambda: (CLOSE,))
    last: str = "ngram"
    one_round: bool = False
    draft_length: int = 5
    prompt: tuple[int, ...] = REPEATING
    answer: int = 14

    def length(self) -> FixedLength:
        return OneRound(self.draft_length) if self.one_round else FixedLength(self.draft_length)

    def drafter(self) -> Drafter:
        return cascade_of([TableModel(table) for table in self.tables], self.target.shape[-1], self.last)


def cascade_of(models: Sequence[TableModel], vocabulary: int, last: str = "ngram") -> Drafter:
    """Each model drafts for the one before it, the first for a target of this vocabulary."""
    sizes = [vocabulary]
    for model in models:
        sizes.append(min(sizes[-1], model.vocabulary_size))
    if last:
        guessing = NgramDrafter(NgramLookup()) if last == "ngram" else GuessingDrafter(sizes[-1], OTHER_DRAFTS[last])
        drafter: Drafter = guessing
    else:
        *models, model = models
        drafter = ModelDrafter(model, sizes[len(models)])
    for model, size in zip(reversed(models), reversed(sizes[: len(models)]), strict=True):
        drafter = CascadeDrafter(model, drafter, size)
    return drafter


class WatchedDrafter:
    """Another drafter, and who is told of every draft it makes."""

    def __init__(self, drafter: Drafter, told: Callable[[Sequence[int], Draft], None]) -> None:
        self.name = drafter.name
        self.prepare = drafter.prepare
        self.agree = drafter.agree
        self._drafter = drafter
        self._told = told

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        draft = self._drafter.draft(text, limit, turn)
        assert len(draft.tokens) <= limit
        self._told(tuple(text), draft)
        return draft


def gather_drafts(
    scenario: Cascade, rule_name: str, answers: int, rule_maker: RuleMaker = rule_for
) -> tuple[Tally, list[tuple[Draft, int]]]:
    """Tally the guesses of many answers as tokens of the draft model, by their place in the draft.

    Returns:
        The tally, and the guesses whose claimed q is not the draft model's own distribution after all before them.
    """
    tally, wrong = Tally(), []
    table = scenario.tables[0][..., : scenario.target.shape[-1]]
    exact = ExactTarget(table, draft_sampling(scenario.sampling))

    def told(text: Sequence[int], draft: Draft) -> None:
        for place, token in enumerate(draft.tokens):
            q, before = exact.after((*text, *draft.tokens[:place])), (*text, *draft.tokens)[len(text) + place - 1]
            tally.add((place, before), q, token)
            claimed = draft.distributions[place]
            if claimed is None or any(abs(claimed.probability(i) - q[i]) > 1e-5 for i in range(q.size)):
                wrong.append((draft, place))

    target, drafter = TableModel(scenario.target), WatchedDrafter(scenario.drafter(), told)
    for seed in range(answers):
        seeded = replace(scenario, sampling=replace(scenario.sampling, seed=seed))
        answer_once(seeded, target, drafter, rule_maker(rule_name, seeded.sampling))
    return tally, wrong


FEW_DRAFT = random_table(812, 3, spread=2.5)
FEW = Cascade(
    target=random_table(312, 3, spread=2.5),
    tables=(FEW_DRAFT,),
    draft_length=3,
    answer=5,
    prompt=(1, 2, 1),
    together=(3,),
)
"""Where tokens are few, errors show soon."""

CASCADES: dict[str, Cascade] = {
    "lookup": Cascade(),
    "lookup, far draft": Cascade(tables=(FAR,)),
    "lookup, longer": Cascade(draft_length=9, tables=(near(TARGET, 33, 0.3),)),
    "model": Cascade(tables=(CLOSE, CLOSER), last=""),
    "far model": Cascade(tables=(CLOSE, FAR), last=""),
    "sparse q": Cascade(last="sparse q"),
    "dense q": Cascade(last="dense q", tables=(FAR,)),
    "deterministic": Cascade(last="deterministic"),
    "three models": Cascade(tables=(CLOSE, CLOSER, FAR), last="", draft_length=7),
    "two models and a lookup": Cascade(tables=(FAR, near(FAR, 34, 0.6)), draft_length=7),
    "top-k and top-p": Cascade(SCENARIOS["top-k and top-p"].sampling, tables=(FAR, near(FAR, 35, 0.6)), last=""),
    "all truncations": Cascade(SCENARIOS["all truncations"].sampling),
    "all truncations, model": Cascade(SCENARIOS["all truncations"].sampling, tables=(CLOSE, FAR), last=""),
    "everything": Cascade(SCENARIOS["everything"].sampling, tables=(CLOSE, CLOSER), last=""),
    "frequency penalty": Cascade(SCENARIOS["frequency penalty"].sampling, last="sparse q"),
    "smaller draft vocabulary": Cascade(
        SCENARIOS["smaller draft vocabulary"].sampling, tables=(SMALL,), prompt=(1, 2, 3, 1, 2, 4, 0, 1, 2)
    ),
    "smaller inner vocabulary": Cascade(tables=(CLOSE, SMALL), last=""),
    "larger draft vocabulary": Cascade(tables=(random_table(7, 11), random_table(36, 13)), last=""),
    "order 2": Cascade(
        target=random_table(8, 5, order=2),
        tables=(near(random_table(8, 5, order=2), 37, 0.7), random_table(9, 5)),
        last="",
        prompt=(1, 2, 3, 1, 2, 4, 0),
    ),
    "one round, lookup": Cascade(one_round=True),
    "one round, model": Cascade(tables=(CLOSE, FAR), last="", one_round=True),
    "one round, sparse q": Cascade(last="sparse q", one_round=True),
    "one round, far draft": Cascade(last="dense q", tables=(FAR,), draft_length=3, one_round=True, answer=8),
    "draft length 1": Cascade(draft_length=1, answer=6),
    "few tokens, two blocks": replace(
        FEW, tables=(FEW_DRAFT, random_table(813, 3, spread=1.5)), last="", draft_length=4, answer=9, together=(3, 3)
    ),
    "few tokens, guesses": replace(FEW, last="deterministic"),
    "few tokens, one round": replace(FEW, last="deterministic", one_round=True),
    "few tokens, one round, model": replace(
        FEW, tables=(FEW_DRAFT, random_table(813, 3, spread=1.5)), last="", one_round=True
    ),
}
