#!/usr/bin/env python3
"""Measure what a pass over a tree of guesses costs: against a pass over a chain of as many, at equal context.

    python scripts/measure_tree.py
    python scripts/measure_tree.py --model draft.gguf --nodes 8 16 --context 2000 --runs 40

Chain and tree alternate in one process; figures are medians and the median of the paired ratios. The tree is that of a
draft with three guesses for each place, the likeliest going on. A tree's time has the copies (`seq_cp`) to its
branches in it; the first tree of each size, which copies the whole text, is shown apart. So is what follows a pass:
`keep` after a tree, cutting back after a chain.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from localspec.decoding.rounds import ancestry
from localspec.llama.context import Context
from localspec.llama.context_options import MOST_BRANCHES, ContextOptions
from localspec.llama.model import Model
from localspec.locations import models_folder

SIBLINGS = 3


@dataclass(slots=True)
class Seconds:
    """What each round took."""

    chain: list[float] = field(default_factory=list)
    tree: list[float] = field(default_factory=list)
    cut: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    first_tree: float = 0.0


def tree_of(nodes: int) -> list[int]:
    """Parents of a tree: the text's last token, then SIBLINGS guesses for each place, the first of them going on."""
    return [-1, *((i // SIBLINGS) * SIBLINGS - SIBLINGS + 1 if i >= SIBLINGS else 0 for i in range(nodes - 1))]


def seconds_of(action: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def measure(context: Context, nodes: int, length: int, runs: int) -> Seconds:
    """Rounds on a text of `length` tokens: a chain cut back, a tree of which a path is kept."""
    parents = tree_of(nodes)
    path = ancestry(parents, nodes - 1)
    tokens = [1000 + i for i in range(nodes)]
    spent = Seconds()

    def chain() -> None:
        spent.chain.append(seconds_of(lambda: context.evaluate(tokens)))
        spent.cut.append(seconds_of(lambda: context.truncate(length)))

    def tree() -> None:
        spent.tree.append(seconds_of(lambda: context.evaluate_tree(tokens, parents)))
        spent.kept.append(seconds_of(lambda: context.keep(path)))
        context.truncate(length)

    context.truncate(0)
    context.evaluate([100 + i % 5000 for i in range(length)], 0)
    for run in range(runs + 1):
        for side in (chain, tree) if run % 2 else (tree, chain):
            side()
    # The first round of each makes llama.cpp plan its graph, and copies the whole text to the branches.
    return Seconds(spent.chain[1:], spent.tree[1:], spent.cut[1:], spent.kept[1:], spent.tree[0])


def milliseconds(seconds: list[float]) -> str:
    """The median, in words."""
    return f"{statistics.median(seconds) * 1e3:.2f} ms"


def main() -> None:
    """Parse, load, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=models_folder() / "qwen2.5-coder-1.5b-instruct-q8_0.gguf")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--nodes", type=int, nargs="+", default=[4, 8, 16, 32], help="tokens of the pass, up to 32")
    parser.add_argument("--context", type=int, default=500, help="tokens of the text before it")
    parser.add_argument("--runs", type=int, default=15)
    given = parser.parse_args()
    options = ContextOptions(length=given.context + 64, threads=given.threads, branches=MOST_BRANCHES)
    with Model(given.model) as model, Context(model, options) as context:
        for nodes in given.nodes:
            spent = measure(context, nodes, given.context, given.runs)
            ratio = statistics.median(tree / chain for tree, chain in zip(spent.tree, spent.chain, strict=True))
            print(
                f"{nodes:2d} tokens: chain {milliseconds(spent.chain)}, tree {milliseconds(spent.tree)}, "
                f"ratio {ratio:.3f}; cut {milliseconds(spent.cut)}, keep {milliseconds(spent.kept)}, "
                f"first tree {milliseconds([spent.first_tree])}",
                flush=True,
            )


if __name__ == "__main__":
    main()
