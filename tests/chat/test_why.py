"""Words on an automatic draft length: true for what the outlook says, silent where there is nothing to say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localspec.chat.events import AnswerEnd
from localspec.chat.why import why_so_many
from localspec.decoding.outlook import Outlook
from localspec.decoding.rounds import Finish
from localspec.decoding.statistics import DecodingStatistics

END = AnswerEnd(
    finish=Finish.END, text="", prompt_tokens=1, reused_tokens=0, prompt_seconds=0.1, time_to_first_token=0.1,
    statistics=DecodingStatistics(), seed=1, acceptance="greedy", lossless=True, context_used=1, context_size=9,
    drafter="hybrid", draft_length="auto",
)  # fmt: skip
LITTLE = DecodingStatistics(rounds=10, drafted=3)
MUCH = DecodingStatistics(rounds=10, drafted=25)


@pytest.mark.parametrize(
    ("outlook", "words"),
    [
        (Outlook(0.41, 0.62, 0, 1.0),
         "drafts little: a guess of the draft model is kept 41 % of the time here and pays from 62 % on"),
        (Outlook(0.9, None, 0, 1.0),
         "drafts little: on this machine no guess of the draft model pays, however often it is kept"),
        (Outlook(0.7, 0.62, 1, 1.1),
         "drafts little: guesses of the draft model pay from 62 % on, and most of this was harder to guess"),
        (None, "drafts little: hardly anything here repeats what stood before"),
    ],
)  # fmt: skip
def test_little_drafting_is_explained(outlook: Outlook | None, words: str) -> None:
    assert why_so_many(replace(END, statistics=LITTLE, outlook=outlook)) == words


def test_drafting_that_pays_is_said_to() -> None:
    words = why_so_many(replace(END, statistics=MUCH, outlook=Outlook(0.78, 0.45, 4, 1.8)))
    assert words == "drafting pays: a guess of the draft model is kept 78 % of the time here and pays from 45 % on"


@pytest.mark.parametrize("outlook", [None, Outlook(0.3, None, 0, 1.0), Outlook(0.3, 0.6, 0, 1.0)])
def test_a_lookup_that_drafts_much_beside_a_model_that_does_not_pay_needs_no_words(outlook: Outlook | None) -> None:
    assert why_so_many(replace(END, statistics=MUCH, outlook=outlook)) == ""


def test_a_fixed_length_and_an_empty_answer_need_no_words() -> None:
    assert why_so_many(replace(END, statistics=LITTLE, draft_length=3)) == ""
    assert why_so_many(replace(END, outlook=Outlook(0.41, 0.62, 0, 1.0))) == ""
