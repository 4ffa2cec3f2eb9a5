"""Block verification, worked out in full on small tables: the target's law to the last digit, and more tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from localspec.decoding.acceptance import Block
from localspec.decoding.distributions import Certain, Dense, Distribution, Sparse, excess, padded_weights
from localspec.decoding.draft_length import STOP, Choice, FixedLength, Offers
from localspec.decoding.rounds import Draft, Prediction
from tests.decoding.block_law import Case, Law, Text
from tests.decoding.exactness import find_error
from tests.decoding.scenarios import SCENARIOS, Scenario, gather

SIZE = 4


def law_of(seed: int, spread: float, *, forbidden: float = 0.0) -> Callable[[Text], Law]:
    """A law that depends on the whole text, and gives some tokens no chance."""

    @cache
    def after(text: Text) -> Law:
        rng = np.random.default_rng((seed, len(text), *text))
        weights = np.exp(rng.normal(0, spread, SIZE)) * (rng.random(SIZE) >= forbidden)
        weights[rng.integers(SIZE)] += 0.05
        law: Law = weights / weights.sum()
        return law

    return after


def mixed(p: Callable[[Text], Law], q: Callable[[Text], Law], share: float) -> Callable[[Text], Law]:
    return cache(lambda text: share * p(text) + (1 - share) * q(text))


def certain(text: Text) -> Law:
    return np.eye(SIZE)[(sum(text) * 2 + len(text)) % SIZE]


P, Q = law_of(1, 1.5), law_of(2, 1.5)
CUT_P, CUT_Q = law_of(3, 1.5, forbidden=0.4), law_of(4, 1.5, forbidden=0.4)
LAWS: dict[str, tuple[Callable[[Text], Law], Callable[[Text], Law]]] = {
    "far": (P, Q),
    "near": (P, mixed(P, Q, 0.8)),
    "equal": (P, P),
    "truncated": (CUT_P, CUT_Q),
    "truncated, near": (CUT_P, mixed(CUT_P, CUT_Q, 0.7)),
    "deterministic guesses": (P, certain),
    "guesses of both kinds": (P, lambda text: certain(text) if len(text) % 2 else Q(text)),
    "certain target": (certain, Q),
    "certain target and guesses": (certain, lambda text: certain(text) if len(text) < 2 else np.eye(SIZE)[0]),
    "flat target": (law_of(5, 0.1), law_of(6, 3.0)),
}


def unlikely(q: Callable[[Text], Law]) -> Callable[[Text], bool]:
    return lambda guesses: bool(guesses) and q(guesses[:-1])[guesses[-1]] < 0.35


ENDS: dict[str, Callable[[Callable[[Text], Law]], Callable[[Text], bool]]] = {
    "never": lambda _q: lambda _guesses: False,
    "after an unlikely guess": unlikely,
    "before an unsure one": lambda q: lambda guesses: q(guesses).max() < 0.6,
    "by the guesses": lambda _q: lambda guesses: sum(guesses) % 3 == 2,
    "at once": lambda _q: lambda _guesses: True,
}


CASES = [
    pytest.param(Case(p, q, 4, ends(q)), id=f"{name}, ends {end}")
    for name, (p, q) in LAWS.items()
    for end, ends in ENDS.items()
]


@pytest.mark.parametrize("case", CASES)
def test_its_law_is_the_targets_wherever_drafts_end(case: Case) -> None:
    assert case.distance(case.law_of_block()) < 1e-14


@pytest.mark.parametrize("case", CASES)
def test_it_keeps_no_fewer_guesses_than_rejection(case: Case) -> None:
    assert case.expected(case.kept_by_block) >= case.expected(case.kept_by_rejection) - 1e-14


def test_it_keeps_more_guesses_than_rejection_where_the_draft_is_unsure_of_itself() -> None:
    """The paper's example: p = (1/3, 2/3), q = (2/3, 1/3) at each of two places; 10/9 against 11/9 guesses kept."""
    case = Case(lambda _: np.array([1, 2]) / 3, lambda _: np.array([2, 1]) / 3, 2)

    assert case.expected(case.kept_by_rejection) == pytest.approx(10 / 9)
    assert case.expected(case.kept_by_block) == pytest.approx(11 / 9)


def test_leaving_out_a_guess_after_a_look_at_it_is_an_error() -> None:
    """What `may_leave_out` forbids: the drafts end before an unlikely guess, not behind it."""
    case = Case(P, Q, 4)
    ends = unlikely(Q)

    def left_out() -> Iterator[tuple[Text, float]]:
        for draft, chance in case.drafts():
            unwanted = next((i for i in range(len(draft)) if ends(draft[: i + 1])), len(draft))
            yield draft[:unwanted], chance

    assert not Block.may_leave_out
    assert case.distance(case.law_of_block(left_out())) > 0.01


def sparse(law: Law) -> Distribution:
    order = np.argsort(-law, kind="stable")
    return Sparse(order, law[order])


def dense(law: Law) -> Distribution:
    weights = padded_weights(law.size)
    weights[: law.size] = 3 * law
    return Dense(weights)


def as_certain(law: Law) -> Distribution:
    return Certain(int(law.argmax()))


def as_guess(_law: Law) -> None:
    """A deterministic guess has no distribution."""


