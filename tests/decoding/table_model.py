"""A language model whose logits stand in a table: every probability is known, every failure can be arranged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.language_model import LogitRows, Logits
from localspec.decoding.rounds import ancestry

Table = NDArray[np.float32]
"""Logits by the last one or two tokens: shape (vocabulary,) * (order + 1), order 1 or 2."""


class TableError(RuntimeError):
    """The failure a test asked for."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Which evaluation fails, and what the cache holds then.

    Attributes:
        evaluation: 0 for the first call of `evaluate`.
        kept: how many of the new tokens the cache holds all the same (a long pass may fail half-way); None when the
            failure empties the cache.
    """

    evaluation: int
    kept: int | None = 0


class TableModel:
    """A `BranchingModel`. Its rows are a buffer that the next call overwrites, as llama.cpp's are.

    Args:
        table: see `Table`. An id the table has no row for is refused, as llama.cpp refuses it.
        capacity: most tokens it holds.
        failure: an evaluation that raises TableError.
    """

    def __init__(self, table: Table, capacity: int = 1000, failure: Failure | None = None) -> None:
        self.table = table
        self.capacity = capacity
        self.failure = failure
        self.calls: list[tuple[tuple[int, ...], int]] = []
        self._order = table.ndim - 1
        self._held: list[int] = []
        self._trunk = 0
        self._parents: list[int] = []
        self._rows = np.full((LONGEST_DRAFT + 1, table.shape[-1]), np.nan, np.float32)

    @property
    def vocabulary_size(self) -> int:
        return self.table.shape[-1]

    @property
    def tokens(self) -> Sequence[int]:
        return self._held

    @property
    def length(self) -> int:
        return len(self._held)

    def evaluate(self, tokens: Sequence[int], rows: int | None = None) -> LogitRows:
        assert not self._parents, "branches are held: keep one, or cut back first"
        wanted = len(tokens) if rows is None else rows
        self._append(tokens, wanted)
        first = self.length - wanted
        for row in range(wanted):
            self._rows[row] = self._after(self._held[max(first + row - 1, 0) : first + row + 1])
        return self._rows[:wanted]

    def evaluate_tree(self, tokens: Sequence[int], parents: Sequence[int], rows: int | None = None) -> LogitRows:
        wanted = len(tokens) if rows is None else rows
        before = len(self._parents)
        if not all(-1 <= parent < before + i for i, parent in enumerate(parents)) or len(parents) != len(tokens):
            raise ValueError(f"{parents} are not the parents of {len(tokens)} tokens")
        if not before:
            self._trunk = self.length
        self._append(tokens, wanted)
        self._parents.extend(parents)
        for row, node in enumerate(range(len(self._parents) - wanted, len(self._parents))):
            branch = [self._held[self._trunk + i] for i in ancestry(self._parents, node)]
            self._rows[row] = self._after([*self._held[: self._trunk], *branch][-2:])
        return self._rows[:wanted]

    def keep(self, path: Sequence[int]) -> None:
        if [self._parents[i] for i in path] != [-1, *path][: len(path)]:
            raise ValueError(f"{path} is no path in {self._parents}")
        self._held[self._trunk :] = [self._held[self._trunk + i] for i in path]
        self._parents.clear()

    def _after(self, last: Sequence[int]) -> Logits:
        """The row after a text that ends so. A text shorter than the order is read as if zeros stood before it."""
        row: Logits = self.table[(0, 0, *last)[-self._order :]]
        return row

    def _append(self, tokens: Sequence[int], wanted: int) -> None:
        if self.length + len(tokens) > self.capacity or wanted > min(len(tokens), len(self._rows)):
            raise ValueError(f"{len(tokens)} tokens or {wanted} rows are too many at {self.length}/{self.capacity}")
        if not all(0 <= token < self.table.shape[0] for token in tokens):
            raise ValueError(f"one of {tokens} is not in the table")
        self.calls.append((tuple(tokens), wanted))
        if self.failure and self.failure.evaluation == len(self.calls) - 1:
            if self.failure.kept is None:
                self._held.clear()
            else:
                self._held.extend(tokens[: self.failure.kept])
            raise TableError
        self._held.extend(tokens)
        self._rows[:] = np.nan

    def truncate(self, length: int) -> None:
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot cut {self.length} tokens to {length}")
        assert not self._parents or length <= self._trunk, "the text would end within branches"
        self._parents.clear()
        del self._held[length:]


def random_table(seed: int, vocabulary: int, order: int = 1, spread: float = 1.5) -> Table:
    """A table of normal logits."""
    return np.random.default_rng(seed).normal(0.0, spread, (vocabulary,) * (order + 1)).astype(np.float32)


def near(table: Table, seed: int, distance: float) -> Table:
    """A table that differs from another by normal noise: a draft that is often right."""
    return (table + np.random.default_rng(seed).normal(0.0, distance, table.shape)).astype(np.float32)
