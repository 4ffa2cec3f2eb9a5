"""What lookahead decoding verifies, and whether its window rides, follows from what passes cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from localspec.decoding.acceptance import rule_for
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.draft_length import DraftLength, FixedLength
from localspec.decoding.drafters.lookahead import LookaheadDrafter
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Round, Turn
from tests.decoding.answers import GREEDY, Pair
from tests.decoding.processes import CPU_STEPS, CUDA_CLIFF, FLAT, LINEAR
from tests.decoding.table_model import Table, TableModel, random_table
from tests.decoding.test_lookahead import ALL_ALONG, CYCLE, PROMPT, cycle, pair, plain_answer


def with_length(length: DraftLength, tokens: int) -> Turn:
    return Turn(GREEDY, rule_for("greedy", GREEDY), length, max_tokens=tokens)


def adaptive(curve: Sequence[float], knowledge: Knowledge | None = None) -> AdaptiveLength:
    return AdaptiveLength(PassCosts(dict(enumerate(curve, 1)), {}), knowledge or Knowledge(), greedy=True)


class Timed(AdaptiveLength):
    """Is told what passes take, instead of what they took here."""

    def observe(self, finished: Round) -> None:
        super().observe(replace(finished, target_seconds=self.costs.target(finished.width)))


def speed(table: Table, curve: Sequence[float], tokens: int, prompt: Sequence[int] = PROMPT) -> tuple[float, float]:
    """Over speculation off; and the part of the rounds in which the window rode."""
    rule = Timed(PassCosts(dict(enumerate(curve, 1)), {}), Knowledge(), greedy=True)
    watched = Pair(TableModel(table, 5000), LookaheadDrafter(), list(prompt))
    watched.answer(with_length(rule, tokens))
    seconds = sum(curve[each.width - 1] for each in watched.rounds)
    return tokens * curve[0] / seconds, sum(each.lookahead > 0 for each in watched.rounds) / len(watched.rounds)


@pytest.mark.parametrize("curve", [FLAT, CPU_STEPS, CUDA_CLIFF, LINEAR], ids=["flat", "cpu", "cliff", "linear"])
@pytest.mark.parametrize("tokens", [100, 1000])
def test_where_nothing_can_be_found_an_answer_takes_hardly_longer(curve: Sequence[float], tokens: int) -> None:
    """The model writes noise: what was found says nothing of what follows."""
    order_2 = random_table(11, 60, order=2)

    over_off, _ = speed(order_2, curve, tokens, (1, 2, 3))

    assert over_off > 0.97


def test_where_width_is_cheap_it_pays() -> None:
    over_off, rode = speed(CYCLE, FLAT, 280, ALL_ALONG)

    assert rode > 0.7
    assert over_off > 1.5


def test_where_width_is_dear_it_does_not_ride_and_the_text_is_still_repeated() -> None:
    over_off, rode = speed(CYCLE, CPU_STEPS, 280, ALL_ALONG)
    assert rode == 0
    assert over_off > 0.97

    over_off, rode = speed(cycle(40), CPU_STEPS, 600, [each % 40 for each in PROMPT])
    assert rode == 0
    assert over_off > 1.1


def test_predictions_are_made_and_judged() -> None:
    knowledge = Knowledge()
    watched = pair(cycle(40))
    watched.text = [each % 40 for each in PROMPT]
    watched.answer(with_length(adaptive(FLAT, knowledge), 200))

    assert all(len(each.predictions) == len(each.drafted) for each in watched.rounds)
    assert knowledge.judged > 50
    assert {source for each in watched.rounds for source in each.sources} == {"lookahead"}


def test_fixed_and_adaptive_write_the_same_text() -> None:
    answers = [pair(CYCLE, None).answer(with_length(length, 120)) for length in (adaptive(FLAT), FixedLength(6))]

    assert answers[0] == answers[1] == plain_answer(CYCLE, 120)
