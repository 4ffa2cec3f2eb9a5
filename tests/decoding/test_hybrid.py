"""One draft of a model and a lookup: exact, and both are left as the text is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from localspec.decoding import draft_length
from localspec.decoding.acceptance import rule_for
from localspec.decoding.drafters.drafting import Found
from localspec.decoding.drafters.hybrid import HybridDrafter
from localspec.decoding.drafters.model_source import ModelSource
from localspec.decoding.drafters.ngram import NgramDrafter, NgramLookup
from localspec.decoding.rounds import never
from tests.decoding.answers import Pair, Polls, turn
from tests.decoding.exactness import find_error
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
from tests.decoding.table_model import Table, TableModel, near, random_table


@pytest.fixture(autouse=True)
def unsure_lookups_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """In texts so short no lookup is ever sure; what is tested is that both sources go together."""
    monkeypatch.setattr(draft_length, "_SURE", 0.0)


REPEATING = (1, 2, 3, 1, 2, 4, 0, 5, 6, 1, 2, 3)


class EveryOther(NgramLookup):
    """Finds only every other token of a draft, so that the model and the lookup take turns."""

    def find(self, text: Sequence[int], drafted: Sequence[int], limit: int) -> Found:
        return super().find(text, drafted, min(limit, 1 - len(drafted) % 2))


@dataclass(frozen=True, slots=True)
class Hybrid(Scenario):
    """Drafts from the text, where it repeats itself, and else from the model of this table."""

    table: Table = field(default_factory=lambda: CLOSE)
    lookup: type[NgramLookup] = NgramLookup
    draft_length: int = 5
    prompt: tuple[int, ...] = REPEATING
    answer: int = 14

    def drafter(self) -> HybridDrafter:
        return HybridDrafter(ModelSource(TableModel(self.table), self.target.shape[-1]), self.lookup())


HYBRIDS = {
    "plain": Hybrid(),
    "in turn": Hybrid(lookup=EveryOther),
    "in turn, far draft": Hybrid(table=FAR, lookup=EveryOther, draft_length=8),
    "far draft": Hybrid(table=FAR),
    "all truncations": Hybrid(SCENARIOS["all truncations"].sampling),
    "everything": Hybrid(SCENARIOS["everything"].sampling),
    "smaller draft vocabulary": Hybrid(table=near(TARGET[:5, :5], 6, 0.5)),
    "order 2": Hybrid(target=random_table(8, 5, order=2), table=random_table(9, 5), prompt=(1, 2, 3, 1, 2, 4, 0)),
}


@pytest.mark.parametrize("rule", ["rejection", "block"])
@pytest.mark.parametrize("name", HYBRIDS)
def test_emitted_tokens_have_the_targets_distribution(name: str, rule: str) -> None:
    tally = gather(HYBRIDS[name], rule, answers=300)

    assert find_error(tally.tests(), tally) is None


@pytest.mark.parametrize("name", HYBRIDS)
def test_under_the_coupled_rule_drafts_change_no_text(name: str) -> None:
    assert seeds_whose_text_drafts_change(HYBRIDS[name], answers=20) == []


@pytest.mark.parametrize("name", HYBRIDS)
def test_at_temperature_0_every_token_is_the_targets_likeliest(name: str) -> None:
    scenario = HYBRIDS[name]
    cold = replace(scenario, sampling=replace(scenario.sampling, temperature=0.0))

    for rule in ("auto", "greedy", "rejection", "block", "coupled", "typical"):
        tally = gather(cold, rule, answers=1)
        assert find_error(tally.tests(), tally) is None


@pytest.mark.parametrize(
    ("name", "expected"), [("plain", {"ngram", "model+ngram"}), ("in turn", {"model+ngram", "ngram+model"})]
)
def test_one_draft_may_hold_guesses_of_both_sources(name: str, expected: set[str]) -> None:
    scenario = HYBRIDS[name]
    sources = set()
    for seed in range(20):
        rule = rule_for("rejection", replace(PLAIN, seed=seed))
        for finished in answer_once(scenario, TableModel(scenario.target), scenario.drafter(), rule):
            sources.add(finished.source)

    assert expected <= sources


def test_sources_can_be_shared_with_other_drafters() -> None:
    lookup = NgramLookup()
    hybrid = HybridDrafter(ModelSource(TableModel(CLOSE), 7), lookup)
    alone = NgramDrafter(lookup)
    hybrid.prepare(REPEATING, never)
    alone.prepare(REPEATING, never)

    text = [*REPEATING, 1, 2]
    assert hybrid.draft(text, 1, turn()).tokens == alone.draft(text, 1, turn()).tokens != ()


def pair() -> Pair[TableModel]:
    model = TableModel(CLOSE)
    return Pair(TableModel(TARGET), HybridDrafter(ModelSource(model, 7), NgramLookup()), list(REPEATING), model)


@pytest.mark.parametrize("cancelled_at", range(0, 60, 3))
def test_a_cancelled_answer_can_be_gone_on_with(cancelled_at: int) -> None:
    cancelled, whole = pair(), pair()
    whole.answer(turn(max_tokens=20))
    cancelled.answer(turn(max_tokens=20, cancelled=Polls(lambda poll: poll == cancelled_at)))
    cancelled.answer(turn(max_tokens=20 - (len(cancelled.text) - len(REPEATING))))

    assert cancelled.text == whole.text
