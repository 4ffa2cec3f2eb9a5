"""The search on made-up models, where what each layer is worth is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from localspec.bench import theory
from localspec.bench.pruning.search import FINALISTS, Search, Space, best_guessing
from localspec.engine.prunings import Cut, JudgedCut

FLAT = tuple(1.0 + 0.02 * width for width in range(32))
"""Passes that hardly cost more when they are wider, as on a GPU."""
STEEP = tuple(1.0 + 0.6 * width for width in range(32))
"""Passes that cost more for each token than any guess can save."""


@dataclass
class MadeUp:
    """A model of equal layers each of which costs some agreement, with a clock that a measurement moves.

    Attributes:
        harms: agreement that is lost without a layer.
        types: step and agreement kept when requantized, by type.
        seconds: of a measurement.
    """

    harms: Sequence[float]
    types: dict[str, tuple[float, float]] = field(default_factory=dict)
    seconds: float = 1.0
    now: float = 0.0
    asked: list[Cut] = field(default_factory=list)

    def judge(self, cut: Cut) -> JudgedCut:
        self.now += self.seconds
        self.asked.append(cut)
        step, agreement = self.types[cut.file_type] if cut.file_type else (1.0, 1.0)
        left = 1 - len(cut.dropped) / len(self.harms)
        kept = max(0.0, agreement - sum(self.harms[layer] for layer in cut.dropped))
        return JudgedCut(cut, int(1e9 * left * step), kept, 0.05 + 0.95 * left * step)

    def search(
        self, curve: Sequence[float], seconds: float = 1e6, judge: Callable[[Cut], JudgedCut] | None = None
    ) -> Search:
        space = Space(range(len(self.harms)), (None, *self.types), curve)
        return Search(space, judge or self.judge, seconds, lambda: self.now)


def test_the_choice_maximises_the_predicted_speed_up_and_not_the_agreement() -> None:
    model = MadeUp([0.2] + [0.01] * 18 + [0.2])
    search = model.search(FLAT)
    best = search.run()[0]
    tried = list(search.tried.values())
    assert best.speed_up == max(each.speed_up for each in tried) > 1
    assert best.judged.agreement < max(each.judged.agreement for each in tried)
    assert len(best.judged.cut.dropped) > 10
    assert not {0, 19} & set(best.judged.cut.dropped)


def test_a_cheaper_draft_that_agrees_less_wins_where_guesses_are_dear() -> None:
    model = MadeUp([0.3] * 8, {"Q4_0": (0.5, 0.9)})
    best = model.search(FLAT).run()[0]
    assert best.judged.cut == Cut((), "Q4_0")


def test_the_prediction_is_the_papers_formula_on_the_measured_curve() -> None:
    best = best_guessing(0.8, FLAT, 0.2)
    assert best == theory.best_draft_length(0.8, FLAT, 0.2)
    losing = best_guessing(0.5, STEEP, 0.8)
    assert losing.drafted >= 1
    assert losing.speed_up == theory.measured_speed_up(0.5, losing.drafted, STEEP, 0.8) < 1


def test_where_nothing_pays_the_best_is_known_all_the_same() -> None:
    best = MadeUp([0.05] * 12).search(STEEP).run()
    assert len(best) == FINALISTS
    assert all(0 < each.speed_up < 1 and each.best.drafted for each in best)
    assert [each.speed_up for each in best] == sorted((each.speed_up for each in best), reverse=True)


def test_sets_stop_growing_where_not_even_free_guesses_could_win() -> None:
    model = MadeUp([0.25] * 20)
    model.search(FLAT).run()
    # Without four of them nothing agrees any more: larger sets are not tried.
    assert max(len(cut.dropped) for cut in model.asked) <= 5


def test_a_short_time_leaves_layers_out_in_groups_and_ends_in_time() -> None:
    model = MadeUp([0.01] * 60)
    model.search(FLAT, seconds=40).run()
    assert model.now <= 40 + model.seconds
    singles = [cut for cut in model.asked if cut.dropped == tuple(range(cut.dropped[0], cut.dropped[-1] + 1))]
    assert max(len(cut.dropped) for cut in singles[:15]) > 1
    dropped = {layer for cut in model.asked for layer in cut.dropped}
    assert dropped == set(range(60))


def test_no_draft_is_measured_twice() -> None:
    model = MadeUp([0.02, 0.3] * 8, {"Q4_0": (0.5, 0.95)})
    model.search(FLAT).run()
    assert len(model.asked) == len(set(model.asked))


def test_what_llama_cpp_cannot_use_is_never_chosen() -> None:
    model = MadeUp([0.01] * 10)

    def judge(cut: Cut) -> JudgedCut:
        judged = model.judge(cut)
        return JudgedCut(cut, 0, 0.0, 0.0, "It says no.") if 3 in cut.dropped else judged

    search = model.search(FLAT, judge=judge)
    best = search.run()
    assert all(3 not in each.judged.cut.dropped for each in best)
    assert any(each.judged.trouble for each in search.tried.values())
    nothing = model.search(FLAT, judge=lambda cut: JudgedCut(cut, 0, 0.0, 0.0, "It says no."))
    assert nothing.run() == []


def test_an_error_ends_the_search() -> None:
    def judge(_: Cut) -> JudgedCut:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        MadeUp([0.1] * 8).search(FLAT, judge=judge).run()
