"""A text that goes on in several ways at once: each reads as if it were alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from localspec.bench.losslessness.divergence import MOST_ROUNDING
from localspec.decoding.language_model import Logits
from localspec.decoding.rounds import ancestry
from localspec.llama.context import Context
from localspec.llama.context_options import MOST_BRANCHES, ContextOptions, FlashAttention
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer
from tests.llama.branches.trees import LEAVES, OPTIONS, TREE, holds, last_row, of_a_branch, read, some_tokens


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
