"""The line of figures: each with its denominator."""

from localspec.cli.figures import figures_in_full, figures_of_answer
from localspec.decoding.statistics import DecodingStatistics
from tests.cli.answers import end


def test_the_line_tells_speed_acceptance_and_time() -> None:
    assert figures_of_answer(end()) == (
        "14 tokens in 2.00 s (7.0 tok/s) · accepted 75% (9 of 12) · 2.80 tokens per pass (5 passes) · "
        "target 1.25 s, draft 0.50 s, other 0.25 s · first token 0.25 s · "
        "prompt 1,234 tokens, 1,000 of them known · context 1,247/4,096"
    )


def test_an_answer_without_a_draft_or_a_token_divides_nothing() -> None:
    nothing = end(statistics=DecodingStatistics(), time_to_first_token=None, reused_tokens=0)
    assert figures_of_answer(nothing) == (
        "0 tokens in 0.00 s · nothing drafted · prompt 1,234 tokens · context 1,247/4,096"
    )


def test_a_lossy_rule_is_named_as_such() -> None:
    assert "typical acceptance: NOT the target's distribution" in figures_of_answer(
        end(acceptance="typical", lossless=False)
    )


def test_all_figures_tell_positions_origins_and_seed() -> None:
    _, positions, origins = figures_in_full(end()).splitlines()
    assert positions == "accepted at position 1: 80% of 5, 2: 75% of 4, 3: 67% of 3"
    assert origins == "written by: draft 9, bonus 3, correction 2 · seed 7 · rejection acceptance"
