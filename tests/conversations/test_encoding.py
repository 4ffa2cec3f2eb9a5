"""What is kept of rounds and facts comes back, also from files of earlier versions."""

from __future__ import annotations

import json
import zlib

import pytest

from localspec.chat.events import AnswerRound, AnswerToken
from localspec.conversations.conversation import AnswerFacts
from localspec.conversations.encoding import facts_as_text, facts_from, rounds_as_bytes, rounds_from
from localspec.decoding.rounds import Origin
from localspec.decoding.statistics import DecodingStatistics
from tests.conversations.talks import FACTS, round_of

OLD_FACTS = {
    "finish": "end", "error": "", "target": "t.gguf", "draft": "d.gguf",
    "statistics": {
        "rounds": 1, "emitted": 2, "drafted": 3, "accepted": 1, "drafted_at": [1, 1, 1], "accepted_at": [1],
        "origins": [["draft", 1], ["correction", 1]], "seconds": 0.5, "target_seconds": 0.3, "draft_seconds": 0.1,
    },
    "time_to_first_token": 0.25, "off_tokens_per_second": None, "thinking_seconds": None, "context_used": 12,
    "context_size": 4096, "seed": 7, "acceptance": "greedy", "lossless": True,
}  # fmt: skip


def test_rounds_come_back_with_who_guessed_and_what_was_expected():
    rounds = [round_of("a", "b"), round_of("c"), round_of("d", "e", "f", thinking=True)]
    again = rounds_from(rounds_as_bytes(rounds))
    assert again == rounds
    assert again[0].counted() == rounds[0].counted()


def test_a_prediction_is_kept_to_a_thousandth():
    token = AnswerToken(1, "a", Origin.PLAIN)
    kept = AnswerRound((token,), 1, (), ("model",), 0.5, 9, 0.4, 0.1, (0.123456,))
    assert rounds_from(rounds_as_bytes([kept]))[0].predicted == (0.123,)


def test_rounds_of_an_earlier_version_name_one_source_and_predict_nothing():
    rows = [
        [[[1, "a", "draft", 0], [2, "b", "correction", 0]], 3, 1, "model", 0.5, 17, 0.4, 0.1],
        [[[3, "c", "plain", 1]], 0, 0, "none", 0.25, 18, 0.25, 0.0],
    ]
    first, second = rounds_from(zlib.compress(json.dumps(rows).encode()))
    assert (first.sources, first.predicted) == (("model",) * 3, ())
    assert (second.sources, second.predicted) == ((), ())
    assert second.tokens == (AnswerToken(3, "c", Origin.PLAIN, thinking=True),)
    counted = DecodingStatistics().plus(first.counted()).plus(second.counted())
    assert counted.by_source == (("model", 3, 1),)
    assert counted.judged == 0


def test_facts_come_back():
    assert facts_from(facts_as_text(FACTS)) == FACTS
    assert facts_from(facts_as_text(AnswerFacts())) == AnswerFacts()
    assert facts_from(facts_as_text(None)) is None


def test_facts_of_an_earlier_version_leave_unknown_what_they_did_not_hold():
    facts = facts_from(json.dumps(OLD_FACTS))
    assert facts.statistics.origins == (("draft", 1), ("correction", 1))
    assert (facts.statistics.by_source, facts.statistics.predicted_acceptance) == ((), None)
    assert (facts.drafter, facts.draft_length, facts.why) == ("", None, "")


@pytest.mark.parametrize("rows", [[[1, 2]], [5], [[[[1, "a", "nobody", 0]], 0, 0, [], 0.5, 1, 0.5, 0.0]]])
def test_rows_of_something_else_are_refused(rows):
    with pytest.raises((ValueError, TypeError)):
        rounds_from(zlib.compress(json.dumps(rows).encode()))
