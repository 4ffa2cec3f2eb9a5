from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.language_model import LanguageModel
from localspec.errors import LocalspecError, OutOfMemoryError, UsageError
from localspec.llama import allocation
from localspec.llama.batch import TokenBatch
from localspec.llama.bindings import low
from localspec.llama.context import Context, EvaluationCancelledError
from localspec.llama.context_options import KV_TYPES, ContextOptions, FlashAttention
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer

ROWS = LONGEST_DRAFT + 1


@pytest.fixture(scope="module")
def text(smollm2_tokenizer: Tokenizer) -> list[int]:
    """A text of 60 tokens."""
    words = "The lighthouse keeper counted the ships that passed in the night, and wrote each of them down. " * 4
    return smollm2_tokenizer.encode(words, parse_special=False, add_special=True)[:60]


@pytest.fixture
def context(smollm2_target: Context) -> Context:
    return smollm2_target


@pytest.fixture
def other(smollm2_model: Model) -> Iterator[Context]:
    """A second context, to compare with."""
    with Context(smollm2_model, ContextOptions(length=1024, threads=1)) as context:
        yield context


def near(one: np.ndarray, two: np.ndarray) -> bool:
    """Equal up to the rounding that a pass of another width brings."""
    return bool(np.abs(one - two).max() < 1.0 and one.argmax(-1).tolist() == two.argmax(-1).tolist())


def test_a_context_is_a_language_model(context: Context) -> None:
    model: LanguageModel = context

    assert (model.vocabulary_size, model.length, model.capacity, list(model.tokens)) == (49_152, 0, 1024, [])


def test_rows_are_what_llama_cpp_gives_one_by_one(context: Context, text: list[int]) -> None:
    context.evaluate(text[:10], 0)
    for count, wanted in ((1, 1), (5, 5), (8, 3), (ROWS, ROWS)):
        tokens = text[10 : 10 + count]
        rows = context.evaluate(tokens, wanted)

        assert rows.shape == (wanted, 49_152)
        assert rows.dtype == np.float32
        for row in range(wanted):
            pointer = low.llama_get_logits_ith(context.pointer, count - wanted + row)
            assert np.array_equal(rows[row], np.ctypeslib.as_array(pointer, (49_152,)))
        context.truncate(10)


def test_rows_are_seen_not_copied(context: Context, text: list[int]) -> None:
    first = context.evaluate(text[:4], 2)
    kept = first.copy()
    second = context.evaluate(text[4:6], 2)

    assert np.shares_memory(first, second)
    assert not np.array_equal(first, kept)


def test_a_text_gives_the_same_logits_however_it_is_cut(context: Context, other: Context, text: list[int]) -> None:
    whole = context.evaluate(text, 1)
    for token in text[:-1]:
        other.evaluate([token], 0)
    single = other.evaluate(text[-1:])

    assert near(whole, single)
    assert list(context.tokens) == list(other.tokens) == text


def test_no_rows_are_asked_for_in_a_prompt(context: Context, text: list[int]) -> None:
    assert context.evaluate(text, 0).shape == (0, 49_152)
    assert context.evaluate([], 0).shape == (0, 49_152)
    assert context.length == len(text)


def test_rows_straddle_no_pass(smollm2_model: Model, context: Context, text: list[int]) -> None:
    """A text longer than one batch by a little: every row must still be there at the end."""
    with Context(smollm2_model, ContextOptions(length=512, threads=1, batch=40, micro_batch=10)) as small:
        for count in (ROWS, 41, 49):
            small.clear()
            context.clear()
            assert near(small.evaluate(text[:count], ROWS), context.evaluate(text[:count], ROWS))
            assert list(small.tokens) == text[:count]


def test_going_back_leaves_the_text_before_as_it_was(context: Context, other: Context, text: list[int]) -> None:
    rng = np.random.default_rng(3)
    context.evaluate(text[:20], 1)
    for _ in range(8):
        guesses = [int(token) for token in rng.integers(0, 49_152, rng.integers(1, ROWS + 1))]
        context.evaluate(guesses)
        context.truncate(20 + int(rng.integers(0, len(guesses))))
        context.truncate(20)
    rows = context.evaluate(text[20:24])

    other.evaluate(text[:20], 1)
    assert np.array_equal(rows, other.evaluate(text[20:24]))


def test_going_back_to_nothing_and_nowhere(context: Context, text: list[int]) -> None:
    context.evaluate(text, 1)
    context.truncate(len(text))
    assert context.length == len(text)
    context.truncate(0)
    assert (context.length, list(context.tokens)) == (0, [])
    for length in (-1, 1):
        with pytest.raises(ValueError, match="cannot cut"):
            context.truncate(length)


