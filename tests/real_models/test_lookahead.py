"""On a real model lookahead decoding finds guesses, and the text and the cache are what they are without it.

Every pass is deterministic on one machine, and the seeds are fixed, so these tests always come out the same there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from localspec.bench.losslessness.divergence import MOST_ROUNDING
from localspec.decoding.acceptance import rule_for
from localspec.decoding.drafters.jacobi_window import WindowShape
from localspec.decoding.drafters.lookahead import LookaheadDrafter
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.rounds import Finish
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer
from tests.decoding.answers import Pair, turn
from tests.real_models.divergence import require_same_text_or_near_tie

GREEDY = SamplingSettings(temperature=0.0)
COUPLED = SamplingSettings(temperature=0.8, seed=7)
TOKENS = 40
PROMPT = (
    "<|im_start|>user\nList ten tips for learning a new language, with one sentence each.<|im_end|>\n"
    "<|im_start|>assistant\n"
)


@pytest.fixture(scope="module")
def target(smollm2_model: Model) -> Iterator[Context]:
    with Context(smollm2_model, ContextOptions(length=512, threads=1, branches=31)) as context:
        yield context


@pytest.fixture
def prompt(smollm2_tokenizer: Tokenizer) -> list[int]:
    return smollm2_tokenizer.encode(PROMPT, parse_special=True, add_special=True)


def watched(target: Context, prompt: list[int]) -> Pair[Context]:
    """A pair that compares the cache with the text after each round."""
    target.clear()
    return Pair(target, LookaheadDrafter(WindowShape(5, 3)), list(prompt))


def plain_answer(target: Context, prompt: list[int], sampling: SamplingSettings) -> list[int]:
    target.clear()
    settings = turn(rule_for("coupled", sampling), sampling, 0, max_tokens=TOKENS)
    return Pair(target, NoDrafter(), list(prompt)).answer(settings)


@pytest.mark.parametrize("sampling", [GREEDY, COUPLED], ids=["greedy", "coupled"])
def test_the_text_is_the_same_with_lookahead_and_without(
    target: Context, prompt: list[int], sampling: SamplingSettings
) -> None:
    looking = watched(target, prompt)

    text = looking.answer(turn(rule_for("coupled", sampling), sampling, 8, max_tokens=TOKENS))

    assert any(each.lookahead for each in looking.rounds)
    assert any(each.accepted for each in looking.rounds)
    require_same_text_or_near_tie(target, prompt, plain_answer(target, prompt, sampling), text, sampling)


@pytest.mark.parametrize("rule", ["rejection", "block"])
def test_the_cache_holds_the_text_whatever_was_tried(target: Context, prompt: list[int], rule: str) -> None:
    sampling = replace(COUPLED, seed=3)
    looking = watched(target, prompt)
    looking.answer(turn(rule_for(rule, sampling), sampling, 8, max_tokens=TOKENS))
    after = target.evaluate(looking.text[-1:])[0].copy()

    target.clear()
    for token in looking.text[:-1]:
        target.evaluate([token], 0)

    assert np.abs(target.evaluate(looking.text[-1:])[0] - after).max() < MOST_ROUNDING


def test_a_context_that_is_nearly_full_is_filled_to_the_end(smollm2_model: Model, prompt: list[int]) -> None:
    with Context(smollm2_model, ContextOptions(length=len(prompt) + 24, threads=1, branches=31)) as small:
        looking = watched(small, prompt)

        answer = looking.answer(turn(draft_length=8, max_tokens=None))

        assert len(answer) == 25
        assert looking.rounds[-1].finish is Finish.CONTEXT
