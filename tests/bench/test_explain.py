"""The explanation: every figure from the facts, in words that fit a terminal, whatever is missing."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from localspec.bench import theory
from localspec.bench.explaining.as_json import SCHEMA, facts_as_json
from localspec.bench.explaining.facts import Facts, Guesses, last_that_pays, stops_paying
from localspec.bench.explaining.sections import sections
from localspec.bench.explaining.words import columns_of, size
from localspec.bench.plots import ASCII, UNICODE
from localspec.engine.messages import BatchTime, BatchTimes, Loaded
from tests.bench.explained import CORRECTED, TARGET, WHOLE, facts

NO_DRAFT = {
    "loaded": Loaded(TARGET, None, 4096, 2, 3.0),
    "draft": None,
    "draft_step": None,
    "guesses": (),
    "arms": facts().arms[:1],
    "batch": BatchTimes(facts().batch.target, ()) if facts().batch else None,
    "replay": (),
}


def text_of(found: Facts) -> str:
    """The pages, each paragraph on one line."""
    pages = sections(found, UNICODE)
    return "\n".join(page.title + "\n" + " ".join(" ".join(page.lines).split()) for page in pages)


@pytest.mark.parametrize(
    "found",
    [facts(), facts(**NO_DRAFT), facts(bandwidth=None, batch=None, replay=(), notes=("A note. " * 30,))],
    ids=["all", "no draft", "little"],
)
def test_no_line_is_wider_than_80_columns_and_no_page_is_empty(found: Facts) -> None:
    for page in sections(found, UNICODE):
        assert any(line.strip() for line in page.lines), page.title
        assert max(map(columns_of, page.lines)) <= 80, page.title
        assert page.lines[-1] == ""


def test_all_pages_come_in_order() -> None:
    assert [page.title for page in sections(facts(), UNICODE)] == [
        "What a token costs",
        "What a pass of several tokens costs",
        "What the draft costs",
        "What of its guesses is kept",
        "How many to guess",
        "A round, step by step",
        "Many texts at once",
        "In short",
    ]


def test_without_unicode_everything_of_ours_is_ascii() -> None:
    for page in sections(facts(replay=(CORRECTED,)), ASCII):
        "\n".join((page.title, *page.lines)).encode("ascii")


def test_the_bound_follows_from_bytes_and_bandwidth() -> None:
    text = text_of(facts())
    assert "1.64 GB to read (of the 1.89 GB in the file, 248 MB are a table of which a token needs one row)" in text
    assert "28 GB a second with 2 threads" in text
    bound = 28e9 / (1_640_623_712 + 120 * 28_672)
    assert f"faster than {bound:.1f} tokens/s" in text
    assert f"8.6 tokens/s = {144 / 16.8 / bound:.0%} of the bound" in text


def test_going_past_the_bound_is_explained_when_it_happens() -> None:
    assert "past the bound" not in text_of(facts())
    slow = facts(bandwidth=None)
    assert slow.bound is None
    assert "past the bound" in text_of(facts(context=100_000))


def test_alpha_counts_only_the_guesses_that_were_looked_at() -> None:
    found = facts()
    assert [len(one.looked_at) for one in found.guesses] == [2, 2]
    assert found.acceptance == 0.75
    assert found.all_guesses.expected_acceptance == 0.75
    assert found.all_guesses.by_position == ((2, 2), (1, 2))
    assert "75%" in text_of(found)


def test_prediction_and_measurement_stand_beside_each_other() -> None:
    found = facts()
    assert found.best == theory.best_draft_length(0.75, found.pass_seconds, 0.03)
    text = text_of(found)
    gain = theory.measured_speed_up(0.75, 2, found.pass_seconds, 0.03)
    assert f"2 2.32 {theory.expected_tokens(0.75, 2):.2f} 11.5" in text
    assert f"{11.52 / (144 / 16.8):.2f} {gain:.2f}" in text


def test_a_draft_that_cannot_pay_is_called_so() -> None:
    text = text_of(facts(draft_step=0.1))
    assert "next to nothing to win" in text
    assert "No length is predicted to pay" in text_of(facts(draft_step=1.0))
    assert "it would pay on no text" in text_of(facts(draft_step=1.0))


def test_the_round_shows_guess_check_refusal_correction_and_bonus() -> None:
    text = text_of(facts())
    for words in (
        "GUESS. The draft guesses 4 tokens",
        '" small" " fox" "\\n" " the"',
        "CHECK. The target reads the last token and the 4 guesses in one pass",
        '" small" 0.400 0.500 1 or more 0.900 kept',
        '" fox" 0.800 0.200 0.25 0.500 refused',
        "The 2 guesses behind it are not looked at",
        'CORRECT. In place of " fox"',
        'The random number 0.321 picks " bear" (0.900)',
        "BONUS. All guesses were kept",
        'The random number 0.654 picks "<|im_end|>"'.replace("The", "the"),
    ):
        assert words in text, words
    assert '" rare"' not in text


def test_a_round_with_only_a_bonus_or_only_a_correction_is_shown_whole() -> None:
    for rounds in ((CORRECTED,), (WHOLE,)):
        text = text_of(facts(replay=rounds))
        assert "GUESS." in text
        assert "KEEP or REFUSE" in text
    assert "step by step" not in text_of(facts(replay=()))


def test_it_is_told_with_how_many_texts_a_draft_stops_to_pay() -> None:
    found = facts()
    batches = list(found.batches())
    assert [batch.sequences for batch in batches] == [1, 4, 16]
    assert batches[0].off == pytest.approx(1 / (0.111 * 1.1))
    tokens = 4 * theory.expected_tokens(0.75, 2)
    assert batches[1].on[2] == pytest.approx(tokens / (2 * 0.03 * 1.08 + 0.111 * 2.2))
    assert stops_paying(batches, 2) == (4, 16)
    assert last_that_pays(batches, 2) == 4
    assert "Drafts of 2 pay with 4 texts and no longer with 16." in text_of(found)


def test_drafts_that_pay_always_or_never_are_told_so() -> None:
    flat = BatchTimes(
        tuple(BatchTime(count, width, 0.1) for count in (1, 2) for width in (1, 2)),
        tuple(BatchTime(count, 1, 0.001) for count in (1, 2)),
    )
    assert "Drafts of 1 still pay with 2 texts." in text_of(facts(batch=flat))
    dear = BatchTimes(flat.target, tuple(BatchTime(count, 1, 1.0) for count in (1, 2)))
    assert "Drafts of 1 never pay." in text_of(facts(batch=dear))


def test_without_a_draft_the_rest_is_explained() -> None:
    text = text_of(facts(**NO_DRAFT))
    assert "No draft is loaded" in text
    assert "One text alone gets" in text
    assert "step by step" not in text


def test_a_draft_that_guessed_nothing_is_no_failure() -> None:
    found = facts(guesses=(Guesses("code", ()),))
    assert found.acceptance is None
    assert "guessed nothing" in text_of(found)
    assert json.loads(facts_as_json(found))["acceptance"] is None


def test_a_busy_machine_is_told() -> None:
    assert "figures as rough" not in text_of(facts())
    assert "2.1 times as long" in text_of(facts(pass_seconds=tuple(0.055 for _ in range(9))))


def test_notes_are_told_at_the_end() -> None:
    assert "Not measured: It did not fit." in text_of(facts(notes=("It did not fit.",)))


def test_json_holds_the_same_figures() -> None:
    found = facts()
    told = json.loads(facts_as_json(found))
    assert told["schema"] == SCHEMA
    assert told["bound"] == found.bound
    assert told["pass_seconds"] == list(found.pass_seconds)
    assert told["acceptance"]["alpha"] == 0.75
    assert told["arms"][1]["predicted"]["speed_up"] == theory.measured_speed_up(0.75, 2, found.pass_seconds, 0.03)
    assert told["best"] == asdict(found.best) if found.best else None
    assert told["batch"][2]["sequences"] == 16
    assert told["replay"][0]["guesses"][1]["kept"] is False
    assert told["models"]["target"]["token"]["kv_bytes"] == 28_672
    assert json.loads(facts_as_json(facts(**NO_DRAFT)))["models"]["draft"] is None


@pytest.mark.parametrize(
    ("count", "words"), [(12, "12 bytes"), (28_672, "28.7 KB"), (1_640_623_712, "1.64 GB"), (4.8e12, "4.8 TB")]
)
def test_sizes_have_three_digits(count: float, words: str) -> None:
    assert size(count) == words