@pytest.mark.parametrize(
    ("tokens", "rows", "words"),
    [
        ([1] * 1025, 1, "do not fit"),
        ([1, 49_152], 1, "not in the vocabulary"),
        ([-1], 1, "not in the vocabulary"),
        ([1, 2], 3, "rows of logits"),
        ([1, 2], -1, "rows of logits"),
        ([1] * (ROWS + 1), None, "rows of logits"),
    ],
)
def test_an_impossible_evaluation_changes_nothing(
    context: Context, tokens: list[int], rows: int | None, words: str
) -> None:
    context.evaluate([5, 6], 1)

    with pytest.raises(ValueError, match=words):
        context.evaluate(tokens, rows)
    assert list(context.tokens) == [5, 6]
    assert low.llama_memory_seq_pos_max(low.llama_get_memory(context.pointer), 0) == 1


def test_a_full_context_holds_exactly_what_was_asked(smollm2_model: Model) -> None:
    with Context(smollm2_model, ContextOptions(length=10, threads=1)) as context:
        assert context.capacity == 10
        context.evaluate(list(range(10)), 1)
        with pytest.raises(ValueError, match="do not fit"):
            context.evaluate([1])
        assert context.length == 10


def test_without_a_length_the_context_is_as_long_as_the_model_was_trained_on(smollm2_model: Model) -> None:
    with Context(smollm2_model) as context:
        assert context.capacity == 8192


def test_a_snapshot_comes_back_bit_by_bit(context: Context, other: Context, text: list[int]) -> None:
    context.evaluate(text, 1)
    saved = context.snapshot()
    expected = context.evaluate([11, 12]).copy()
    context.clear()
    context.evaluate([1, 2, 3], 0)

    for place in (context, other):
        place.restore(saved)
        assert tuple(place.tokens) == saved.tokens == tuple(text)
        assert np.array_equal(place.evaluate([11, 12]), expected)


def test_a_snapshot_of_another_kind_is_refused(smollm2_model: Model, context: Context, text: list[int]) -> None:
    context.evaluate(text, 0)
    saved = context.snapshot()
    with Context(smollm2_model, ContextOptions(length=1024, threads=1, kv_type="q8_0")) as other:
        with pytest.raises(ValueError, match="other options"):
            other.restore(saved)
        assert other.length == 0
    with (
        Context(smollm2_model, ContextOptions(length=32, threads=1)) as short,
        pytest.raises(ValueError, match="do not fit"),
    ):
        short.restore(saved)
    empty = Context(smollm2_model, ContextOptions(length=64, threads=1))
    context.restore(empty.snapshot())
    assert context.length == 0
    empty.close()


def test_a_long_pass_can_be_cancelled_and_the_text_stays_true(
    context: Context, other: Context, text: list[int]
) -> None:
    context.evaluate(text[:10], 0)
    context.cancelled = lambda: True
    with pytest.raises(EvaluationCancelledError):
        context.evaluate(text[10:], 1)
    context.cancelled = None

    held = context.length
    assert list(context.tokens) == text[:held]
    rows = context.evaluate(text[held:], 1)
    other.evaluate(text[:10], 0)
    assert near(rows, other.evaluate(text[10:], 1))


def test_a_pass_cancelled_half_way_keeps_what_went_through(smollm2_model: Model, text: list[int]) -> None:
    with Context(smollm2_model, ContextOptions(length=512, threads=1, batch=64, micro_batch=20)) as context:
        polls = 0

        def after_a_while() -> bool:
            nonlocal polls
            polls += 1
            return polls > 1500

        context.cancelled = after_a_while
        with pytest.raises(EvaluationCancelledError):
            context.evaluate(text, 1)
        assert 0 < context.length < len(text)
        assert list(context.tokens) == text[: context.length]
        memory = low.llama_get_memory(context.pointer)
        assert low.llama_memory_seq_pos_max(memory, 0) == context.length - 1


def test_what_a_cancel_check_raises_comes_out(context: Context, text: list[int]) -> None:
    def interrupted() -> bool:
        raise KeyboardInterrupt

    context.cancelled = interrupted
    with pytest.raises(KeyboardInterrupt):
        context.evaluate(text, 1)


