"""Arms, runs and what follows from them: measured figures in, honest words out."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from localspec.chat.events import AnswerEnd, AnswerRequest, Message, Role, SpeculationSettings
from localspec.decoding.rounds import Finish
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.statistics import DecodingStatistics
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.tui.comparison import (
    COMPARED_TOKENS,
    Answered,
    Arm,
    Comparison,
    NamedPair,
    arms_on_and_off,
    comparable,
    why_impossible,
)
from localspec.tui.difference import first_difference
from localspec.tui.verdict import Costs, speed_up_words, text_words, verdict, why_texts_differ

PAIR = NamedPair("big", LoadPair(ModelSettings(Path("big.gguf")), ModelSettings(Path("small.gguf"))))
OTHER = NamedPair("other", LoadPair(ModelSettings(Path("other.gguf")), ModelSettings(Path("small.gguf"))))
QUESTION = (Message(Role.USER, "Why?"),)
REQUEST = AnswerRequest(QUESTION)
TEXT = tuple(f" word{i}" for i in range(100))


def answered(
    seconds: float,
    *,
    drafted: int = 0,
    accepted: int = 0,
    rounds: int = 100,
    target: float | None = None,
    draft: float = 0.0,
    text: tuple[str, ...] = TEXT,
) -> Answered:
    statistics = DecodingStatistics(
        rounds=rounds,
        emitted=len(text),
        drafted=drafted,
        accepted=accepted,
        seconds=seconds,
        target_seconds=seconds if target is None else target,
        draft_seconds=draft,
    )
    end = AnswerEnd(Finish.LENGTH, "".join(text), 10, 9, 0.1, 0.2, statistics, 7, "coupled", True, 110, 4096)
    return Answered(text, end)


def off(seconds: float = 10.0, text: tuple[str, ...] = TEXT) -> Answered:
    return answered(seconds, text=text)


def on(seconds: float = 5.0, text: tuple[str, ...] = TEXT) -> Answered:
    """100 tokens in 34 rounds of 3 guesses, of which 66 were kept."""
    return answered(seconds, drafted=100, accepted=66, rounds=34, target=seconds * 0.7, draft=seconds * 0.25, text=text)


def compared(*runs: tuple[Answered, Answered]) -> Comparison:
    comparison = Comparison(arms_on_and_off(REQUEST, PAIR))
    for run in runs:
        comparison = comparison.with_run(*run)
    return comparison


def with_settings(*, temperature: float = 0.8, **settings: object) -> Arm:
    request = comparable(replace(REQUEST, sampling=SamplingSettings(temperature=temperature, seed=1)))
    return Arm(replace(request, speculation=replace(request.speculation, **settings)), PAIR)  # type: ignore[arg-type]


def test_both_arms_ask_the_same_with_the_same_seed_and_differ_in_speculation_alone() -> None:
    first, second = arms_on_and_off(REQUEST, PAIR)
    assert first.request.sampling.seed is not None
    assert not first.request.speculation.enabled
    assert second.request.speculation.enabled
    assert replace(first.request, speculation=second.request.speculation) == second.request


def test_a_seed_that_is_set_is_kept() -> None:
    request = replace(REQUEST, sampling=SamplingSettings(seed=5))
    assert [arm.request.sampling.seed for arm in arms_on_and_off(request, PAIR)] == [5, 5]


@pytest.mark.parametrize(("temperature", "rule"), [(0.0, "greedy"), (0.8, "coupled")])
def test_the_text_depends_on_the_seed_alone(temperature: float, rule: str) -> None:
    arms = arms_on_and_off(replace(REQUEST, sampling=SamplingSettings(temperature=temperature)), PAIR)
    assert {arm.request.speculation.acceptance for arm in arms} == {rule}
    assert Comparison(arms).same_text_expected


def test_answers_are_cut_and_shorter_in_a_short_context_or_by_the_persons_own_limit() -> None:
    assert comparable(REQUEST).max_tokens == COMPARED_TOKENS
    assert comparable(REQUEST, context_size=4096).max_tokens == COMPARED_TOKENS
    assert comparable(REQUEST, context_size=300).max_tokens == 150
    assert comparable(replace(REQUEST, max_tokens=40)).max_tokens == 40
    assert comparable(replace(REQUEST, max_tokens=4000)).max_tokens == COMPARED_TOKENS


def test_settings_without_guesses_are_compared_with_the_usual_ones() -> None:
    request = replace(REQUEST, speculation=SpeculationSettings(enabled=False, drafter="none", draft_length=0))
    first, second = arms_on_and_off(request, PAIR)
    assert not first.speculates
    assert second.speculates
    assert second.name == "speculation on: 3 guesses, coupled"


def test_runs_begin_with_one_arm_and_the_other_in_turn() -> None:
    comparison = compared()
    orders = []
    for _ in range(4):
        orders.append(comparison.order)
        comparison = comparison.with_run(off(), on())
    assert orders == [(0, 1), (1, 0), (0, 1), (1, 0)]


def test_the_speed_up_is_the_ratio_of_medians_and_lies_in_the_range_of_the_runs() -> None:
    comparison = compared((off(10), on(5)), (off(12), on(5)), (off(40), on(6)))
    speed_up = comparison.speed_up
    assert speed_up is not None
    assert speed_up.ratio == pytest.approx((100 / 5) / (100 / 12))
    assert speed_up.low == pytest.approx(2.0)
    assert speed_up.high == pytest.approx(40 / 6)
    assert speed_up_words(speed_up) == "2.40 times as fast (2.00 to 6.67 over 3 runs)"
    back = speed_up.of_the_first()
    assert back.low <= back.ratio <= back.high


def test_one_run_has_no_interval() -> None:
    speed_up = compared((off(), on())).speed_up
    assert speed_up is not None
    assert "no interval yet" in speed_up_words(speed_up)


def test_an_arm_that_wrote_nothing_leaves_nothing_to_claim() -> None:
    nothing = answered(0.0, text=(), rounds=0)
    assert verdict(compared()) == "Nothing was measured yet."
    assert "Nothing was written" in verdict(compared((nothing, nothing)))


def test_where_speculation_pays_the_sentence_gives_the_measured_costs() -> None:
    comparison = compared((off(10), on(5)), (off(11), on(5.2)))
    costs = Costs.of(comparison.statistics(1), comparison.statistics(0))
    assert costs.tau == pytest.approx(200 / 68)
    assert costs.width == pytest.approx(1 + 200 / 68)
    assert costs.check == pytest.approx((5.1 * 0.7 / 34) / (10.5 / 100))
    assert verdict(comparison) == (
        "Speculation pays here: 132 of 200 guesses were kept, and checking 3.9 tokens cost 1.0 times one, "
        "a guess 0.12 times."
    )


def test_one_disturbed_run_does_not_tell_the_story_of_the_costs() -> None:
    calm, disturbed = (off(10), on(5)), (off(10), on(500))
    assert "cost 1.0 times one" in verdict(compared(calm, calm, disturbed))


def test_one_run_claims_only_itself() -> None:
    assert verdict(compared((off(10), on(5)))).startswith("Speculation paid in this one run: ")
    assert verdict(compared((off(10), on(20)))).startswith("It did not pay in this one run: ")
    assert verdict(compared((off(10), on(9.5)))).startswith("No difference that can be told from noise")


def test_no_difference_is_claimed_when_the_range_holds_one() -> None:
    assert verdict(compared((off(10), on(5)), (off(10), on(10.1)))).startswith("No difference that can be told")


def test_few_runs_that_agree_on_a_small_difference_claim_nothing() -> None:
    for runs in range(2, 6):
        for seconds in (9.5, 10.5):
            words = verdict(compared(*[(off(10), on(seconds))] * runs))
            assert words.startswith("No difference that can be told from noise")
    assert verdict(compared(*[(off(10), on(9.5))] * 6)).startswith("Speculation pays here: ")
    assert verdict(compared(*[(off(10), on(10.5))] * 6)).startswith("It does not pay here: ")
    assert verdict(compared(*[(off(10), on(8))] * 2)).startswith("Speculation pays here: ")


def test_the_verdict_is_the_same_whichever_side_speculates() -> None:
    arms = arms_on_and_off(REQUEST, PAIR)
    ways = [((off(10), on(5)), (off(11), on(5))), ((on(5), off(10)), (on(5), off(11)))]
    forth, back = (Comparison(sides, runs) for sides, runs in zip([arms, (arms[1], arms[0])], ways, strict=True))
    assert verdict(forth) == verdict(back)
    assert "pays here" in verdict(back)


SLOW = {
    "too many guesses were refused": {"accepted": 5, "rounds": 95, "target": 10.0, "draft": 1.0},
    "checking several tokens at once is dear": {"accepted": 75, "rounds": 25, "target": 10.5, "draft": 0.5},
    "the draft is slow for this target": {"accepted": 70, "rounds": 30, "target": 4.0, "draft": 7.5},
    "too much time goes by between the passes": {"accepted": 75, "rounds": 25, "target": 3.0, "draft": 0.5},
}


@pytest.mark.parametrize("cause", SLOW)
def test_where_it_does_not_pay_the_cause_is_named(cause: str) -> None:
    figures = SLOW[cause]
    slow = answered(
        12.0,
        drafted=3 * int(figures["rounds"]),
        accepted=int(figures["accepted"]),
        rounds=int(figures["rounds"]),
        target=figures["target"],
        draft=figures["draft"],
    )
    words = verdict(compared((off(10), slow), (off(10), slow)))
    assert words.startswith(f"It does not pay here: {cause}")
    assert f"{2 * int(figures['accepted'])} of {6 * int(figures['rounds'])} guesses were kept" in words


def test_a_short_answer_is_too_short_to_tell() -> None:
    short = TEXT[:9]
    assert verdict(compared((off(text=short), on(text=short)))).startswith("Too short to tell: 9 tokens.")


def test_without_a_draft_both_sides_did_the_same() -> None:
    assert verdict(compared((off(10), off(5)))).startswith("Nothing was guessed")


def test_two_settings_with_guesses_are_compared_by_tokens_and_time_of_a_round() -> None:
    comparison = Comparison((with_settings(draft_length=3), with_settings(draft_length=8)))
    for _ in range(2):
        comparison = comparison.with_run(on(5), answered(8, drafted=160, accepted=75, rounds=25))
    assert verdict(comparison) == (
        "Speculation on: 3 guesses, coupled is 1.60 times as fast: "
        "2.94 tokens a round against 4.00, and a round took 147 ms against 320."
    )


def test_pairs_are_named_where_they_differ() -> None:
    first, second = arms_on_and_off(REQUEST, PAIR)
    assert Comparison((first, replace(second, pair=OTHER))).names[1] == "other, speculation on: 3 guesses, coupled"
    assert "big" not in Comparison((first, second)).names[0]


def test_same_texts_are_called_same() -> None:
    run = off(), on()
    assert text_words(compared(run)) == "same text"
    assert text_words(compared(run, run)) == "same text in all 2 runs"
    assert why_texts_differ(compared(run)) == ""
    assert speed_up_words(compared(run).speed_up) == "2.00 times as fast (one run: no interval yet)"


def test_the_first_difference_is_found_with_the_words_around_it() -> None:
    first = ("It", " is", " a", " lin", "ked", " list", " of", " entries")
    second = ("It", " is", " a", " link", "age", " of", " entries")
    found = first_difference(first, second)
    assert found is not None
    assert (found.character, found.token) == (len("It is a link"), 4)
    assert found.before == "It is a link"
    assert found.first == "ed list of entries"
    assert found.second == "age of entries"


def test_a_text_that_ends_earlier_differs_at_its_end() -> None:
    found = first_difference(("one", " two", ""), ("one", " two", " three"))
    assert found is not None
    assert (found.first, found.second) == ("", " three")
    assert found.token == 2


def test_the_same_text_cut_into_other_tokens_is_the_same() -> None:
    assert first_difference(("ab", "c"), ("a", "bc")) is None
    assert first_difference((), ()) is None


def test_long_contexts_are_cut_at_words() -> None:
    shared = " ".join(["alpha"] * 20) + " "
    found = first_difference((shared, "beta " * 20), (shared, "gamma " * 20))
    assert found is not None
    assert found.before in shared
    assert set(found.before.split()) == {"alpha"}
    assert set(found.first.split()) == {"beta"}
    assert set(found.second.split()) == {"gamma"}


def test_a_difference_is_explained_by_what_can_cause_it() -> None:
    run = off(), on(text=(*TEXT[:50], " other", *TEXT[51:]))
    assert "nearly tie" in why_texts_differ(compared(run))
    by_rule = Comparison((with_settings(), with_settings(acceptance="rejection"))).with_run(*run)
    assert why_texts_differ(by_rule) == "With coupled and rejection acceptance the text depends on the guesses."
    first, second = arms_on_and_off(REQUEST, PAIR)
    by_target = Comparison((first, replace(second, pair=OTHER))).with_run(*run)
    assert why_texts_differ(by_target) == "Two targets wrote them."


def test_at_temperature_0_any_rule_gives_the_same_text() -> None:
    arms = with_settings(temperature=0, acceptance="auto"), with_settings(temperature=0, acceptance="rejection")
    assert Comparison(arms).same_text_expected


def test_impossible_settings_are_refused_in_words() -> None:
    warm, cold = SamplingSettings(temperature=0.8), SamplingSettings(temperature=0)
    assert why_impossible(SpeculationSettings(), warm) == ""
    assert "temperature 0" in why_impossible(SpeculationSettings(acceptance="greedy"), warm)
    assert why_impossible(SpeculationSettings(acceptance="greedy"), cold) == ""
    assert why_impossible(SpeculationSettings(draft_length=32), warm) == (
        "The draft length must be between 0 and 31, not 32."
    )
    assert why_impossible(SpeculationSettings(drafter="hybrid", draft_length="auto"), warm) == ""


def test_more_runs_never_move_the_ratio_out_of_their_range() -> None:
    seconds = [9.0, 10.0, 14.0, 9.5, 30.0]
    comparison = compared()
    for slow, fast in pairwise(seconds):
        comparison = comparison.with_run(off(slow), on(fast))
        speed_up = comparison.speed_up
        assert speed_up is not None
        assert speed_up.low <= speed_up.ratio <= speed_up.high
