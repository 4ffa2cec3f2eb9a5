"""The rule on machines and texts without models: near the best fixed length where one is best, better where none is.

A fixed length is chosen in hindsight, for the very text it is measured on: what the rule has to learn is given to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.calibration import BINS
from localspec.decoding.draft_length import LONGEST_DRAFT, STOP, Choice, Offers
from localspec.decoding.drafters.ngram_levels import NGRAM_PRIORS
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Origin, Round
from tests.decoding.processes import (
    CPU_STEPS,
    CUDA_CLIFF,
    FLAT,
    LINEAR,
    Place,
    Process,
    Written,
    best_fixed_speed,
    fixed_speed,
    informative,
    passages,
    uninformative,
    write,
)


@dataclass(frozen=True, slots=True)
class Machine:
    curve: Sequence[float]
    step: float

    def costs(self) -> PassCosts:
        draft = {width: self.step * (1 + 0.4 * (width - 1)) for width in range(1, LONGEST_DRAFT + 2)}
        return PassCosts(dict(enumerate(self.curve, 1)), draft)

    def rule(self, knowledge: Knowledge | None = None, *, greedy: bool = True) -> AdaptiveLength:
        return AdaptiveLength(self.costs(), knowledge or Knowledge(), greedy=greedy)

    def against_the_best(self, places: Sequence[Place]) -> float:
        """The rule's speed over that of the best fixed length."""
        knowledge = Knowledge()
        answers = [places[i : i + ANSWER] for i in range(0, len(places), ANSWER)]
        seconds = sum(len(each) / write(each, self.rule(knowledge), self.curve, self.step).speed for each in answers)
        return len(places) / seconds / best_fixed_speed(places, self.curve, self.step)


MACHINES = {
    "steps": Machine(CPU_STEPS, 0.18),
    "cliff": Machine(CUDA_CLIFF, 0.25),
    "flat": Machine(FLAT, 0.1),
    "linear": Machine(LINEAR, 0.18),
    "slow draft": Machine(CPU_STEPS, 0.5),
}
WHERE_GUESSES_PAY = ["steps", "cliff", "flat"]
TOKENS = 2000
ANSWER = 500


@pytest.mark.parametrize("process", [informative, uninformative])
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("acceptance", [0.0, 0.4, 0.7, 0.9])
def test_it_comes_within_5_percent_of_the_best_fixed_length(name: str, acceptance: float, process: Process) -> None:
    assert MACHINES[name].against_the_best(process(acceptance, TOKENS, 1)) >= 0.95


@pytest.mark.parametrize("acceptance", [0.95, 0.98])
@pytest.mark.parametrize("name", MACHINES)
def test_so_it_does_with_a_draft_that_is_nearly_always_right(name: str, acceptance: float) -> None:
    assert MACHINES[name].against_the_best(informative(acceptance, TOKENS, 1)) >= 0.95


@pytest.mark.parametrize("length", [40, 300])
@pytest.mark.parametrize("hard", [0.1, 0.5])
@pytest.mark.parametrize("name", WHERE_GUESSES_PAY)
def test_it_is_quicker_than_every_fixed_length_where_easy_and_hard_passages_alternate(
    name: str, hard: float, length: int
) -> None:
    places = passages(informative, (0.95, hard), length, TOKENS, 1)

    assert MACHINES[name].against_the_best(places) > 1.02


@pytest.mark.parametrize("name", WHERE_GUESSES_PAY)
def test_it_tells_passages_apart_by_what_became_of_the_last_guesses(name: str) -> None:
    """The confidence says nothing here; half of each passage is over before it can be known."""
    places = passages(uninformative, (0.95, 0.1), 300, TOKENS, 1)

    assert MACHINES[name].against_the_best(places) > 0.96


