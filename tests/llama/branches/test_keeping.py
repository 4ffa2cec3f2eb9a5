"""One of several branches is kept, or none: the cache holds the text, and nothing of the others does harm."""

from __future__ import annotations

import numpy as np

from localspec.decoding.rounds import ancestry
from localspec.llama.context import Context
from localspec.llama.context_options import MOST_BRANCHES, ContextOptions
from localspec.llama.model import Model
from tests.llama.branches.trees import NARROW, TREE, holds, last_row, read, some_tokens


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
