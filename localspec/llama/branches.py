"""One text that goes on in several ways in one KV cache: tree attention by llama.cpp's sequence ids.

Every way is a sequence; the text itself is sequence 0, and so is its first way on. A token that several ways share is
evaluated once and belongs to all their sequences. What llama.cpp wants of such a pass (`llama_batch_allocr::init`): the
sequences of one token hold the same positions before the pass, and each goes on right after its last one.

Attention sums in the order of the cache's cells, and in half precision: two tokens in the other order moved a logit by
1.0 (SmolLM2, flash attention on a CPU). llama.cpp fills the first cell that is free. So what was refused stays where
it stands before a kept token, in a sequence that nothing reads: a text that branched then has the very logits of one
that did not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from localspec.llama.batch import TokenBatch
from localspec.llama.bindings import low

_UNKNOWN = -1

_MOST_DEAD = 512
"""Refused tokens left in place, at most: each pass walks over their cells."""


@dataclass(frozen=True, slots=True)
class _Growth:
    """What it takes to add a tree.

    Attributes:
        places: of each token, its position and the sequences of all ways that lead through it; its own comes first,
            the one that ends in it if nothing follows.
        copies: from which sequence, to which, and how many tokens of it.
        parents: of each token, as given.
    """

    places: list[tuple[int, list[int]]]
    copies: list[tuple[int, int, int]]
    parents: Sequence[int]


class Branches:
    """The ways on of one context's text.

    Args:
        context: the `llama_context *`.
        memory: its memory.
        batch: to evaluate with.
        tokens: what the context holds, text and branches; changed here as branches come and go.
        count: most branches at once.
    """

    def __init__(self, context: Any, memory: Any, batch: TokenBatch, tokens: list[int], count: int) -> None:
        self._context = context
        self._memory = memory
        self._batch = batch
        self._tokens = tokens
        self._trunk = 0
        self._parents: list[int] = []
        # Of each token of the branches: the first of its sequences, its position, and whether another follows it.
        self._own: list[int] = []
        self._positions: list[int] = []
        self._followed: set[int] = set()
        # How much of the text each sequence holds between trees. To copy the whole text to each branch of each tree
        # would take 0.1 microseconds a token: longer than the pass, on a GPU.
        self._shared = [0] * max(count, 1)
        self._grave = count
        # Of what lies there: its position, and that of the kept token that it stands before.
        self._dead: list[tuple[int, int]] = []
        self._cells = int(low.llama_n_ctx(context))

    @property
    def held(self) -> bool:
        """Whether there are any."""
        return bool(self._parents)

    def evaluate(
        self, tokens: Sequence[int], parents: Sequence[int], rows: int, cancelled: Callable[[], bool] | None
    ) -> int:
        """Add a tree in one pass, and return what `llama_decode` did: 0 is well, else no branches are held any more.

        Raises:
            ValueError: `parents` are not the parents of these tokens, or there are too many branches.
        """
        if not self.held:
            self._trunk = len(self._tokens)
        growth = self._grown(len(tokens), parents)
        self.make_room(len(tokens))
        done = False
        try:
            for source, target, end in growth.copies:
                self._copy(source, target, end)
            code = self._batch.decode_tree(self._context, tokens, growth.places, rows, cancelled)
            if code == 0:
                self._add(tokens, growth)
                done = True
        finally:
            if not done:
                self.drop()
        return code

    def keep(self, path: Sequence[int]) -> None:
        """Make a path part of the text, and forget all else.

        Raises:
            ValueError: these tokens do not follow each other.
        """
        count, trunk, end = len(self._parents), self._trunk, self._trunk + len(path)
        within = all(0 <= node < count for node in path)
        if not within or [self._parents[node] for node in path] != [-1, *path][: len(path)]:
            raise ValueError(f"{list(path)} is no path in the tree {self._parents}")
        if not count:
            return
        kept = [self._tokens[trunk + node] for node in path]
        source = self._own[path[-1]] if path else 0
        done = False
        try:
            self._bury(path)
            low.llama_memory_seq_rm(self._memory, 0, trunk if source else end, -1)
            if source:
                low.llama_memory_seq_cp(self._memory, source, 0, trunk, end)
            for sequence in {*self._own} - {0}:
                self._cut(sequence, trunk)
            self._tokens[trunk:] = kept
            self._forget_nodes()
            done = True
        finally:
            if not done:
                self.drop()

    def leave(self, length: int) -> None:
        """Forget all, before the text is cut to `length`.

        Raises:
            ValueError: the text would end within a branch.
        """
        if self.held:
            if length > self._trunk:
                raise ValueError(f"cannot cut to {length}: the text ends at {self._trunk}, where its branches begin")
            self.keep(())
        for sequence, shared in enumerate(self._shared):
            if shared > length:
                self._cut(sequence, length)
        self._unbury(length)

    def make_room(self, count: int) -> None:
        """Before a pass of so many tokens: give up what stays in place only for the order of the cells."""
        if self._dead and (len(self._dead) > _MOST_DEAD or len(self._tokens) + len(self._dead) + count > self._cells):
            self._unbury(0)

    def drop(self) -> None:
        """Forget all, whatever state a fault left them in: only what is before the branches is sure to be whole."""
        for sequence, shared in enumerate(self._shared):
            if shared == _UNKNOWN:
                self._cut(sequence, 0)
        low.llama_memory_seq_rm(self._memory, 0, self._trunk, -1)
        self._unbury(self._trunk)
        del self._tokens[self._trunk :]
        self._forget_nodes()

    def forget(self) -> None:
        """The cache was emptied."""
        self._shared = [0] * len(self._shared)
        self._dead.clear()
        self._forget_nodes()

    def _grown(self, count: int, parents: Sequence[int]) -> _Growth:
        """Give each new token its sequences: the first to follow takes its parent's own, each other a new one."""
        before = len(self._parents)
        if len(parents) != count or not all(-1 <= parent < before + i for i, parent in enumerate(parents)):
            raise ValueError(f"{list(parents)} are not the parents of {count} tokens after {before}")
        own, positions = list(self._own), list(self._positions)
        followed = set(self._followed)
        free = [sequence for sequence in range(1, len(self._shared)) if sequence not in own]
        growth = _Growth([], [], parents)
        for parent in parents:
            sequence = own[parent] if parent >= 0 else 0
            if parent in followed:
                if not free:
                    raise ValueError(f"more than {len(self._shared)} branches")
                sequence = free.pop(0)
                node = parent
                while node >= before:
                    growth.places[node - before][1].append(sequence)
                    node = parents[node - before]
                held = (own[node], positions[node] + 1) if node >= 0 else (0, self._trunk)
                growth.copies.append((held[0], sequence, held[1]))
            followed.add(parent)
            own.append(sequence)
            positions.append(positions[parent] + 1 if parent >= 0 else self._trunk)
            growth.places.append((positions[-1], [sequence]))
        return growth

    def _add(self, tokens: Sequence[int], growth: _Growth) -> None:
        self._tokens.extend(tokens)
        self._parents.extend(growth.parents)
        self._own.extend(sequences[0] for _, sequences in growth.places)
        self._positions.extend(position for position, _ in growth.places)
        self._followed.update(growth.parents)

    def _copy(self, source: int, target: int, end: int) -> None:
        """Let `target` hold what `source` holds up to position `end`."""
        if self._shared[target] == _UNKNOWN:
            self._cut(target, 0)
        shared = self._shared[target]
        self._shared[target] = _UNKNOWN
        low.llama_memory_seq_cp(self._memory, source, target, shared, end)

    def _cut(self, sequence: int, length: int) -> None:
        # An interruption must not leave it with more than it is said to hold.
        self._shared[sequence] = _UNKNOWN
        low.llama_memory_seq_rm(self._memory, sequence, length, -1)
        self._shared[sequence] = length

    def _bury(self, path: Sequence[int]) -> None:
        """Leave in place what stands before the last token of a path, and is not on it."""
        for node in range(path[-1] if path else 0):
            depth = bisect_left(path, node)
            if path[depth] != node:
                position = self._positions[node]
                self._dead.append((position, self._trunk + depth))
                low.llama_memory_seq_cp(self._memory, self._own[node], self._grave, position, position + 1)

    def _unbury(self, length: int) -> None:
        """Give up what was left in place for tokens from position `length` on, as far as its own position tells."""
        if not self._dead:
            return
        length = max([length, *(position + 1 for position, before in self._dead if before < length)])
        if any(position >= length for position, _ in self._dead):
            low.llama_memory_seq_rm(self._memory, self._grave, length, -1)
            self._dead = [each for each in self._dead if each[0] < length]

    def _forget_nodes(self) -> None:
        for each in (self._parents, self._own, self._positions, self._followed):
            each.clear()
