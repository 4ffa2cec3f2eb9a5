"""What a draft that is itself drafted for is worth, where passes cost what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from localspec.decoding.acceptance import rule_for
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.draft_length import LONGEST_DRAFT, DraftLength, FixedLength, Offers
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import DraftPass, Origin, Prediction, Round, Turn
from localspec.decoding.sampling_settings import SamplingSettings
from tests.decoding.answers import GREEDY, Pair
from tests.decoding.cascades import cascade_of
from tests.decoding.processes import FLAT
from tests.decoding.scenarios import PLAIN
from tests.decoding.table_model import Table, TableModel, near, random_table

STEP = 0.15


def costs() -> PassCosts:
    draft = {width: STEP * (1 + 0.25 * (width - 1)) for width in range(1, LONGEST_DRAFT + 2)}
    return PassCosts(dict(enumerate(FLAT, 1)), draft)


def seconds(rounds: Sequence[Round]) -> float:
    """What the passes of these rounds cost by the figures that hold."""
    return sum(costs().round(finished) for finished in rounds)


class Timed(AdaptiveLength):
    """Takes every pass to have lasted as long as the figures say."""

    def __init__(
        self, costs: PassCosts, knowledge: Knowledge, *, greedy: bool, told: list[Round] | None = None
    ) -> None:
        super().__init__(costs, knowledge, greedy=greedy)
        self._told = told

    def below(self) -> DraftLength:
        assert self.costs.below is not None
        return Timed(self.costs.below, self.knowledge.below, greedy=self._greedy, told=self._told)

    def observe(self, finished: Round) -> None:
        passes = tuple(replace(each, seconds=self.costs.draft(each.width)) for each in finished.passes)
        finished = replace(finished, passes=passes, target_seconds=self.costs.target(finished.width))
        super().observe(finished)


def written(
    target: TableModel, drafter: Drafter, sampling: SamplingSettings, knowledge: Knowledge, prompt: Sequence[int]
) -> Pair[TableModel]:
    rule = "greedy" if sampling.temperature == 0 else "coupled"
    length = Timed(costs(), knowledge, greedy=sampling.temperature == 0)
    pair = Pair(target, drafter, list(prompt))
    pair.answer(Turn(sampling, rule_for(rule, sampling), length, max_tokens=150))
    return pair


WIDE = random_table(50, 400, spread=2.5)
WIDE_DRAFT = near(WIDE, 51, 0.5)


def both(sampling: SamplingSettings, draft: Table, answers: int) -> tuple[float, float, list[Round]]:
    """Seconds of answers by the draft model alone and by a cascade of it and a lookup; the rounds of the cascade."""
    known = Knowledge(), Knowledge()
    spent, rounds = [0.0, 0.0], []
    for seed in range(answers):
        texts = []
        for i, drafter in enumerate((ModelDrafter(TableModel(draft), 400), cascade_of([TableModel(draft)], 400))):
            pair = written(TableModel(WIDE), drafter, replace(sampling, seed=seed), known[i], (seed, 2, 3))
            spent[i] += seconds(pair.rounds)
            texts.append(pair.text)
            if i:
                rounds += pair.rounds
        assert texts[0] == texts[1]
    return spent[0], spent[1], rounds


def test_where_no_lookup_helps_the_draft_model_a_cascade_costs_hardly_more() -> None:
    alone, cascaded, rounds = both(PLAIN, WIDE_DRAFT, 12)

    assert cascaded <= 1.03 * alone
    assert sum(len(finished.drafted) for finished in rounds) > 500


def test_where_the_text_repeats_itself_a_cascade_costs_much_less() -> None:
    """At temperature 0 a table model goes round in circles."""
    alone, cascaded, rounds = both(GREEDY, near(WIDE, 52, 0.001), 6)

    assert cascaded < 0.8 * alone
    assert sum(len(finished.passes) for finished in rounds) < 0.5 * sum(len(finished.drafted) for finished in rounds)


def test_where_the_draft_model_never_repeats_what_the_text_does_a_cascade_costs_hardly_more() -> None:
    """The target goes round in a circle that the draft model would leave each time."""
    alone, cascaded, _ = both(GREEDY, WIDE_DRAFT, 6)

    assert cascaded <= 1.03 * alone


def test_a_step_that_saves_is_worth_more() -> None:
    """Where the draft model is too slow to guess token by token, it may still guess several at once."""
    slow = PassCosts(dict(enumerate(FLAT, 1)), {1: 1.4, 32: 2.0})
    plan = AdaptiveLength(slow, Knowledge(), greedy=True).plan(20)

    assert not plan.choose(Offers(unread=1)).step
    assert plan.choose(Offers(unread=1, saving=1.5)).step


def test_what_guesses_save_is_the_passes_of_the_tokens_they_bring_less_their_own_width() -> None:
    length = AdaptiveLength(costs().below or costs(), Knowledge(), greedy=True)
    wider = 0.25 * STEP

    assert length.saving(()) == 0
    assert length.saving([Prediction(0, 0.8)]) == pytest.approx(0.8 * STEP - wider)
    assert length.saving([Prediction(0, 0.8), Prediction(0, 0.5)]) == pytest.approx((0.8 + 0.4) * STEP - 2 * wider)
    assert length.saving([Prediction(0, 0.1)]) < 0
    assert FixedLength(4).saving([Prediction(0, 0.8)]) == 0


def inner_round(guesses: int, kept: int, lookahead: int) -> Round:
    width = 1 + guesses + lookahead
    own = Origin.CORRECTION if kept < guesses else Origin.BONUS
    return Round(
        drafted=(0,) * guesses,
        path=tuple(range(kept)),
        tokens=(0,) * (kept + 1),
        origins=(*(Origin.DRAFT,) * kept, own if guesses else Origin.PLAIN),
        sources=("ngram",) * guesses,
        predictions=(),
        passes=(),
        target_seconds=STEP * (1 + 0.25 * (width - 1)),
        seconds=1.0,
        lookahead=lookahead,
    )


def test_the_level_below_has_the_draft_models_costs_and_knowledge_of_its_own() -> None:
    above = AdaptiveLength(costs(), Knowledge(), greedy=False)
    below = above.below()

    assert isinstance(below, AdaptiveLength)
    assert below.costs.target_curve == pytest.approx([costs().draft(width) for width in range(1, LONGEST_DRAFT + 2)])
    assert below.knowledge is above.knowledge.below is not above.knowledge
    assert below.below() == FixedLength(0)
    assert FixedLength(5).below() == FixedLength(5)


def test_what_is_known_of_the_level_below_is_kept_and_costs_are_learned_on() -> None:
    known = Knowledge()
    assert known.state()["below"] is None
    known.below.judged = 17
    again = Knowledge()
    again.restore(known.state())
    assert again.below.judged == 17
    held = costs()
    assert held.below is held.below is not None
    third = PassCosts({1: 0.1}, {1: 0.02})
    assert PassCosts({1: 1.0}, {1: 0.1}, third).below is third
    assert PassCosts({1: 1.0}, {}).below is None


def test_passes_of_deeper_models_tell_nothing_of_the_draft_models_costs() -> None:
    held = costs()
    for _ in range(60):
        held.observe(replace(inner_round(0, 0, 0), target_seconds=1.0, passes=(DraftPass(1, 50.0, depth=1),)))

    assert held.draft(1) == pytest.approx(STEP)
    assert held.round(replace(inner_round(0, 0, 0), passes=(DraftPass(1, 50.0, 1), DraftPass(2, 9.0)))) == (
        pytest.approx(1.0 + 50.0 + 1.25 * STEP)
    )


def test_passes_that_verified_guesses_for_the_draft_model_tell_nothing_of_its_steps() -> None:
    """They put out a row for each guess, and each is a round of its own, which has told what it cost."""
    held = costs()
    assert held.below is not None
    for _ in range(60):
        verified = DraftPass(4, 9.0, rows=4, verified=True)
        held.observe(replace(inner_round(0, 0, 0), target_seconds=1.0, passes=(verified,)))

    assert held.draft(1) == pytest.approx(STEP)
    assert held.below.target(4) == pytest.approx(costs().draft(4))


def test_a_cascade_tells_which_of_its_passes_verified_guesses() -> None:
    draft = near(WIDE, 52, 0.001)
    pair = written(TableModel(WIDE), cascade_of([TableModel(draft)], 400), GREEDY, Knowledge(), (1, 2, 3))
    passes = [each for finished in pair.rounds for each in finished.passes if not each.depth]

    assert {each.verified for each in passes} == {True, False}
    assert all(each.verified == (each.rows > 1) for each in passes)