KINDS: dict[str, tuple[str, Callable[[Law], Distribution], Callable[[Law], Distribution | None]]] = {
    "sparse, sparse": ("truncated, near", sparse, sparse),
    "sparse, dense": ("truncated", sparse, dense),
    "dense, sparse": ("near", dense, sparse),
    "dense, dense": ("near", dense, dense),
    "dense, guess": ("deterministic guesses", dense, as_guess),
    "sparse, guess": ("deterministic guesses", sparse, as_guess),
    "certain, dense": ("certain target", as_certain, dense),
    "certain, guess": ("certain target and guesses", as_certain, as_guess),
    "sparse, certain": ("deterministic guesses", sparse, as_certain),
}


@pytest.mark.parametrize("kinds", KINDS)
def test_it_keeps_what_the_formulas_say_whatever_the_numbers_drawn(kinds: str) -> None:
    """Each outcome of each draft, with random numbers just above and just below what decides."""
    name, of_p, of_q = KINDS[kinds]
    case = Case(*LAWS[name], 3)
    outcomes = set()
    for guesses, _ in case.drafts():
        draft = Draft(guesses, tuple(of_q(case.q(guesses[:i])) for i in range(3)))
        shares, chances = case.shares(guesses), case.chances(guesses)
        asked = max(i for i in range(4) if shares[i])
        for kept in range(asked + 1):
            above = [chances[i] + 1e-5 for i in range(asked, kept, -1)]
            below = chances[kept] - 1e-5
            if any(u >= 1 for u in above) or below <= 0:
                continue
            rule = Block(0)
            rule._uniform = iter([*above, below, 0.999]).__next__
            verdict = rule.verify(draft, lambda i, text=guesses: of_p(case.p(text[:i])), 0)
            assert verdict.accepted == kept
            assert case.over(guesses, kept, shares[kept])[verdict.token] > 0
            outcomes.add(kept)
    assert outcomes == ({3} if kinds == "certain, guess" else {0, 1, 2, 3})


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("share", [1.0, 0.6, 0.05, 1e-12])
def test_what_a_share_of_p_has_in_excess_of_q(kinds: str, share: float) -> None:
    name, of_p, of_q = KINDS[kinds]
    for number in range(30):
        p, q = (law((number,)) for law in LAWS[name])
        guess = int(q.argmax())
        wanted = np.maximum(share * p - q, 0)

        mass, left = excess(of_p(p), of_q(q), guess, share)

        assert mass == pytest.approx(wanted.sum(), abs=1e-6 * share)
        law = wanted / wanted.sum() if mass else p
        assert [left.probability(token) for token in range(SIZE)] == pytest.approx(law, abs=1e-5)


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("guess", [2, 1])
def test_what_a_share_of_certainty_has_in_excess_of_a_guess(share: float, guess: int) -> None:
    mass, left = excess(Certain(2), None, guess, share)

    assert mass == (0.0 if guess == 2 else share)
    assert left.likeliest() == 2


def test_a_guess_that_p_forbids_is_never_kept_nor_any_behind_it() -> None:
    for u in (0.0, 0.5, math.nextafter(1.0, 0.0)):
        rule = Block(0)
        rule._uniform = lambda u=u: u
        asked = []

        def target(i: int, asked: list[int] = asked) -> Distribution:
            asked.append(i)
            return sparse(np.array([0.5, 0.5, 0, 0]))

        verdict = rule.verify(Draft((2, 0, 1), (dense(np.full(4, 0.25)),) * 3), target, 0)

        assert verdict.accepted == 0
        assert verdict.token in {0, 1}
        assert asked == [0]


def test_a_draft_of_the_targets_own_is_kept_whole() -> None:
    for seed in range(50):
        rule = Block(seed)
        for of in (sparse, dense):
            q = of(P((seed,)))
            draft = Draft(tuple(rule.propose(q, i) for i in range(5)), (q,) * 5)
            assert rule.verify(draft, lambda _, q=q: q, 0).accepted == 5


def test_no_guesses_are_a_plain_step() -> None:
    assert Block(0).verify(Draft(), lambda _: Certain(3), 0).token == 3


class EndingPlan:
    """Ends a draft behind a guess that is not the likeliest, and before one of a draft that is unsure."""

    predictions: tuple[Prediction, ...] = ()

    def __init__(self, room: int) -> None:
        self._room = room
        self._ended = False
        self._drafted = 0

    def choose(self, offers: Offers) -> Choice:
        return STOP if self._ended or self._drafted == self._room else Choice(step=offers.unread > 0)

    def keeps(self, greatest: float) -> bool:
        return greatest > 0.45

    def drawn(self, greatest: float, *, likeliest: bool) -> None:  # noqa: ARG002 - the Protocol's argument
        self._drafted += 1
        self._ended = not likeliest

    def looked_up(self, levels: Sequence[int]) -> None:
        raise AssertionError(levels)

    def verified(self) -> int:
        return self._drafted


class Ending(FixedLength):
    """Drafts that end by what was drawn and by what the next would be drawn from."""

    needs_confidence = True

    def plan(self, room: int) -> EndingPlan:
        return EndingPlan(min(room, self.tokens))


@dataclass(frozen=True, slots=True)
class EndingByWhatIsDrawn(Scenario):
    def length(self) -> Ending:
        return Ending(self.draft_length)


@pytest.mark.parametrize("name", ["dense", "far draft", "top-k and top-p", "few tokens, two longer blocks"])
def test_emitted_tokens_have_the_targets_distribution_where_drafts_end_by_what_is_drawn(name: str) -> None:
    given = SCENARIOS[name]
    scenario = EndingByWhatIsDrawn(
        given.sampling, given.target, given.draft, 4, 10, together=(5, 5) if given.target.shape[-1] == 3 else (3,)
    )

    tally = gather(scenario, "block", answers=900)

    assert find_error(tally.tests(), tally) is None
