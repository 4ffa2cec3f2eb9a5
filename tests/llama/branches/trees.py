"""A tree of tokens behind a text, and what its branches are compared with: the same tokens, read alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from localspec.decoding.language_model import Logits
from localspec.decoding.rounds import ancestry
from localspec.llama.bindings import low
from localspec.llama.context import Context
from localspec.llama.context_options import MOST_BRANCHES, ContextOptions

OPTIONS = ContextOptions(length=512, threads=1, branches=MOST_BRANCHES)

TREE = (-1, 0, 0, 1, 1, 2, 5, 0, 3, 7, 9, 4)
"""Tokens that share a place before and after tokens that do not, and branches of unequal length."""

LEAVES = (6, 8, 10, 11)

# What is exact below is so on the CPU with flash attention, which llama.cpp takes by itself. SmolLM2's rows do not
# depend on the width of a narrow pass; Gemma's and Qwen's do on whether a row is one of the last that do not fill a
# group of four, by up to 0.9 in a logit: trees of 12 tokens have no such rows.
NARROW = 16


def some_tokens(count: int, seed: int = 5) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(1000, 30_000, count)]


def of_a_branch(tokens: Sequence[int], parents: Sequence[int], node: int) -> list[int]:
    return [tokens[i] for i in ancestry(parents, node)]


def last_row(alone: Context, text: Sequence[int]) -> Logits:
    """What follows a text in a context that never branched; it reads what it does not hold yet."""
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(alone.tokens, text[:-1], strict=False))
    alone.truncate(len(list(shared)))
    for start in range(alone.length, len(text) - 1, NARROW):
        alone.evaluate(text[start : min(start + NARROW, len(text) - 1)], 0)
    row: Logits = alone.evaluate(text[-1:])[0]
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
