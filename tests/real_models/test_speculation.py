"""On real models a draft changes the time an answer takes, never its text, and both caches always equal the text.

Every pass is deterministic on one machine, and the seeds are fixed, so these tests always come out the same there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.bench.losslessness.divergence import MOST_ROUNDING, NEAR_TIE, gap_between
from localspec.decoding.acceptance import rule_for
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.language_model import keep_common_prefix
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import Draft, Finish, Turn, never
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer
from tests.decoding.answers import Pair, Polls, ScriptedDrafter, pair_of, turn
from tests.real_models.divergence import require_same_text_or_near_tie

GREEDY = SamplingSettings(temperature=0.0)
COUPLED = SamplingSettings(temperature=0.8, seed=7)
LENGTH = 48
PROMPT = (
    "<|im_start|>user\nWrite a Python function that adds two numbers, and say what it does.<|im_end|>\n"
    "<|im_start|>assistant\n"
)
SETTINGS = pytest.mark.parametrize("sampling", [GREEDY, COUPLED], ids=["greedy", "coupled"])


def settings(sampling: SamplingSettings, draft_length: int = 4, max_tokens: int = LENGTH, **changes: object) -> Turn:
    return replace(turn(rule_for("coupled", sampling), sampling, draft_length, max_tokens=max_tokens), **changes)


@pytest.fixture
def prompt(smollm2_tokenizer: Tokenizer) -> list[int]:
    return smollm2_tokenizer.encode(PROMPT, parse_special=True, add_special=True)


@pytest.fixture(scope="module")
def plain_texts(smollm2_model: Model, smollm2_tokenizer: Tokenizer) -> dict[SamplingSettings, list[int]]:
    """What the target writes without speculation."""
    prompt = smollm2_tokenizer.encode(PROMPT, parse_special=True, add_special=True)
    with Context(smollm2_model, ContextOptions(length=1024, threads=1)) as target:
        texts = {}
        for sampling in (GREEDY, COUPLED):
            target.clear()
            texts[sampling] = Pair(target, NoDrafter(), list(prompt)).answer(settings(sampling))
        return texts


@pytest.fixture
def second_target(smollm2_model: Model) -> Iterator[Context]:
    with Context(smollm2_model, ContextOptions(length=1024, threads=1)) as context:
        yield context


@pytest.fixture
def real_pair(smollm2_target: Context, smollm2_draft: Context, prompt: list[int]) -> Pair[Context]:
    """SmolLM2 with its own coarsely requantized copy as the draft."""
    return pair_of(smollm2_target, smollm2_draft, prompt)


@SETTINGS
def test_a_draft_equal_to_the_target_is_accepted_whole(
    smollm2_target: Context,
    second_target: Context,
    prompt: list[int],
    plain_texts: dict[SamplingSettings, list[int]],
    sampling: SamplingSettings,
) -> None:
    pair = pair_of(smollm2_target, second_target, prompt)

    text = pair.answer(settings(sampling))

    refused = [finished for finished in pair.rounds if finished.accepted < len(finished.drafted)]
    if refused:
        before = sum(len(finished.tokens) for finished in pair.rounds[: pair.rounds.index(refused[0])])
        told = refused[0]
        guessed = [*text[:before], *told.drafted[: told.accepted + 1]]
        require_same_text_or_near_tie(second_target, prompt, guessed, text[: len(guessed)], sampling)
    require_same_text_or_near_tie(smollm2_target, prompt, plain_texts[sampling], text, sampling)


@SETTINGS
@pytest.mark.parametrize("draft_length", [1, 3, 8])
def test_the_text_is_the_same_with_speculation_on_and_off(
    real_pair: Pair[Context],
    plain_texts: dict[SamplingSettings, list[int]],
    sampling: SamplingSettings,
    draft_length: int,
) -> None:
    prompt = tuple(real_pair.text)

    text = real_pair.answer(settings(sampling, draft_length))

    assert sum(finished.accepted for finished in real_pair.rounds) > 0
    assert sum(finished.accepted < len(finished.drafted) for finished in real_pair.rounds) > 0
    require_same_text_or_near_tie(real_pair.target, prompt, plain_texts[sampling], text, sampling)


@SETTINGS
def test_a_drafter_that_is_always_wrong_changes_nothing_but_time(
    smollm2_target: Context,
    prompt: list[int],
    plain_texts: dict[SamplingSettings, list[int]],
    sampling: SamplingSettings,
) -> None:
    wrong = ScriptedDrafter((*prompt, *plain_texts[sampling]), smollm2_target.vocabulary_size, shift=1)
    pair = Pair(smollm2_target, wrong, list(prompt))

    text = pair.answer(settings(sampling, 3))

    assert sum(finished.accepted for finished in pair.rounds) == 0
    require_same_text_or_near_tie(smollm2_target, prompt, plain_texts[sampling], text, sampling)


@SETTINGS
def test_a_text_that_parts_without_a_tie_is_found_out(
    smollm2_target: Context,
    prompt: list[int],
    plain_texts: dict[SamplingSettings, list[int]],
    sampling: SamplingSettings,
) -> None:
    """The allowance for rounding is not one for errors: half of all tokens, changed to a likely other, are noticed."""
    text = plain_texts[sampling]
    noticed = 0
    for place in range(10):
        second = second_likeliest(smollm2_target, [*prompt, *text[:place]], text[place])
        noticed += gap_between(smollm2_target, [*prompt, *text[:place]], text[place], second, sampling) >= NEAR_TIE
    assert noticed >= 5


def second_likeliest(target: Context, text: list[int], likeliest: int) -> int:
    keep_common_prefix(target, text)
    for _ in prefill(target, text[:-1], never):
        pass
    row = target.evaluate(text[-1:])[0].copy()
    row[likeliest] = -np.inf
    return int(row.argmax())


def cache_is_that_of(text: list[int], context: Context, fresh: Context) -> bool:
    """Whether the context goes on as one does that read the text in one go: the same logits but for rounding."""
    fresh.clear()
    for _ in prefill(fresh, text[:-1], never):
        pass
    length = context.length
    held, read = context.evaluate(text[-1:])[0].copy(), fresh.evaluate(text[-1:])[0]
    context.truncate(length)
    return float(np.abs(held - read).max()) < MOST_ROUNDING


def test_random_cancels_leave_both_caches_equal_to_the_text(
    real_pair: Pair[Context], second_target: Context, plain_texts: dict[SamplingSettings, list[int]]
) -> None:
    """Cancelled at twelve random polls in a row, the answer goes on each time and is the same in the end."""
    rng = np.random.default_rng(11)
    pair, prompt = real_pair, tuple(real_pair.text)
    cancels = 0
    while (left := LENGTH - (len(pair.text) - len(prompt))) > 0:
        stop = int(rng.integers(1, 12)) if cancels < 12 else 10**9
        polls = Polls(lambda poll, stop=stop: poll >= stop)
        pair.answer(settings(COUPLED, int(rng.integers(1, 9)), left, cancelled=polls))
        pair.check()
        cancels += polls.count > stop
        if cancels in {1, 6, 12}:
            assert cache_is_that_of(pair.text, pair.target, second_target)
    assert cancels >= 5
    require_same_text_or_near_tie(pair.target, prompt, plain_texts[COUPLED], pair.text[len(prompt) :], COUPLED)


class FailingDrafter(ModelDrafter):
    """A draft model that works for a while."""

    def __init__(self, model: Context, good_drafts: int) -> None:
        super().__init__(model, model.vocabulary_size)
        self._good_drafts = good_drafts

    def draft(self, text: list[int], limit: int, turn: Turn) -> Draft:  # type: ignore[override] # the loop's own list
        drafted = super().draft(text, limit, turn)
        self._good_drafts -= 1
        if self._good_drafts < 0:
            raise RuntimeError("the draft failed")
        return drafted


@pytest.mark.parametrize("good_drafts", [0, 1, 4])
def test_a_failing_draft_leaves_both_caches_equal_to_the_text(
    smollm2_target: Context, smollm2_draft: Context, second_target: Context, prompt: list[int], good_drafts: int
) -> None:
    pair = Pair(smollm2_target, FailingDrafter(smollm2_draft, good_drafts), list(prompt), smollm2_draft)

    with pytest.raises(RuntimeError, match="the draft failed"):
        pair.answer(settings(COUPLED))

    pair.check()
    assert len(pair.rounds) == good_drafts
    assert cache_is_that_of(pair.text, smollm2_target, second_target)


@pytest.mark.parametrize("place", [0, 2, 3, 4])
def test_an_end_token_may_fall_anywhere_in_a_draft(
    smollm2_target: Context,
    prompt: list[int],
    plain_texts: dict[SamplingSettings, list[int]],
    place: int,
) -> None:
    text = plain_texts[GREEDY]
    end = text[place]
    stop = text.index(end)
    knows_all = ScriptedDrafter((*prompt, *text), smollm2_target.vocabulary_size)
    pair = Pair(smollm2_target, knows_all, list(prompt))

    answer = pair.answer(settings(GREEDY, end_tokens=frozenset([end])))

    assert answer == text[: stop + 1]
    assert pair.rounds[-1].finish is Finish.END


def test_the_context_is_filled_to_the_last_token(
    smollm2_model: Model, smollm2_draft: Context, prompt: list[int]
) -> None:
    with Context(smollm2_model, ContextOptions(length=len(prompt) + 13, threads=1)) as target:
        for drafter, draft in ((NoDrafter(), None), (_model_drafter(smollm2_draft), smollm2_draft)):
            target.clear()
            pair = Pair(target, drafter, list(prompt), draft)
            pair.answer(settings(GREEDY, max_tokens=None))
            assert target.length == target.capacity
            assert len(pair.text) == target.capacity + 1
            assert pair.rounds[-1].finish is Finish.CONTEXT


def _model_drafter(draft: Context) -> Drafter:
    return ModelDrafter(draft, draft.vocabulary_size)


@pytest.fixture(scope="module")
def bench_pair(bench_target_path: Path, bench_draft_path: Path) -> Iterator[tuple[Context, Context]]:
    options = ContextOptions(length=256, threads=1)
    with Model(bench_target_path) as target, Model(bench_draft_path) as draft:
        yield Context(target, options), Context(draft, options)


@pytest.mark.parametrize(
    "sampling", [GREEDY, replace(COUPLED, top_k=0, top_p=1.0, min_p=0.0)], ids=["greedy", "coupled"]
)
def test_the_bench_pair_writes_the_targets_text(
    bench_pair: tuple[Context, Context], sampling: SamplingSettings
) -> None:
    target, draft = bench_pair
    prompt = Tokenizer(target.model).encode(PROMPT, parse_special=True, add_special=True)
    # All but the last token of the prompt is read once: its rounding is the same for all.
    keep_common_prefix(target, prompt)
    off = Pair(target, NoDrafter(), list(prompt)).answer(settings(sampling, max_tokens=16))
    keep_common_prefix(target, prompt)
    pair = pair_of(target, draft, prompt)
    on = pair.answer(settings(sampling, 3, 16))

    assert sum(finished.accepted for finished in pair.rounds) > 0
    require_same_text_or_near_tie(target, prompt, off, on, sampling)
