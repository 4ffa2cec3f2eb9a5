"""A draft model that goes on from several guesses in one pass."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from localspec.decoding.distributions import Certain
from localspec.decoding.drafters.guess_tree import Node, Row
from localspec.decoding.drafters.model_source import ModelSource
from localspec.decoding.language_model import BranchingModel, LogitRows, Logits
from localspec.decoding.rounds import DraftPass, Turn
from localspec.decoding.sampling import softmax, to_distribution
from localspec.decoding.sampling_settings import SamplingSettings


class TreeSource(ModelSource):
    """Reads the guesses of a tree, level by level, and keeps those that the text then took.

    As long as it goes on from one guess alone its cache grows as in a chain: what it read is its trunk. From the first
    pass over several guesses on it holds branches behind the trunk, and goes on from those alone.

    Args:
        model: the draft model.
        vocabulary_size: as in `ModelSource`.
    """

    def __init__(self, model: BranchingModel, vocabulary_size: int) -> None:
        super().__init__(model, vocabulary_size)
        self._branching = model
        self._agreed = 0
        self._end: Node | None = None
        self._held: dict[Node, int] = {}
        self._trunk = 0
        self._torn = False
        self._soft_of: SamplingSettings | None = None
        self._softly: SamplingSettings | None = None

    def begin_tree(self, text: Sequence[int], turn: Turn, root: Node) -> None:
        """Begin a round after `text`, which is the tree's root."""
        self.begin(text, turn)
        # The list grows when the round is over.
        self._agreed = len(text)
        self._root = root
        self._end = None
        if turn.sampling is not self._soft_of:
            softly = replace(turn.sampling, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
            self._softly = softly if softly.penalises or softly.logit_bias else None
            self._soft_of = turn.sampling

    def unread_to(self, node: Node) -> int:
        """Tokens it must read to say what follows `node`; 0 when it cannot, as in `ModelSource.unread`."""
        chain = self._unread(node)
        tokens = len(chain) + (self._agreed - self._model.length if self._end is None else 0)
        possible = self._known and self.has_room(tokens) and self._knows([each.token for each in chain])
        return tokens if possible else 0

    def has_room(self, tokens: int) -> bool:
        """Whether so many more can be read."""
        return self._model.length + tokens <= self._model.capacity

    def can_follow(self, node: Node) -> bool:
        """Whether guesses after `node` can be read: it is at the end of what was read, or a branch goes on from it."""
        return node is self._end or node in self._held

    def followable(self) -> list[Node]:
        """Those that `can_follow` allows."""
        return [*([self._end] if self._end else ()), *self._held]

    def knows(self, token: int) -> bool:
        """Whether it has this id."""
        return token < self._model.vocabulary_size

    def read_guesses(self, tip: Node | None, others: Sequence[Node]) -> None:
        """Read guesses in one pass and note what follows them.

        Args:
            tip: any guess `unread_to` allows, or the text; None for none.
            others: guesses after such that `can_follow` allows.
        """
        chain = self._unread(tip) if tip else []
        wanted = [*([tip] if tip else ()), *others]
        began = time.perf_counter()
        if self._held or others:
            width = len(chain) + len(others)
            rows = self._read_branches([*chain, *others], len(wanted))
        else:
            text = self._text[self._model.length : self._agreed] if self._end is None else ()
            tokens = [*text, *(each.token for each in chain)]
            width, rows = len(tokens), self._model.evaluate(tokens, rows=1)
            self._end = tip
        self.passes.append(DraftPass(width, time.perf_counter() - began, rows=len(wanted)))
        for node, row in zip(wanted, rows, strict=True):
            node.row = self._row(row[: self._vocabulary_size], node)

    def _unread(self, node: Node) -> list[Node]:
        """The guesses up to `node` that are still to be read."""
        chain: list[Node] = []
        while node.parent is not None and not self.can_follow(node):
            chain.append(node)
            node = node.parent
        return chain[::-1]

    def _read_branches(self, nodes: Sequence[Node], wanted: int) -> LogitRows:
        """Read guesses behind the trunk, each after the one it follows."""
        if not self._held:
            self._trunk = self._model.length
        held = dict(self._held)
        for node in nodes:
            held[node] = len(held)
        tokens = [node.token for node in nodes]
        # A pass that fails may leave some of them behind.
        self._torn = True
        parents = [-1 if node.parent is self._end else held[node.parent] for node in nodes if node.parent]
        rows = self._branching.evaluate_tree(tokens, parents, wanted)
        self._torn = False
        self._held = held
        return rows

    def _row(self, row: Logits, node: Node) -> Row:
        """What a row of logits says of the token after `node`."""
        recent = self._sampling.window(self._text, node.path()) if self._sampling.penalises else ()
        q = to_distribution(row, self._sampling, recent)
        if not isinstance(q, Certain):
            return Row(q, q.probability(q.likeliest()), q)
        soft = softmax(row)
        several = soft if self._softly is None else to_distribution(row, self._softly, recent)
        return Row(q, soft.probability(q.token), several)

    def agree_on(self, text: Sequence[int], length: int) -> None:
        """Keep what was read of the first `length` tokens of `text`, and forget the rest."""
        if self._held or self._torn:
            self._leave_branches(text, length)
        held = self._model.tokens
        # Up to where the round began it is the text.
        known = min(self._agreed, len(held), length)
        limit = min(len(held), length)
        self.agree(next((i for i in range(known, limit) if held[i] != text[i]), limit))

    def _leave_branches(self, text: Sequence[int], length: int) -> None:
        """Keep the branch that the text took, as far as it goes."""
        held = self._model.tokens
        trunk = min(self._trunk, length)
        path: list[int] = []
        if not self._torn and list(held[self._agreed : trunk]) == list(text[self._agreed : trunk]):
            after = self._end
            for token in text[trunk:length]:
                after = next((each for each in self._held if each.parent is after and each.token == token), None)
                if after is None:
                    break
                path.append(self._held[after])
        if path:
            self._branching.keep(path)
        else:
            self.agree(trunk)
        self._held = {}
        self._torn = False
