"""Logits become the distribution that llama.cpp's samplers would make of them, for any settings a person may give."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from localspec.decoding.distributions import Certain, Dense, Sparse
from localspec.decoding.sampling import greatest_probability, to_distribution
from localspec.decoding.sampling_settings import SamplingSettings
from tests.decoding.reference_sampling import boundary_margin, exact_probabilities
from tests.decoding.scenarios import PLAIN

ROUNDING = 1e-5
"""A truncation nearer to its boundary than this may fall either way in float32."""


def random_settings(rng: np.random.Generator, vocabulary: int) -> SamplingSettings:
    """Each setting off, usual or extreme."""

    def one_of(*choices: float) -> float:
        return float(rng.choice(choices))

    biased = rng.choice(vocabulary + 3, size=rng.integers(4))
    return SamplingSettings(
        temperature=one_of(0.0, 0.3, 0.8, 1.0, 1.5),
        top_k=int(one_of(0, 1, 2, 40, vocabulary - 1, vocabulary, vocabulary + 1)) if vocabulary > 1 else 0,
        top_p=one_of(1.0, 0.95, 0.5, 0.01, 0.999999),
        min_p=one_of(0.0, 0.05, 0.5, 1.0, 1e-12),
        repetition_penalty=one_of(1.0, 1.1, 2.0, 0.8),
        presence_penalty=one_of(0.0, 0.5, -1.0),
        frequency_penalty=one_of(0.0, 0.3, -0.2),
        penalty_window=int(one_of(-1, 0, 1, 5, 64)),
        logit_bias=tuple((int(token), one_of(-math.inf, -2.0, 3.0)) for token in biased),
    )


@pytest.mark.parametrize("vocabulary", [1, 2, 5, 63, 64, 65, 700, 3000])
def test_probabilities_agree_with_the_slow_reference(vocabulary: int) -> None:
    rng = np.random.default_rng(vocabulary)
    compared = 0
    for _ in range(80 if vocabulary < 1000 else 20):
        settings = random_settings(rng, vocabulary)
        logits = rng.normal(0, rng.choice([0.5, 2.0, 6.0]), vocabulary).astype(np.float32)
        text = rng.integers(vocabulary, size=rng.integers(1, 80)).tolist()
        if all((token, -math.inf) in settings.logit_bias for token in range(vocabulary)):
            continue
        before = logits.copy()

        made = to_distribution(logits, settings, settings.window(text))

        assert np.array_equal(logits, before)
        if boundary_margin(logits, settings, text) > ROUNDING:
            exact = exact_probabilities(logits, settings, text)
            assert [made.probability(t) for t in range(vocabulary)] == pytest.approx(exact, rel=2e-5, abs=1e-9)
            compared += 1
    assert compared >= 15


def test_equal_logits_are_cut_in_the_order_of_their_ids() -> None:
    logits = np.array([1.0, 2.0, 2.0, 2.0, 0.0], np.float32)

    assert to_distribution(logits, replace(PLAIN, top_k=2)).support()[0].tolist() == [1, 2]
    assert to_distribution(logits, replace(PLAIN, top_p=0.5)).support()[0].tolist() == [1, 2]
    assert to_distribution(logits, replace(PLAIN, min_p=1.0)).support()[0].tolist() == [1, 2, 3]
    assert to_distribution(logits, replace(PLAIN, temperature=0.0)).likeliest() == 1


def test_many_equal_logits_do_not_confuse_the_search_for_the_top_k() -> None:
    logits = np.zeros(1000, np.float32)
    logits[500:510] = 1.0
    for k in (1, 5, 10, 11, 100, 999):
        kept, _ = to_distribution(logits, replace(PLAIN, top_k=k)).support()
        assert kept.tolist() == [*range(500, 510), *range(500), *range(510, 1000)][:k]


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (replace(PLAIN, temperature=0.0), Certain),
        (PLAIN, Dense),
        (replace(PLAIN, top_k=9), Dense),
        (replace(PLAIN, top_k=10**9), Dense),
        (replace(PLAIN, top_k=8), Sparse),
        (replace(PLAIN, top_p=0.9), Sparse),
        (replace(PLAIN, min_p=0.1), Sparse),
    ],
)
def test_only_what_truncates_makes_a_distribution_sparse(settings: SamplingSettings, kind: type) -> None:
    assert type(to_distribution(np.arange(9, dtype=np.float32), settings)) is kind


@pytest.mark.parametrize("temperature", [1e-3, 1e-30, 1e-39, 5e-324])
@pytest.mark.parametrize("truncation", [{}, {"top_k": 2}, {"top_p": 0.9}])
@pytest.mark.filterwarnings("error")
def test_a_temperature_near_0_takes_the_likeliest(temperature: float, truncation: dict[str, float]) -> None:
    logits = np.array([1.0, 3.0, 2.0, -np.inf], np.float32)

    made = to_distribution(logits, replace(PLAIN, temperature=temperature, **truncation))

    assert made.probability(1) == 1.0


@pytest.mark.parametrize("settings", [PLAIN, SamplingSettings(), SamplingSettings(temperature=0.0)])
@pytest.mark.parametrize("logits", [[np.nan, 1.0], [1.0, np.nan], [-np.inf, -np.inf], [np.inf, 0.0]])
def test_a_row_that_is_no_distribution_is_refused_in_words(settings: SamplingSettings, logits: list[float]) -> None:
    with pytest.raises(ValueError, match="no token has a usable logit"):
        to_distribution(np.array(logits, np.float32), settings)


@pytest.mark.parametrize("place", [0, 70, 639])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("truncation", [{"top_k": 5}, {"top_k": 300}, {"top_p": 0.5}, {"min_p": 0.1}, {}])
def test_one_wrong_logit_among_many_is_noticed(truncation: dict[str, float], wrong: float, place: int) -> None:
    logits = np.random.default_rng(0).normal(0, 1, 640).astype(np.float32)
    logits[place] = wrong
    with pytest.raises(ValueError, match="no token has a usable logit"):
        to_distribution(logits, replace(PLAIN, **truncation))


def test_forbidding_every_token_is_refused_in_words() -> None:
    settings = replace(PLAIN, logit_bias=((0, -math.inf), (1, -math.inf)))
    with pytest.raises(ValueError, match="every token is forbidden"):
        to_distribution(np.zeros(2, np.float32), settings)


def test_a_forbidden_token_has_no_probability_left() -> None:
    logits = np.array([0.0, 9.0, 1.0], np.float32)
    for settings in (PLAIN, replace(PLAIN, top_k=3), replace(PLAIN, top_k=2), SamplingSettings()):
        forbidding = replace(settings, logit_bias=((1, -math.inf),), repetition_penalty=1.5)
        assert to_distribution(logits, forbidding, forbidding.window([1, 1])).probability(1) == 0.0


@pytest.mark.parametrize("window", [-1, 0, 1, 2, 3, 5, 100])
def test_the_window_is_the_end_of_text_and_draft(window: int) -> None:
    settings = replace(PLAIN, presence_penalty=1.0, penalty_window=window)
    for text in ([], [1], [1, 2, 3, 4]):
        for drafted in ([], [7], [7, 8, 9], (7, 8)):
            whole = [*text, *drafted]
            wanted = whole if window == -1 else whole[len(whole) - min(window, len(whole)) :]
            assert list(settings.window(text, drafted)) == wanted


def test_without_penalties_nobody_looks_at_the_text() -> None:
    assert SamplingSettings(penalty_window=64).window([1, 2, 3]) == ()
    assert not SamplingSettings(repetition_penalty=1.5, penalty_window=0).penalises


def test_how_sure_a_drafter_is_is_the_greatest_probability_in_q_or_at_temperature_0_in_the_softmax() -> None:
    logits = np.log(np.array([0.3, 0.5, 0.2], np.float32))
    assert greatest_probability(logits, Certain(1)) == pytest.approx(0.5)
    assert greatest_probability(logits, to_distribution(logits, replace(PLAIN, top_k=2))) == pytest.approx(0.625)


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": -0.1},
        {"temperature": math.inf},
        {"temperature": math.nan},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_p": math.nan},
        {"min_p": -0.1},
        {"min_p": 1.1},
        {"repetition_penalty": 0.0},
        {"repetition_penalty": math.inf},
        {"presence_penalty": math.nan},
        {"frequency_penalty": math.inf},
        {"penalty_window": -2},
        {"logit_bias": ((-1, 1.0),)},
        {"logit_bias": ((1, math.inf),)},
        {"logit_bias": ((1, math.nan),)},
        {"seed": -1},
        {"seed": 2**64},
    ],
)
def test_an_impossible_setting_is_refused_by_name(change: dict[str, object]) -> None:
    name = next(iter(change)).replace("_", "[- ]")
    with pytest.raises(ValueError, match=f"^{name} must be "):
        replace(PLAIN, **change)