@pytest.mark.parametrize("confidence", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("name", MACHINES)
def test_a_useless_draft_costs_at_most_3_percent(name: str, confidence: float) -> None:
    machine = MACHINES[name]
    written = write([Place(confidence, right=False)] * 4000, machine.rule(), machine.curve, machine.step)

    assert written.speed * machine.curve[0] >= 0.97


@pytest.mark.parametrize("name", WHERE_GUESSES_PAY)
def test_trials_are_rare_and_bring_drafting_back_when_the_draft_becomes_good(name: str) -> None:
    machine, knowledge = MACHINES[name], Knowledge()
    useless = [[Place(each.greatest, right=False) for each in informative(0.9, 200, seed)] for seed in range(15)]
    good = [informative(0.9, 200, seed) for seed in range(25)]

    def answer(places: Sequence[Place]) -> Written:
        return write(places, machine.rule(knowledge), machine.curve, machine.step)

    settled = [each for places in useless for each in answer(places).rounds][1000:]
    assert any(each.drafted for each in settled)
    assert sum(each.seconds for each in settled) <= 1.02 * len(settled)

    speeds = [answer(places).speed / best_fixed_speed(places, machine.curve, machine.step) for places in good]
    assert min(speeds[-5:]) > 0.9


def test_what_was_learned_serves_the_next_answer() -> None:
    machine, knowledge = MACHINES["slow draft"], Knowledge()
    places = uninformative(0.1, 200, 1)
    first = write(places, machine.rule(knowledge), machine.curve, machine.step).speed
    later = [write(places, machine.rule(knowledge), machine.curve, machine.step).speed for _ in range(5)]

    assert min(later) > first
    assert later[-1] > 0.99 * fixed_speed(places, 0, machine.curve, machine.step)


def test_the_same_text_is_written_in_the_same_rounds() -> None:
    machine, places = MACHINES["steps"], informative(0.7, 600, 3)

    once, again = (write(places, machine.rule(), machine.curve, machine.step).rounds for _ in range(2))

    assert once == again


def test_it_follows_costs_that_change() -> None:
    """Guessing pays on a flat curve; heat makes the draft model ten times as slow: then it does not."""
    flat, hot = Machine(FLAT, 0.2), Machine(FLAT, 2.0)
    rule, places = flat.rule(), informative(0.8, 1200, 1)
    assert write(places, rule, flat.curve, flat.step).speed > 1.5

    write(places[:600], rule, hot.curve, hot.step)
    speed = write(places[600:], rule, hot.curve, hot.step).speed

    assert speed > 0.95


def test_the_first_drafts_are_short() -> None:
    rule = MACHINES["flat"].rule()
    plan = rule.plan(31)
    drafted = 0
    while plan.choose(Offers(unread=1)).step and plan.keeps(1.0):
        plan.drawn(1.0, likeliest=True)
        drafted += 1

    assert drafted == 3


def test_there_is_no_more_than_room_for() -> None:
    experienced = Knowledge()
    experienced.judged = 1000
    for room in (0, 1, 4):
        plan = MACHINES["flat"].rule(experienced).plan(room)
        sure = [len(NGRAM_PRIORS) - 1] * 10
        assert plan.choose(Offers(looked_up=sure)).looked_up == room

        plan = MACHINES["flat"].rule(experienced).plan(room)
        for _ in range(room):
            assert plan.choose(Offers(unread=1)) == Choice(step=True)
            plan.drawn(1.0, likeliest=True)
        assert plan.choose(Offers(unread=1)) == STOP


def test_without_a_draft_model_only_what_was_looked_up_is_verified() -> None:
    rule = AdaptiveLength(PassCosts(dict(enumerate(CPU_STEPS, 1)), {}), Knowledge(), greedy=True)
    rule.knowledge.judged = 1000
    plan = rule.plan(20)

    assert plan.choose(Offers()) == STOP
    assert plan.choose(Offers(looked_up=[0, 0, 0])) == STOP
    assert plan.choose(Offers(looked_up=[9, 9, 9])) == Choice(looked_up=3)


STEEP = Machine([1.0, 1.1, *(1.7 + 0.6 * width for width in range(30))], 0.05)


def test_guesses_that_turned_out_unlikely_are_left_out() -> None:
    """q was sure, then the noise chose another token: whatever was guessed from there on is worth nothing."""
    plan = STEEP.rule(greedy=False).plan(3)
    plan.drawn(0.9995, likeliest=True)
    plan.drawn(0.9995, likeliest=False)
    plan.drawn(0.9995, likeliest=True)

    assert plan.verified() == 1
    assert len(plan.predictions) == 3


def test_a_trial_is_verified_though_it_is_not_worth_it() -> None:
    machine = MACHINES["linear"]
    useless = [Place(0.5, right=False)] * 600
    rule = machine.rule()
    write(useless, rule, machine.curve, machine.step)
    trials = 0
    for _ in range(300):
        plan = rule.plan(5)
        if plan.choose(Offers(unread=1)).step:
            assert plan.keeps(0.1)
            plan.drawn(0.1, likeliest=True)
            assert plan.choose(Offers(unread=1)) == STOP
            assert plan.verified() == 1
            trials += 1
        else:
            write(useless[:1], rule, machine.curve, machine.step)

    assert 0 < trials < 30


def test_what_was_looked_up_counts_less_where_a_model_must_read_it() -> None:
    """A model that is sure goes before a lookup that is almost as good: the next guess would be late."""
    machine, knowledge = MACHINES["slow draft"], Knowledge()
    knowledge.judged = 1000
    for _ in range(300):
        knowledge.calibrations["model"].observe(BINS - 1, kept=True)
        knowledge.moved(-1, BINS - 1)
        knowledge.moved(BINS - 1, BINS - 1)
    plan = machine.rule(knowledge).plan(7)

    assert plan.choose(Offers(unread=1, looked_up=[9] * 7)) == Choice(step=True)
    assert plan.choose(Offers(unread=0, looked_up=[9] * 7)) == Choice(looked_up=7)


def test_rounds_of_a_source_that_asks_for_no_plan_do_not_tell_again_what_the_last_plan_saw() -> None:
    machine = MACHINES["flat"]
    rule = machine.rule()
    plan, fresh = rule.plan(1), rule.knowledge.moves
    assert plan.keeps(0.9)
    plan.drawn(0.9, likeliest=True)
    plain = Round((), (), (1,), (Origin.PLAIN,), (), (), (), machine.curve[0], machine.curve[0])
    rule.observe(plain)
    before = rule.knowledge.moves
    assert (before != fresh).any()
    for _ in range(50):
        rule.observe(plain)

    assert (rule.knowledge.moves == before).all()
