"""A text that goes on in several ways at once: each reads as if it were alone, and one of them can be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localspec.bench.losslessness.divergence import MOST_ROUNDING
from localspec.decoding.language_model import BranchingModel, Logits
from localspec.decoding.rounds import ancestry
from localspec.errors import LocalspecError, UsageError
from localspec.llama.batch import TokenBatch
from localspec.llama.bindings import low
from localspec.llama.context import Context, EvaluationCancelledError
from localspec.llama.context_options import MOST_BRANCHES, MOST_ROWS, ContextOptions, FlashAttention
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer
from tests.llama.tiny_recurrent import write_lfm2, write_mamba

OPTIONS = ContextOptions(length=512, threads=1, branches=MOST_BRANCHES)

TREE = (-1, 0, 0, 1, 1, 2, 5, 0, 3, 7, 9, 4)
"""Tokens that share a place before and after tokens that do not, and branches of unequal length."""

LEAVES = (6, 8, 10, 11)

# What is exact below is so on the CPU with flash attention, which llama.cpp takes by itself. SmolLM2's rows do not
# depend on the width of a narrow pass; Gemma's and Qwen's do on whether a row is one of the last that do not fill a
# group of four, by up to 0.9 in a logit: trees of 12 tokens have no such rows.
NARROW = 16


@pytest.fixture
def context(smollm2_model: Model) -> Iterator[Context]:
    with Context(smollm2_model, OPTIONS) as context:
        yield context


@pytest.fixture(scope="module")
def alone(smollm2_model: Model) -> Iterator[Context]:
    """A context that never branched."""
    with Context(smollm2_model, ContextOptions(length=512, threads=1)) as context:
        yield context


@pytest.fixture(scope="module")
def text(smollm2_tokenizer: Tokenizer) -> list[int]:
    return smollm2_tokenizer.encode(Path(__file__).read_text(), parse_special=False, add_special=True)[:400]


def some_tokens(count: int, seed: int = 5) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(1000, 30_000, count)]


def of_a_branch(tokens: Sequence[int], parents: Sequence[int], node: int) -> list[int]:
    return [tokens[i] for i in ancestry(parents, node)]


def last_row(context: Context, text: Sequence[int]) -> Logits:
    """What follows a text, read from its beginning."""
    read(context, text[:-1])
    row: Logits = context.evaluate(text[-1:])[0]
    return row.copy()


def read(context: Context, text: Sequence[int]) -> None:
    context.clear()
    for start in range(0, len(text), NARROW):
        context.evaluate(text[start : start + NARROW], 0)


def holds(context: Context, text: Sequence[int]) -> bool:
    """Whether it says so, and llama.cpp holds as many tokens in sequence 0 and no more in any other that is read."""
    memory = low.llama_get_memory(context.pointer)
    sequences = range(max(low.llama_n_seq_max(context.pointer) - 1, 1))
    ends = [low.llama_memory_seq_pos_max(memory, each) + 1 for each in sequences]
    return list(context.tokens) == list(text) and ends[0] == len(text) == max(ends)


def require_rows_of_chains(model: Model, options: ContextOptions, text: list[int], exact: bool) -> None:
    """Each branch of a tree has the rows that it has as a chain in a pass as wide: another width alone moves them."""
    tokens = some_tokens(len(TREE))
    with Context(model, options) as context:
        context.evaluate(text, 0)
        rows = context.evaluate_tree(tokens, TREE).copy()
        assert list(context.tokens) == [*text, *tokens]
        for leaf in LEAVES:
            branch = ancestry(TREE, leaf)
            rest = [node for node in range(len(TREE)) if node not in branch]
            context.truncate(len(text))
            chain = context.evaluate([tokens[node] for node in (*branch, *rest)])[: len(branch)]
            apart = float(np.abs(rows[branch] - chain).max())
            assert apart == 0 if exact else apart < MOST_ROUNDING


@pytest.mark.parametrize("kv_type", ["f16", "f32", "q8_0", "q4_0"])
def test_a_branch_reads_as_if_it_were_alone(smollm2_model: Model, text: list[int], kv_type: str) -> None:
    options = ContextOptions(length=512, threads=1, branches=MOST_BRANCHES, kv_type=kv_type)
    require_rows_of_chains(smollm2_model, options, text[:100], exact=True)


def test_without_flash_attention_a_branch_is_rounded_by_its_place_in_the_cache(
    smollm2_model: Model, text: list[int]
) -> None:
    """There the values are summed in lanes of the processor: what others stand between changes who shares a lane."""
    options = ContextOptions(length=512, threads=1, branches=MOST_BRANCHES, flash_attention=FlashAttention.OFF)
    require_rows_of_chains(smollm2_model, options, text[:100], exact=False)


@pytest.mark.parametrize("length", [100, 700])
def test_a_branch_looks_back_through_a_sliding_window(gemma_path: Path, length: int) -> None:
    """Before the window's edge and past it."""
    with Model(gemma_path) as model:
        text = Tokenizer(model).encode(Path(__file__).read_text(), parse_special=False, add_special=True)[:length]
        options = ContextOptions(length=1024, threads=1, branches=MOST_BRANCHES, full_window_cache=True)
        require_rows_of_chains(model, options, text, exact=True)


