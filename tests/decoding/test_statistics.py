"""What is counted of guesses: who made them, how long drafts were, and whether they were what was expected."""

from __future__ import annotations

import pytest

from localspec.decoding.rounds import Origin, Prediction, Round
from localspec.decoding.statistics import DecodingStatistics


def finished(accepted: int, sources: str = "", acceptance: float | None = None, *, cut: bool = False) -> Round:
    """A round of guesses of the (m)odel and the (n)gram lookup; `cut`: the answer ended inside the draft."""
    named = tuple({"m": "model", "n": "ngram"}[each] for each in sources)
    own = () if cut else (Origin.PLAIN if not named else Origin.BONUS if accepted == len(named) else Origin.CORRECTION,)
    origins = (*(Origin.DRAFT,) * accepted, *own)
    predictions = () if acceptance is None else (Prediction(1, acceptance),) * len(named)
    drafted, path, tokens = (tuple(range(count)) for count in (len(named), accepted, len(origins)))
    return Round(drafted, path, tokens, origins, named, predictions, (), 0.2, 0.3)


def counted(*rounds: Round) -> DecodingStatistics:
    statistics = DecodingStatistics()
    for each in rounds:
        statistics = statistics.plus(each)
    return statistics


def test_guesses_are_counted_by_source() -> None:
    statistics = counted(finished(1, "mm"), finished(0), finished(3, "nnnmm"), finished(0, "n"))
    assert statistics.by_source == (("model", 4, 1), ("ngram", 4, 3))


def test_rounds_are_counted_by_the_length_of_their_draft() -> None:
    statistics = counted(finished(0), finished(0), finished(1, "m"), finished(2, "mmm"), finished(0, "mmm"))
    assert statistics.rounds_by_length == (2, 1, 0, 2)
    assert DecodingStatistics().rounds_by_length == (0,)
    assert counted(finished(0)).rounds_by_length == (1,)


def test_what_was_expected_is_set_against_what_came_of_the_guesses_that_were_decided_on() -> None:
    # Judged: two of three (the third stands behind a refused one), then all three, then one of a draft cut short.
    statistics = counted(finished(1, "mmm", 0.5), finished(3, "nnn", 0.9), finished(1, "mm", 0.8, cut=True))
    assert (statistics.judged, statistics.judged_kept) == (6, 5)
    assert statistics.predicted_acceptance == pytest.approx((2 * 0.5 + 3 * 0.9 + 0.8) / 6)
    assert statistics.judged_acceptance == pytest.approx(5 / 6)


def test_guesses_that_nobody_predicted_are_left_out_of_that() -> None:
    statistics = counted(finished(2, "mm"), finished(1, "mm", 0.5))
    assert (statistics.judged, statistics.judged_kept) == (2, 1)
    none = counted(finished(2, "mm"))
    assert (none.predicted_acceptance, none.judged_acceptance) == (None, None)
