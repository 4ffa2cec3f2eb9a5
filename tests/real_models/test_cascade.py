"""A draft that is itself drafted for changes the time an answer takes, never its text, on real models too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from localspec.decoding.acceptance import rule_for
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.draft_length import DraftLength, FixedLength
from localspec.decoding.drafters.cascade import CascadeDrafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.drafters.ngram import NgramDrafter, NgramLookup
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Round, Turn
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer
from tests.decoding.answers import Pair
from tests.real_models.divergence import require_same_text_or_near_tie

GREEDY = SamplingSettings(temperature=0.0)
COUPLED = SamplingSettings(temperature=0.8, seed=7)
LENGTH = 40
PROMPT = (
    "<|im_start|>user\nRepeat this list, and then once more: one apple, two pears, three plums, four figs, five limes, "
    "six dates, seven kiwis.<|im_end|>\n<|im_start|>assistant\n"
)
COSTS = {width: 0.01 * (1 + 0.2 * width) for width in range(1, 33)}


def fixed() -> DraftLength:
    return FixedLength(5)


def adaptive() -> DraftLength:
    return AdaptiveLength(PassCosts(COSTS, {1: 0.003, 32: 0.02}), Knowledge(), greedy=True)


@pytest.fixture
def prompt(smollm2_tokenizer: Tokenizer) -> list[int]:
    return smollm2_tokenizer.encode(PROMPT, parse_special=True, add_special=True)


@pytest.fixture
def second_draft(smollm2_model: Model) -> Iterator[Context]:
    """The target's own weights, as a model that drafts for its requantized copy."""
    with Context(smollm2_model, ContextOptions(length=1024, threads=1)) as context:
        yield context


def turn_of(sampling: SamplingSettings, length: DraftLength, rule: str = "coupled") -> Turn:
    return Turn(sampling, rule_for(rule, sampling), length, max_tokens=LENGTH)


@pytest.mark.parametrize("length", [fixed, adaptive])
@pytest.mark.parametrize("sampling", [GREEDY, COUPLED], ids=["greedy", "coupled"])
def test_the_text_is_the_targets_and_both_caches_hold_it_after_every_round(
    smollm2_target: Context,
    smollm2_draft: Context,
    prompt: list[int],
    sampling: SamplingSettings,
    length: Callable[[], DraftLength],
) -> None:
    off = Pair(smollm2_target, NoDrafter(), list(prompt)).answer(turn_of(sampling, FixedLength(0)))
    smollm2_target.clear()
    drafter = CascadeDrafter(smollm2_draft, NgramDrafter(NgramLookup()), smollm2_target.vocabulary_size)
    cascaded = Pair(smollm2_target, drafter, list(prompt), smollm2_draft)

    answer = cascaded.answer(turn_of(sampling, length()))

    require_same_text_or_near_tie(smollm2_target, prompt, off, answer, sampling)
    drafted = sum(len(finished.drafted) for finished in cascaded.rounds)
    passes = sum(len(finished.passes) for finished in cascaded.rounds)
    # The adaptive rule may find that nothing is gained by guesses for the draft model, and by the last step of a round
    # that the guess it came to is worth nothing.
    assert 0 < passes < drafted + (len(cascaded.rounds) if length is adaptive else 0)


@pytest.mark.parametrize("rule", ["rejection", "block"])
def test_guesses_that_are_judged_twice_leave_both_caches_as_the_text_is(
    smollm2_target: Context, smollm2_draft: Context, prompt: list[int], rule: str
) -> None:
    rounds: list[Round] = []
    for seed in (1, 2, 3):
        smollm2_target.clear()
        smollm2_draft.clear()
        drafter = CascadeDrafter(smollm2_draft, NgramDrafter(NgramLookup()), smollm2_target.vocabulary_size)
        cascaded = Pair(smollm2_target, drafter, list(prompt), smollm2_draft)
        assert cascaded.answer(turn_of(replace(COUPLED, seed=seed), FixedLength(5), rule))
        rounds += cascaded.rounds

    # With single seeds 0.6 to 2.6 guesses a round were kept.
    assert sum(finished.accepted for finished in rounds) > len(rounds)


def test_three_models_and_a_lookup_write_the_text_of_one(
    smollm2_target: Context, smollm2_draft: Context, second_draft: Context, prompt: list[int]
) -> None:
    size = smollm2_target.vocabulary_size
    off = Pair(smollm2_target, NoDrafter(), list(prompt)).answer(turn_of(GREEDY, FixedLength(0)))
    smollm2_target.clear()
    inner = CascadeDrafter(second_draft, NgramDrafter(NgramLookup()), size)
    cascaded = Pair(smollm2_target, CascadeDrafter(smollm2_draft, inner, size), list(prompt), smollm2_draft)

    answer = cascaded.answer(turn_of(GREEDY, FixedLength(6)))

    require_same_text_or_near_tie(smollm2_target, prompt, off, answer, GREEDY)
    assert list(second_draft.tokens) == cascaded.text[: second_draft.length]
    assert {each.depth for finished in cascaded.rounds for each in finished.passes} == {0, 1}


def test_the_draft_is_what_the_draft_model_says_alone(
    smollm2_target: Context, smollm2_draft: Context, prompt: list[int]
) -> None:
    size = smollm2_target.vocabulary_size
    now = turn_of(GREEDY, FixedLength(12))
    drafts = []
    for drafter in (
        ModelDrafter(smollm2_draft, size),
        CascadeDrafter(smollm2_draft, NgramDrafter(NgramLookup()), size),
    ):
        smollm2_draft.clear()
        drafter.prepare(prompt, lambda: False)
        drafts.append(drafter.draft(prompt, 12, now))

    assert drafts[0].tokens == drafts[1].tokens