def test_a_branch_of_the_bench_draft_reads_as_if_it_were_alone(bench_draft_path: Path) -> None:
    with Model(bench_draft_path) as model:
        require_rows_of_chains(model, OPTIONS, some_tokens(60, 1), exact=True)


def test_the_kept_branch_is_the_text(context: Context, alone: Context, text: list[int]) -> None:
    tokens = some_tokens(len(TREE))
    for path in ([0, 1, 4, 11], [0, 7, 9], [0, 2], [0], []):
        read(context, text[:20])
        context.evaluate_tree(tokens, TREE)
        context.keep(path)
        kept = [*text[:20], *(tokens[node] for node in path)]
        assert holds(context, kept)
        assert np.array_equal(context.evaluate([7])[0], last_row(alone, [*kept, 7]))


def test_the_cache_is_the_text_after_every_round(context: Context, alone: Context) -> None:
    """Trees, trees grown further, chains and steps back in any order: what each leaves in the cache does no harm."""
    rng = np.random.default_rng(11)
    text = some_tokens(8)
    context.evaluate(text, 0)
    for _ in range(40):
        kind = rng.integers(4)
        if kind == 0:
            added = some_tokens(int(rng.integers(1, 9)), int(rng.integers(1000)))
            context.evaluate(added, 1)
            text += added
        elif kind == 1:
            text = text[: int(rng.integers(max(len(text) - 12, 1), len(text) + 1))]
            context.truncate(len(text))
        else:
            tokens: list[int] = []
            parents: list[int] = []
            for _ in range(int(rng.integers(1, 4))):
                added = some_tokens(int(rng.integers(1, 9)), int(rng.integers(1000)))
                behind = [int(rng.integers(-1, len(parents) + i)) for i in range(len(added))]
                context.evaluate_tree(added, behind, 1)
                tokens += added
                parents += behind
            path = ancestry(parents, int(rng.integers(-1, len(parents))))
            context.keep(path)
            text += [tokens[node] for node in path]
        assert holds(context, text)
        row = context.evaluate([9])[0].copy()
        context.truncate(len(text))
        assert np.array_equal(row, last_row(alone, [*text, 9]))


def test_a_tree_can_grow_level_by_level(context: Context, alone: Context, text: list[int]) -> None:
    tokens = some_tokens(len(TREE))
    read(context, text[:20])
    rows: list[Logits] = []
    for start, end in ((0, 1), (1, 3), (3, 6), (6, 7), (7, 12)):
        rows.extend(context.evaluate_tree(tokens[start:end], TREE[start:end]).copy())
    for node, row in enumerate(rows):
        assert np.array_equal(row, last_row(alone, [*text[:20], *of_a_branch(tokens, TREE, node)]))
    context.keep(ancestry(TREE, 8))
    assert holds(context, [*text[:20], *of_a_branch(tokens, TREE, 8)])


def test_a_chain_is_a_tree_with_one_branch(context: Context, text: list[int]) -> None:
    read(context, text[:20])
    rows = context.evaluate_tree(text[20:28], range(-1, 7), 3).copy()
    context.keep(range(8))
    context.truncate(20)
    assert np.array_equal(context.evaluate(text[20:28], 3), rows)


def test_a_text_can_begin_in_several_ways(context: Context, alone: Context) -> None:
    rows = context.evaluate_tree([5, 6, 7], [-1, -1, 1]).copy()
    assert np.array_equal(rows[2], last_row(alone, [6, 7]))
    context.keep([1, 2])
    assert holds(context, [6, 7])


def test_a_tree_wider_than_a_micro_batch_is_the_same_tree(
    smollm2_model: Model, context: Context, text: list[int]
) -> None:
    tokens = some_tokens(len(TREE))
    with Context(smollm2_model, ContextOptions(length=512, threads=1, branches=MOST_BRANCHES, micro_batch=4)) as narrow:
        rows = []
        for each in (narrow, context):
            read(each, text[:20])
            rows.append(each.evaluate_tree(tokens, TREE).copy())
            each.keep([0, 2, 5])
    assert np.array_equal(rows[0], rows[1])


