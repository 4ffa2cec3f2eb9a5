"""Which sources are worth a choice: those that theory, or what they showed, puts before the usual one."""

from __future__ import annotations

from localspec.decoding.source_speeds import SourceSpeeds
from localspec.decoding.source_theory import promising

NO_BETTER = {"hybrid": 1.4, "lookahead": 1.0, "tree": 1.4, "cascade": 1.4}


def test_what_promises_no_more_than_the_usual_source_is_not_tried() -> None:
    assert promising(NO_BETTER, SourceSpeeds()) == {"hybrid": 1.4}


def test_what_theory_puts_before_the_usual_source_is_a_choice() -> None:
    assert promising(NO_BETTER | {"tree": 1.41}, SourceSpeeds()) == {"hybrid": 1.4, "tree": 1.41}


def test_a_source_that_showed_more_than_the_usual_one_when_it_was_named_is_a_choice() -> None:
    speeds = SourceSpeeds()
    for source, came in (("cascade", 1.7), ("hybrid", 1.4)) * 5:
        speeds.take(source, 1.4, 64, 64 / came)
    assert promising(NO_BETTER, speeds) == {"hybrid": 1.4, "cascade": 1.4}


def test_the_usual_source_stays_first_however_little_it_promises() -> None:
    assert list(promising({"ngram": 1.0, "lookahead": 1.5}, SourceSpeeds())) == ["ngram", "lookahead"]