@pytest.mark.parametrize("done", [True, False])
def test_an_interrupted_pass_counts_if_it_was_done(
    context: Context, text: list[int], done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.evaluate(text[:10], 0)
    real = TokenBatch.decode

    def interrupted(*arguments: Any) -> int:
        if done:
            real(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(TokenBatch, "decode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        context.evaluate(text[10:12])

    assert list(context.tokens) == text[: 12 if done else 10]


def test_a_short_pass_is_never_cancelled(context: Context) -> None:
    context.cancelled = lambda: True
    assert context.evaluate([1, 2, 3]).shape[0] == 3


def test_a_failed_pass_is_told_and_the_text_stays_true(
    context: Context, text: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """llama.cpp is made to see a batch at the wrong position, which it refuses."""
    context.evaluate(text[:10], 0)
    with monkeypatch.context() as patch:
        real = TokenBatch.decode
        patch.setattr(TokenBatch, "decode", lambda self, c, t, position, r, s: real(self, c, t, position + 5, r, s))
        with pytest.raises(LocalspecError, match="code -1"):
            context.evaluate(text[10:12])

    assert list(context.tokens) == text[:10]
    assert context.evaluate(text[10:12]).shape[0] == 2


def test_two_contexts_of_one_model_do_not_disturb_each_other(context: Context, other: Context, text: list[int]) -> None:
    context.evaluate(text[:20], 0)
    other.evaluate(text[30:50], 0)
    rows = context.evaluate(text[20:22]).copy()
    other.evaluate(text[50:52])
    context.truncate(20)

    assert np.array_equal(context.evaluate(text[20:22]), rows)


def test_a_context_may_be_used_from_another_thread(context: Context, text: list[int]) -> None:
    rows: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: rows.append(context.evaluate(text, 1)))
    thread.start()
    thread.join()

    assert rows[0].shape == (1, 49_152)


@pytest.mark.parametrize("kv_type", ["f32", "bf16", "q8_0", "q5_1", "q4_0"])
def test_keys_and_values_can_be_kept_in_less(smollm2_model: Model, kv_type: str, text: list[int]) -> None:
    with Context(smollm2_model, ContextOptions(length=512, threads=1, kv_type=kv_type)) as context:
        sizes = {buffer.use: buffer.size_bytes for buffer in context.buffers}
        bits = {"f32": 32, "bf16": 16, "q8_0": 8.5, "q5_1": 6, "q4_0": 4.5}[kv_type]
        assert sizes["KV"] == pytest.approx(30 * 2 * 192 * 512 * bits / 8, rel=0.01)
        assert np.isfinite(context.evaluate(text, 1)).all()


def test_impossible_options_are_the_callers_mistake() -> None:
    for options, words in (
        ({"length": 0}, "cannot hold a text"),
        ({"kv_type": "q3_k"}, "There is no KV type 'q3_k'"),
        ({"kv_type": "q8_0", "flash_attention": FlashAttention.OFF}, "needs flash attention"),
        ({"threads": 0}, "0 threads"),
        ({"batch_threads": -1}, "-1 threads"),
        ({"batch": 0}, "A batch"),
    ):
        with pytest.raises(UsageError, match=words):
            ContextOptions(**options)
    assert ContextOptions(kv_type="f16", flash_attention=FlashAttention.OFF).kv_type in KV_TYPES


def test_a_kv_cache_larger_than_memory_is_refused_before_it_is_made(smollm2_model: Model) -> None:
    with pytest.raises(OutOfMemoryError, match=r"Its KV cache takes 46080\.0 GB") as caught:
        Context(smollm2_model, ContextOptions(length=2_000_000_000))
    assert caught.value.title == "Not enough memory for a context of 2000000000 tokens"


def test_a_kv_cache_that_fits_is_made_when_memory_is_short(
    smollm2_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocation, "available_bytes", lambda: 40_000_000)

    Context(smollm2_model, ContextOptions(length=1500, threads=1)).close()
    with pytest.raises(OutOfMemoryError, match=r"takes 0\.0 GB|takes 0\.1 GB"):
        Context(smollm2_model, ContextOptions(length=2500, threads=1))


def test_rows_of_logits_take_no_more_than_a_draft_needs(smollm2_model: Model) -> None:
    with Context(smollm2_model, ContextOptions(length=1024, threads=1)) as context:
        assert low.llama_n_ctx(context.pointer) == 1024
        assert sum(buffer.size_bytes for buffer in context.buffers if buffer.use == "output") < 49_152 * 4 * ROWS


def test_threads_can_be_chosen_and_changed(smollm2_model: Model) -> None:
    with Context(smollm2_model, ContextOptions(length=256, threads=1, batch_threads=2)) as context:
        assert (low.llama_n_threads(context.pointer), low.llama_n_threads_batch(context.pointer)) == (1, 2)
        context.set_threads(2)
        assert (low.llama_n_threads(context.pointer), low.llama_n_threads_batch(context.pointer)) == (2, 2)


def test_a_plain_transformer_can_go_back(context: Context) -> None:
    assert context.can_roll_back
    assert context.why_no_roll_back is None


def test_a_closed_context_is_an_error_not_a_crash(context: Context) -> None:
    context.close()
    context.close()

    for use in (lambda: context.evaluate([1]), context.snapshot, context.clear, lambda: context.set_threads(1)):
        with pytest.raises(RuntimeError, match="closed"):
            use()
