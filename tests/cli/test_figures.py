"""The line of figures: each with its denominator."""

from localspec.cli.figures import figures_in_full, figures_of_answer
from localspec.decoding.statistics import DecodingStatistics
from tests.cli.answers import end


def test_the_line_tells_speed_acceptance_and_time() -> None:
    fixed = end(drafter="none", draft_length=0, outlook=None)
    assert figures_of_answer(fixed) == (
        "14 tokens in 2.00 s (7.0 tok/s) · accepted 75% (9 of 12) · 2.80 tokens per pass (5 passes) · "
        "target 1.25 s, draft 0.50 s, other 0.25 s · first token 0.25 s · "
        "prompt 1,234 tokens, 1,000 of them known · context 1,247/4,096"
    )


def test_what_was_guessed_by_whom_and_as_expected_stands_below_with_why() -> None:
    _, guesses, why = figures_of_answer(end()).splitlines()
    assert guesses == (
        "guesses from the draft model and the text, draft length auto · rounds by tokens drafted 1: 1, 2: 1, 3: 3 · "
        "kept of model 62% (5 of 8), ngram 100% (4 of 4) · predicted 75%, came 82% (of 11 judged)"
    )
    assert why == "drafting pays: a guess of the draft model is kept 75 % of the time here and pays from 50 % on"


def test_a_fixed_length_of_one_source_says_just_that() -> None:
    statistics = DecodingStatistics(rounds=3, emitted=7, drafted=6, accepted=4, drafted_at=(3, 3), accepted_at=(2, 2))
    _, guesses = figures_of_answer(end(statistics=statistics, drafter="model", draft_length=2)).splitlines()
    assert guesses == "guesses from the draft model, draft length 2 · rounds by tokens drafted 2: 3"


def test_an_answer_without_a_draft_or_a_token_divides_nothing() -> None:
    nothing = end(statistics=DecodingStatistics(), time_to_first_token=None, reused_tokens=0, drafter="none")
    assert figures_of_answer(nothing) == (
        "0 tokens in 0.00 s · nothing drafted · prompt 1,234 tokens · context 1,247/4,096"
    )


def test_a_lossy_rule_is_named_as_such() -> None:
    assert "typical acceptance: NOT the target's distribution" in figures_of_answer(
        end(acceptance="typical", lossless=False)
    )


def test_all_figures_tell_positions_origins_and_seed() -> None:
    *_, positions, origins = figures_in_full(end()).splitlines()
    assert positions == "accepted at position 1: 80% of 5, 2: 75% of 4, 3: 67% of 3"
    assert origins == "written by: draft 9, bonus 3, correction 2 · seed 7 · rejection acceptance"