def test_as_many_branches_as_a_draft_has_guesses_and_one_more_is_refused(context: Context, text: list[int]) -> None:
    model: BranchingModel = context
    model.evaluate(text[:20], 0)
    wide = [-1, *[0] * (MOST_ROWS - 1)]
    assert model.evaluate_tree(some_tokens(MOST_ROWS), wide).shape == (MOST_ROWS, 49_152)
    with pytest.raises(ValueError, match="more than 31 branches"):
        model.evaluate_tree([1], [0])
    model.evaluate_tree([1], [MOST_ROWS - 1])
    model.keep([0, MOST_ROWS - 1, MOST_ROWS])
    assert holds(context, [*text[:20], *some_tokens(1), some_tokens(MOST_ROWS)[-1], 1])
    with pytest.raises(ValueError, match="more than 31 branches"):
        model.evaluate_tree([1] * 32, [-1] * 32)
    assert context.length == 23
    context.evaluate([3])


@pytest.mark.parametrize(
    ("tokens", "parents", "words"),
    [
        ([1, 2], [-1], "are not the parents"),
        ([1, 2], [-1, 1], "are not the parents"),
        ([1, 2], [-2, 0], "are not the parents"),
        ([1, 49_152], [-1, 0], "not in the vocabulary"),
        ([1] * (MOST_ROWS + 1), range(-1, MOST_ROWS), "rows of logits"),
        ([1] * 600, range(-1, 599), "do not fit"),
    ],
)
def test_an_impossible_tree_changes_nothing(
    context: Context, tokens: list[int], parents: Sequence[int], words: str
) -> None:
    context.evaluate([5, 6], 0)
    with pytest.raises(ValueError, match=words):
        context.evaluate_tree(tokens, parents, None if len(tokens) < 600 else 1)
    assert holds(context, [5, 6])
    context.evaluate([7])


def test_while_branches_are_held_the_text_cannot_go_on(context: Context) -> None:
    context.evaluate([5, 6], 0)
    context.evaluate_tree([7, 8, 9], [-1, -1, 0])
    for use in (lambda: context.evaluate([1]), context.snapshot):
        with pytest.raises(ValueError, match="branches are held"):
            use()
    for path in ([1, 2], [2], [3], [-1], [0, 0]):
        with pytest.raises(ValueError, match="is no path"):
            context.keep(path)
    with pytest.raises(ValueError, match="where its branches begin"):
        context.truncate(3)
    assert list(context.tokens) == [5, 6, 7, 8, 9]
    context.keep([0, 2])
    assert holds(context, [5, 6, 7, 9])


def test_going_back_forgets_the_branches(context: Context, alone: Context, text: list[int]) -> None:
    for length in (20, 12, 0):
        read(context, text[:20])
        context.evaluate_tree(some_tokens(len(TREE)), TREE)
        context.truncate(length)
        assert holds(context, text[:length])
        context.evaluate(text[length : length + 10], 0)
        assert np.array_equal(context.evaluate([9])[0], last_row(alone, [*text[: length + 10], 9]))


def test_a_snapshot_of_a_text_that_branched_comes_back(context: Context, text: list[int]) -> None:
    read(context, text[:20])
    context.evaluate_tree(some_tokens(len(TREE)), TREE)
    context.keep([0, 7, 9])
    saved = context.snapshot()
    expected = context.evaluate([11, 12]).copy()
    context.truncate(20)
    context.evaluate_tree([1, 2], [-1, -1])
    context.restore(saved)
    assert holds(context, saved.tokens)
    assert np.array_equal(context.evaluate([11, 12]), expected)


def test_a_long_text_goes_on_after_branches(smollm2_model: Model, alone: Context, text: list[int]) -> None:
    """A prompt of several passes finds the cells that the branches left, and the last ones."""
    options = ContextOptions(length=200, threads=1, branches=MOST_BRANCHES, batch=48, micro_batch=NARROW)
    with Context(smollm2_model, options) as context:
        read(context, text[:20])
        context.evaluate_tree(some_tokens(len(TREE)), TREE)
        context.keep([0, 7])
        context.truncate(20)
        context.evaluate(text[20:199], 0)
        assert holds(context, text[:199])
        assert np.array_equal(context.evaluate([9])[0], last_row(alone, [*text[:199], 9]))


def interrupted(*_arguments: Any) -> int:
    raise KeyboardInterrupt


def interrupted_when_done(*arguments: Any) -> int:
    DECODE_TREE(*arguments)
    raise KeyboardInterrupt


