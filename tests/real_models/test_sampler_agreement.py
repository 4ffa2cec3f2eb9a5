"""On real logits the settings mean what they mean in llama.cpp: the same probabilities within 1e-5."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from localspec.decoding.sampling import to_distribution
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.llama.context import Context
from localspec.llama.tokenizer import Tokenizer
from tests.real_models.llama_chain import chain_probabilities

SETTINGS = 50
ROWS = 10
TEXTS = (
    "The capital of France is Paris, and the capital of Italy is Rome. The capital of Spain is",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return fibonacci(n - 1) + fibonacci(n - 2)\n\nprint(",
    "Once upon a time there was a small fox who wanted to see the sea. One day she packed a bag, and",
    '{"name": "Ada", "born": 1815, "languages": ["English", "French"]}\n{"name": "Alan", "born": 19',
    "The the the the, and and and and. 1 2 1 2 1 2 1 2 1 2 3 3 3 3. Again and again and again: the",
)


@pytest.fixture
def real_rows(smollm2_target: Context, smollm2_tokenizer: Tokenizer) -> list[tuple[list[int], NDArray[np.float32]]]:
    """Fifty texts, each with the logits that follow it."""
    rows = []
    for text in TEXTS:
        tokens = smollm2_tokenizer.encode(text, parse_special=False, add_special=True)
        smollm2_target.clear()
        logits = smollm2_target.evaluate(tokens, rows=ROWS).copy()
        rows.extend((tokens[: len(tokens) - ROWS + 1 + row], logits[row]) for row in range(ROWS))
    return rows


def random_settings(rng: np.random.Generator, likely: NDArray[np.int64]) -> SamplingSettings:
    """Settings people use, each on or off by chance; biases and penalties fall on tokens that matter."""

    def maybe(off: float, *on: float) -> float:
        return float(rng.choice([off, *on]))

    biased = rng.choice(likely, size=rng.integers(4), replace=False)
    return SamplingSettings(
        temperature=maybe(0.0, 0.3, 0.6, 0.8, 1.0, 1.5),
        top_k=int(maybe(0, 1, 5, 40, 40, 300, 100_000)),
        top_p=maybe(1.0, 0.5, 0.8, 0.95, 0.99),
        min_p=maybe(0.0, 0.01, 0.05, 0.2),
        repetition_penalty=maybe(1.0, 1.05, 1.3, 0.9),
        presence_penalty=maybe(0.0, 0.5, 1.5, -0.5),
        frequency_penalty=maybe(0.0, 0.2, 1.0, -0.3),
        penalty_window=int(maybe(0, 1, 8, 64, -1)),
        logit_bias=tuple((int(token), maybe(-math.inf, -3.0, 2.5)) for token in biased),
    )


def test_probabilities_equal_llama_cpps_own_sampler_chain(
    real_rows: list[tuple[list[int], NDArray[np.float32]]],
) -> None:
    rng = np.random.default_rng(2024)
    truncated = penalised = 0
    for text, logits in real_rows:
        likely = np.argsort(-logits)[:10]
        settings = random_settings(rng, likely)

        made = to_distribution(logits, settings, settings.window(text))

        ids, probabilities = made.support()
        ours = np.zeros(logits.size)
        ours[ids] = probabilities
        theirs = chain_probabilities(logits, settings, text)
        assert np.abs(ours - theirs).max() < 1e-5, settings
        truncated += 1 < np.count_nonzero(theirs) < logits.size
        penalised += settings.penalises
    assert len(real_rows) == SETTINGS
    assert truncated > 20
    assert penalised > 20
