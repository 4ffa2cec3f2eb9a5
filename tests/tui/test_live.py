"""Rounds in, figures out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localspec.chat.events import AnswerRequest, Message, Role, SpeculationSettings
from localspec.conversations.conversation import AnswerFacts
from localspec.decoding.outlook import Outlook
from localspec.decoding.rounds import Origin
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.tui.explanations import Figure, numbers_behind
from localspec.tui.figures import Figures, Progress, RoundMark
from localspec.tui.live import LiveFigures, figures_of_past
from tests.tui.figures_made import a_round, end_of, ended_inside, figures_of, guessed, rounds, statistics_of


def following(*seen, off: float | None = None, request: AnswerRequest | None = None) -> Figures:
    live = LiveFigures()
    live.off_tokens_per_second = off
    live.begin(10.0, request, context_size=4096)
    for finished in seen:
        live.take([finished], 10.5)
    return live.figures()


def asking(temperature: float = 0.0, **speculation: object) -> AnswerRequest:
    return AnswerRequest(
        (Message(Role.USER, "Hello"),),
        sampling=SamplingSettings(temperature=temperature),
        speculation=SpeculationSettings(**speculation),
    )


def test_before_any_answer_there_is_nothing_to_say() -> None:
    figures = LiveFigures().figures()
    assert figures == Figures()
    assert (figures.now, figures.tokens_per_second, figures.speed_up, figures.context_share) == (None,) * 4


def test_while_the_first_token_is_waited_for_there_is_nothing_to_say_either() -> None:
    figures = following()
    assert figures.progress is Progress.WAITING
    assert (figures.now, figures.drafted_last, figures.first_token_seconds) == (None,) * 3
    assert figures.context_size == 4096


def test_counts_are_those_of_the_statistics() -> None:
    seen = list(rounds(50))
    figures = following(*seen)
    assert figures.statistics == statistics_of(seen)
    assert figures.tokens_per_second == figures.statistics.tokens_per_second
    shares = tuple(kept / drafted for kept, drafted in figures.positions)
    assert shares == figures.statistics.acceptance_by_position


def test_a_position_where_nothing_was_kept_has_its_denominator() -> None:
    assert following(a_round(3, 1), a_round(2, 0)).positions == ((1, 2), (0, 2), (0, 1))


def test_the_end_brings_the_engines_own_sums() -> None:
    seen = list(rounds(5))
    live = LiveFigures()
    live.begin(0.0)
    live.take(seen, 9.0)
    end = end_of(seen, acceptance="typical", lossless=False)
    live.end(end)
    figures = live.figures()
    assert figures.progress is Progress.OVER
    assert figures.statistics == end.statistics == statistics_of(seen)
    assert figures.first_token_seconds == end.time_to_first_token
    assert (figures.rule, figures.lossless) == ("typical", False)
    assert (figures.context_used, figures.context_size) == (seen[-1].context_used, 8192)


def test_speed_now_is_over_the_last_two_seconds_of_decoding_however_late_the_rounds_arrive() -> None:
    slow = [a_round(3, 0, seconds=1.0)] * 5
    fast = [a_round(3, 3, seconds=0.5)] * 4
    figures = following(*slow, *fast)
    assert figures.now == pytest.approx(4 / 0.5)
    assert following(*slow, *fast[:2]).now == pytest.approx((4 + 4 + 1) / 2.0)
    assert figures.tokens_per_second == pytest.approx((5 + 16) / 7.0)


def test_a_round_longer_than_two_seconds_is_the_speed_now_alone() -> None:
    assert following(a_round(3, 3, 0.1), a_round(3, 1, 4.0)).now == pytest.approx(0.5)


def test_the_speed_shown_is_that_of_the_moment_while_it_is_written_and_that_of_the_answer_after() -> None:
    seen = [a_round(3, 0, 1.0)] * 5 + [a_round(3, 3, 0.5)] * 4
    assert figures_of(seen, writing=True).shown_speed == pytest.approx(8.0)
    assert figures_of(seen).shown_speed == pytest.approx(3.0)


def test_speed_up_is_the_speed_over_the_answer_against_off() -> None:
    figures = following(a_round(3, 3, 0.1), a_round(3, 1, 0.1), off=10.0)
    assert figures.speed_up == pytest.approx(30.0 / 10.0)


def test_an_answer_that_nobody_guessed_for_is_as_fast_as_off_whatever_the_machine_did() -> None:
    figures = following(a_round(0, 0, 0.3), a_round(0, 0, 0.3), off=10.0)
    assert figures.speed_up == 1
    assert "nothing was guessed" in numbers_behind(Figure.SPEED_UP, figures)
    looked = replace(figures, statistics=replace(figures.statistics, draft_seconds=0.1))
    assert 0.3 < looked.speed_up < 0.5


def test_there_is_no_speed_up_without_a_measured_speed_off_or_without_speculation() -> None:
    assert following(a_round(3, 3)).speed_up is None
    off = following(a_round(0, 0), off=10.0, request=asking(enabled=False))
    assert off.speed_up is None
    assert not off.speculating


@pytest.mark.parametrize("switch", [{"enabled": False}, {"drafter": "none"}, {"draft_length": 0}])
def test_a_request_says_whether_it_speculates(switch: dict[str, object]) -> None:
    assert following(request=asking()).speculating
    assert not following(request=asking(**switch)).speculating


def test_the_rule_is_known_before_the_end() -> None:
    assert (following(request=asking()).rule, following(request=asking(0.8)).rule) == ("greedy", "block")
    typical = following(request=asking(0.8, acceptance="typical"))
    assert (typical.rule, typical.lossless) == ("typical", False)
    assert following(request=asking(0.8, acceptance="greedy")).rule == ""


def test_the_speed_off_stays_as_measured_while_every_round_is_drafted() -> None:
    assert following(*rounds(30), off=12.0).off == pytest.approx(12.0)


def test_plain_rounds_move_the_measured_speed_off_towards_theirs() -> None:
    few = following(*[a_round(0, 0, 0.2)] * 8, off=10.0).off
    assert few == pytest.approx(16 / (8 * 0.1 + 8 * 0.2))
    many = following(*[a_round(0, 0, 0.2)] * 500, off=10.0).off
    assert many == pytest.approx(5.0, rel=0.15)


def test_plain_rounds_alone_tell_the_speed_off_once_there_are_some() -> None:
    assert following(*[a_round(0, 0, 0.2)] * 7).off is None
    assert following(*[a_round(0, 0, 0.2)] * 8).off == pytest.approx(5.0)


def test_another_measurement_forgets_the_plain_rounds_of_another_pair() -> None:
    live = LiveFigures()
    live.begin(0.0)
    live.take([a_round(0, 0, 0.2)] * 20, 1.0)
    live.off_tokens_per_second = 3.0
    assert live.off_tokens_per_second == pytest.approx(3.0)
    live.off_tokens_per_second = None
    assert live.off_tokens_per_second is None


def test_the_draft_length_is_that_of_the_last_round_and_of_the_last_eight() -> None:
    figures = following(*[a_round(16, 0)] * 5, *[a_round(4, 1)] * 6, a_round(0, 0), a_round(2, 2))
    assert figures.drafted_last == 2
    assert figures.drafted_of_late == pytest.approx((6 * 4 + 0 + 2) / 8)


def test_who_may_guess_and_how_many_is_known_from_the_request_and_then_from_the_end() -> None:
    asked = following(request=asking(drafter="hybrid", draft_length="auto"))
    assert (asked.drafter, asked.automatic, asked.why) == ("hybrid", True, "")
    fixed = following(request=asking(drafter="model", draft_length=3))
    assert (fixed.drafter, fixed.automatic) == ("model", False)
    over = figures_of(list(guessed(20)), drafter="ngram", draft_length="auto", outlook=None)
    assert (over.drafter, over.automatic) == ("ngram", True)


def test_an_answer_that_was_to_be_guessed_and_was_not_says_why_when_it_is_over() -> None:
    silent = figures_of([a_round(0, 0)] * 9, drafter="hybrid", draft_length="auto", outlook=Outlook(0.4, 0.6, 0, 1.0))
    assert silent.why == "drafts little: a guess of the draft model is kept 40 % of the time here and pays from 60 % on"
    facts = AnswerFacts(finish="end", drafter="hybrid", draft_length="auto", why=silent.why)
    past = figures_of_past(facts, [a_round(0, 0)] * 9)
    assert (past.speculating, past.automatic, past.drafter, past.why) == (True, True, "hybrid", silent.why)


def test_guesses_are_counted_by_source_and_against_what_was_expected() -> None:
    seen = list(guessed(40))
    statistics = following(*seen).statistics
    drafted = sum(each.drafted for each in seen)
    assert sum(count for _, count, _ in statistics.by_source) == drafted
    assert {source for source, _, _ in statistics.by_source} == {"model", "ngram"}
    assert 0 < statistics.judged <= drafted
    assert statistics == figures_of(seen).statistics


def test_the_history_has_one_value_for_each_half_second_and_its_integral_is_what_was_written() -> None:
    seen = [a_round(3, accepted, seconds) for accepted, seconds in ((3, 0.8), (0, 0.3), (2, 1.4))]
    history = following(*seen).history
    assert history == pytest.approx(
        (5.0, (5.0 * 0.3 + 0.2 / 0.3) / 0.5, (0.1 / 0.3 + 0.4 * 3 / 1.4) / 0.5, *[3 / 1.4] * 2)
    )
    assert sum(history) * 0.5 == pytest.approx(4 + 1 + 3)


def test_the_history_is_twenty_seconds_long_and_its_last_value_comes_when_half_of_it_is_over() -> None:
    assert len(following(*[a_round(3, 3, 0.5)] * 100).history) == 40
    whole = [a_round(3, 3, 0.5)] * 2
    assert len(following(*whole, a_round(3, 3, 0.2)).history) == 2
    assert len(following(*whole, a_round(3, 3, 0.3)).history) == 3
    assert len(following(a_round(3, 3, 0.1)).history) == 1


def test_rounds_that_took_no_time_are_no_speed() -> None:
    figures = following(a_round(3, 3, 0.0), off=10.0)
    assert (figures.now, figures.tokens_per_second, figures.history) == (None, None, ())


def test_a_mark_tells_what_was_kept_and_what_the_last_token_was() -> None:
    figures = following(a_round(3, 1), a_round(2, 2), a_round(0, 0), ended_inside(4, 2))
    assert figures.marks == (
        RoundMark(3, 1, Origin.CORRECTION),
        RoundMark(2, 2, Origin.BONUS),
        RoundMark(0, 0, Origin.PLAIN),
        RoundMark(4, 2, None),
    )
    assert [mark.unused for mark in figures.marks[:3]] == [1, 0, 0]


def test_the_marks_do_not_grow_without_end_and_their_beginning_moves_seldom() -> None:
    live = LiveFigures()
    live.begin(0.0)
    beginnings = []
    seen = [a_round(i % 16 + 1, 0) for i in range(480)]
    for i, finished in enumerate(seen, 1):
        live.take([finished], 1.0)
        marks = live.figures().marks
        assert len(marks) <= 96
        assert marks[-1].drafted == finished.drafted
        beginnings.append(i - len(marks))
    assert len(set(beginnings)) == 9


def test_the_first_token_is_timed_from_the_question_until_the_engine_says_it_better() -> None:
    live = LiveFigures()
    live.begin(10.0)
    live.take([], 11.0)
    live.take([a_round(3, 1)], 12.5)
    live.take([a_round(3, 1)], 20.0)
    assert live.figures().first_token_seconds == pytest.approx(2.5)


def test_an_answer_that_broke_off_keeps_its_figures() -> None:
    live = LiveFigures()
    live.begin(0.0)
    live.take([a_round(3, 1)], 1.0)
    live.stop()
    figures = live.figures()
    assert figures.progress is Progress.OVER
    assert figures.statistics.emitted == 2


def test_an_answer_begins_with_nothing_of_the_one_before_but_the_speed_off() -> None:
    live = LiveFigures()
    live.off_tokens_per_second = 9.0
    live.begin(0.0)
    live.take(list(rounds(20)), 1.0)
    live.begin(5.0)
    figures = live.figures()
    assert figures.statistics.rounds == 0
    assert (figures.marks, figures.history, figures.now, figures.off) == ((), (), None, 9.0)


def test_the_figures_of_an_answer_that_was_kept_are_those_it_ended_with() -> None:
    seen = list(rounds(30))
    then = figures_of(seen)
    facts = AnswerFacts(
        finish="end",
        statistics=then.statistics,
        time_to_first_token=0.31,
        off_tokens_per_second=21.7,
        context_used=then.context_used,
        context_size=then.context_size,
        acceptance="greedy",
        drafter="model",
        draft_length=3,
    )
    assert replace(figures_of_past(facts, seen), now=None) == replace(then, now=None)
    without_rounds = figures_of_past(facts, ())
    assert without_rounds.speed_up == then.speed_up
    assert without_rounds.marks == ()