def at_a_wrong_place(batch: TokenBatch, context: Any, tokens: Any, places: Any, *others: Any) -> int:
    return DECODE_TREE(batch, context, tokens, [(position + 5, each) for position, each in places], *others)


DECODE_TREE = TokenBatch.decode_tree
FAULTS = [
    (interrupted, KeyboardInterrupt),
    (interrupted_when_done, KeyboardInterrupt),
    (at_a_wrong_place, LocalspecError),
]


@pytest.mark.parametrize("grown", [False, True])
@pytest.mark.parametrize(("fault", "error"), FAULTS)
def test_after_a_fault_the_text_is_what_it_was_before_the_branches(  # noqa: PLR0917 # fixtures, and what varies
    context: Context,
    alone: Context,
    text: list[int],
    fault: Callable[..., int],
    error: type[BaseException],
    grown: bool,
) -> None:
    tokens = some_tokens(len(TREE))
    read(context, text[:20])
    if grown:
        context.evaluate_tree(tokens[:3], TREE[:3])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TokenBatch, "decode_tree", fault)
        with pytest.raises(error):
            context.evaluate_tree(tokens[3 * grown :], TREE[3 * grown :])
    assert holds(context, text[:20])

    rows = context.evaluate_tree(tokens, TREE).copy()
    assert np.array_equal(rows[9], last_row(alone, [*text[:20], *of_a_branch(tokens, TREE, 9)]))


@pytest.mark.parametrize("polls", [0, 300])
def test_a_cancelled_tree_leaves_the_text_true(
    smollm2_model: Model, alone: Context, text: list[int], polls: int
) -> None:
    """Also when some micro-batches went through, of whose sequences llama.cpp itself takes back only the first."""
    left = polls

    def after_a_while() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    tokens, parents = some_tokens(MOST_ROWS), [-1, 0, *[1] * 20, *range(2, 12)]
    options = ContextOptions(length=512, threads=1, branches=MOST_BRANCHES, micro_batch=20)
    with Context(smollm2_model, options) as context:
        read(context, text[:20])
        context.cancelled = after_a_while
        with pytest.raises(EvaluationCancelledError):
            context.evaluate_tree(tokens, parents)
        assert holds(context, text[:20])
        context.cancelled = None
        context.evaluate_tree(tokens, parents)
        context.keep([0, 1, 11, 31])
        kept = [*text[:20], tokens[0], tokens[1], tokens[11], tokens[31]]
        assert np.array_equal(context.evaluate([9])[0], last_row(alone, [*kept, 9]))


@pytest.mark.parametrize("failing", ["llama_memory_seq_rm", "llama_memory_seq_cp"])
def test_an_interrupted_choice_leaves_the_text_true(
    context: Context, text: list[int], failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(context, text[:20])
    context.evaluate_tree(some_tokens(len(TREE)), TREE)
    real = getattr(low, failing)
    with monkeypatch.context() as patch:
        calls = []

        def once(*arguments: Any) -> Any:
            calls.append(arguments)
            if len(calls) == 1:
                raise KeyboardInterrupt
            return real(*arguments)

        patch.setattr(low, failing, once)
        with pytest.raises(KeyboardInterrupt):
            context.keep([0, 7, 9])
    assert holds(context, text[:20])


def test_what_cannot_branch_says_why(smollm2_model: Model, tmp_path: Path) -> None:
    with Context(smollm2_model, ContextOptions(length=64, threads=1)) as plain:
        require_refused(plain, "made without branches")
    for write in (write_mamba, write_lfm2):
        with (
            Model(write(tmp_path / "model.gguf")) as model,
            Context(model, ContextOptions(length=64, threads=1, branches=MOST_BRANCHES)) as context,
        ):
            require_refused(context, "a state has no branches")
    with pytest.raises(UsageError, match="in 32 ways"):
        ContextOptions(branches=MOST_BRANCHES + 1)


def test_a_cache_cut_to_the_window_does_not_branch(gemma_path: Path) -> None:
    options = ContextOptions(length=64, threads=1, branches=MOST_BRANCHES, full_window_cache=False)
    with Model(gemma_path) as model, Context(model, options) as context:
        require_refused(context, "sliding window")


def require_refused(context: Context, words: str) -> None:
    assert not context.can_branch
    assert words in (context.why_no_branches or "")
    assert low.llama_n_seq_max(context.pointer) == 1
    context.evaluate([5, 6], 0)
    with pytest.raises(ValueError, match=words):
        context.evaluate_tree([1], [-1])
    assert holds(context, [5, 6])
