"""Cutting a text short in memories that cannot simply be cut: sliding windows and recurrent states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.language_model import Logits
from localspec.llama.bindings import low
from localspec.llama.context import Context, EvaluationCancelledError
from localspec.llama.context_options import ContextOptions
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer
from tests.llama.tiny_recurrent import write_lfm2, write_mamba

OPTIONS = ContextOptions(length=512, threads=1)

CLOSE = 0.02
"""Keys and values are rounded to 16 bits; a state of another token is off by more than 1."""


def some_text(length: int, seed: int = 5) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(0, 256, length)]


def logits_after(context: Context) -> Logits:
    """What follows the held text, asked with one more token."""
    row: Logits = context.evaluate([77], 1)[0]
    return row.copy()


def logits_after_fresh(model: Model, text: list[int], options: ContextOptions) -> Logits:
    with Context(model, options) as fresh:
        fresh.evaluate(text, 0)
        return logits_after(fresh)


@pytest.fixture(scope="module")
def lfm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with Model(write_lfm2(tmp_path_factory.mktemp("models") / "lfm2.gguf")) as model:
        yield model


@pytest.fixture(scope="module")
def mamba(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with Model(write_mamba(tmp_path_factory.mktemp("models") / "mamba.gguf")) as model:
        yield model


@pytest.fixture(params=["lfm2", "mamba"])
def recurrent(request: pytest.FixtureRequest) -> Model:
    model: Model = request.getfixturevalue(request.param)
    return model


def one_pass(context: Context, tokens: list[int]) -> None:
    context.evaluate(tokens)


def token_by_token(context: Context, tokens: list[int]) -> None:
    for token in tokens:
        context.evaluate([token])


@pytest.mark.parametrize("evaluate", [one_pass, token_by_token])
@pytest.mark.parametrize("kept", [0, 1, 3, 7])
def test_a_recurrent_state_goes_back_to_what_it_was(
    recurrent: Model, evaluate: Callable[[Context, list[int]], None], kept: int
) -> None:
    text = some_text(40)
    with Context(recurrent, OPTIONS) as context:
        context.evaluate(text[:30], 1)
        evaluate(context, text[30:38])
        context.truncate(30 + kept)
        after = logits_after(context)

    assert np.allclose(after, logits_after_fresh(recurrent, text[: 30 + kept], OPTIONS), atol=CLOSE)


def test_llama_cpp_alone_takes_a_wrong_state_back(lfm2: Model) -> None:
    """Why `Context` does not believe it: when this fails, llama.cpp has mended it and the checkpoints can go."""
    text = some_text(36)
    with Context(lfm2, OPTIONS) as context:
        context.evaluate(text[:30], 1)
        token_by_token(context, text[30:])
        assert low.llama_memory_seq_rm(low.llama_get_memory(context.pointer), 0, 33, -1)
        del context._tokens[33:]
        after = logits_after(context)

    assert not np.allclose(after, logits_after_fresh(lfm2, text[:33], OPTIONS), atol=0.1)


def test_rounds_of_drafting_leave_a_recurrent_state_equal_to_the_text(recurrent: Model) -> None:
    """As a draft lives: catch up by a token or two, guess token by token, go back to what was accepted."""
    rng = np.random.default_rng(9)
    text = some_text(20)
    with Context(recurrent, OPTIONS) as context:
        context.evaluate(text, 1)
        for _ in range(25):
            text.extend(some_text(int(rng.integers(1, 3)), int(rng.integers(1000))))
            context.evaluate(text[context.length :], 1)
            guesses = some_text(int(rng.integers(0, LONGEST_DRAFT + 1)), int(rng.integers(1000)))
            token_by_token(context, guesses)
            text.extend(guesses[: int(rng.integers(0, len(guesses) + 1))])
            context.truncate(min(len(text), context.length))
            assert list(context.tokens) == text[: context.length]
        after = logits_after(context)

    assert np.allclose(after, logits_after_fresh(recurrent, text, OPTIONS), atol=CLOSE)


def test_a_recurrent_state_goes_back_twice_and_far(recurrent: Model) -> None:
    text = some_text(200)
    with Context(recurrent, OPTIONS) as context:
        token_by_token(context, text)
        for length in (198, 197, 150, 20, 3):
            context.truncate(length)
            assert list(context.tokens) == text[:length]
        after = logits_after(context)

    assert np.allclose(after, logits_after_fresh(recurrent, text[:3], OPTIONS), atol=CLOSE)


def test_a_snapshot_holds_a_recurrent_state_too(recurrent: Model) -> None:
    text = some_text(30)
    with Context(recurrent, OPTIONS) as context:
        token_by_token(context, text)
        saved = context.snapshot()
        token_by_token(context, some_text(10, 1))
        context.restore(saved)
        context.truncate(29)
        after = logits_after(context)

    assert np.allclose(after, logits_after_fresh(recurrent, text[:29], OPTIONS), atol=CLOSE)


def test_going_back_is_never_cancelled(mamba: Model) -> None:
    """What stays must be evaluated again, whatever the person wants: half of it would be another text."""
    text = some_text(100)
    with Context(mamba, OPTIONS) as context:
        context.evaluate(text, 1)
        context.cancelled = lambda: True
        context.truncate(60)
        assert list(context.tokens) == text[:60]


def test_a_cancelled_pass_of_a_recurrent_model_leaves_nothing_half_done(recurrent: Model) -> None:
    text = some_text(200)
    with Context(recurrent, OPTIONS) as context:
        context.evaluate(text[:50], 1)
        context.cancelled = lambda: True
        with pytest.raises(EvaluationCancelledError):
            context.evaluate(text[50:], 1)
        assert list(context.tokens) == text[: context.length]
        context.cancelled = None
        context.evaluate(text[context.length :], 0)
        after = logits_after(context)

    assert np.allclose(after, logits_after_fresh(recurrent, text, OPTIONS), atol=CLOSE)


def test_it_is_told_which_models_go_back_cheaply(lfm2: Model, mamba: Model) -> None:
    with Context(lfm2, OPTIONS) as hybrid, Context(mamba, OPTIONS) as state:
        assert lfm2.is_hybrid
        assert hybrid.can_roll_back
        assert mamba.is_recurrent
        assert not state.can_roll_back
        assert state.why_no_roll_back is not None
        assert "mamba" in state.why_no_roll_back


@pytest.fixture(scope="module")
def gemma(gemma_path: Path) -> Iterator[Model]:
    with Model(gemma_path) as model:
        yield model


@pytest.fixture(scope="module")
def long_text(gemma: Model) -> list[int]:
    """Longer than the window of 512 tokens and the micro-batch beside it."""
    assert gemma.sliding_window == 512
    return Tokenizer(gemma).encode(Path(__file__).read_text(), parse_special=False, add_special=True)[:900]


# Cut and fresh contexts evaluate in passes of the same widths: another width alone moves Gemma's logits by up to 1.


@pytest.mark.parametrize("full", [True, False])
def test_a_sliding_window_goes_back_over_its_edge(gemma: Model, long_text: list[int], full: bool) -> None:
    options = ContextOptions(length=1024, threads=1, micro_batch=64, full_window_cache=full)
    with Context(gemma, options) as context:
        context.evaluate(long_text[:200], 0)
        context.evaluate(long_text[200:], 0)
        context.truncate(200)
        assert list(context.tokens) == long_text[:200]
        assert low.llama_memory_seq_pos_max(low.llama_get_memory(context.pointer), 0) == 199
        after = logits_after(context)

    assert np.array_equal(after, logits_after_fresh(gemma, long_text[:200], options))


def test_a_short_step_back_needs_no_second_evaluation(gemma: Model, long_text: list[int]) -> None:
    """Within a draft's reach the window still holds what it looks back on."""
    options = ContextOptions(length=1024, threads=1, micro_batch=64, full_window_cache=False)
    with Context(gemma, options) as context:
        context.evaluate(long_text[:600], 0)
        context.evaluate(long_text[600:608])
        assert context._back.cut(608, 600)
        del context._tokens[600:]
        after = logits_after(context)

    assert np.array_equal(after, logits_after_fresh(gemma, long_text[:600], options))
