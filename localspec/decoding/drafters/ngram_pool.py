"""The pool of n-grams of lookahead decoding (Fu et al. 2024, arXiv 2402.02057, section 3): what may follow a token."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from localspec.decoding.drafters.lookahead_levels import Order, Standing, level

_COUNTED = 2
"""Times an n-gram was seen that are told apart: more than once is as good as often."""


@dataclass(slots=True)
class Ngram:
    """Some tokens that followed each other.

    Attributes:
        tokens: two or more ids.
        found: lengths of the texts after which a window found it, the first ones.
        written: lengths of the text when it had just been written, the first ones.
    """

    tokens: tuple[int, ...]
    found: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)


class Candidate(NamedTuple):
    """A token of the candidates' common tree.

    Attributes:
        token: an id.
        parent: index of the one it follows; -1 for the last token of the text.
        level: see `lookahead_levels`.
        written: whether the text alone would have brought it.
    """

    token: int
    parent: int
    level: int
    written: bool


class NgramPool:
    """N-grams by their first token, the most recent ones: of each first token and in all only so many are kept.

    Args:
        per_token: most n-grams that begin with the same token (G of the paper).
        most: n-grams in all; the one seen least recently goes.
    """

    def __init__(self, per_token: int, most: int) -> None:
        self._per_token = per_token
        self._most = most
        self._all: OrderedDict[tuple[int, ...], Ngram] = OrderedDict()
        self._by_first: dict[int, dict[tuple[int, ...], Ngram]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def find(self, tokens: Sequence[int], length: int) -> None:
        """Add an n-gram that a window found after a text of so many tokens."""
        _note(self._touch(tuple(tokens)).found, length)

    def write(self, tokens: Sequence[int], length: int) -> None:
        """Add an n-gram that ends a text of so many tokens."""
        _note(self._touch(tuple(tokens)).written, length)

    def cut(self, length: int) -> None:
        """Forget whatever was learned after texts of more than `length` tokens."""
        for each in list(self._all.values()):
            each.found = [at for at in each.found if at <= length]
            each.written = [at for at in each.written if at <= length]
            if not each.found and not each.written:
                self._drop(each)

    def after(self, token: int) -> list[Ngram]:
        """Those that begin with this token, most recent first."""
        return list(reversed(self._by_first.get(token, {}).values()))

    def _touch(self, tokens: tuple[int, ...]) -> Ngram:
        """The n-gram, as the most recent of all."""
        same = self._by_first.setdefault(tokens[0], {})
        known = same.pop(tokens, None) or Ngram(tokens)
        same[tokens] = self._all[tokens] = known
        self._all.move_to_end(tokens)
        if len(same) > self._per_token:
            self._drop(next(iter(same.values())))
        if len(self._all) > self._most:
            self._drop(next(iter(self._all.values())))
        return known

    def _drop(self, ngram: Ngram) -> None:
        del self._all[ngram.tokens]
        same = self._by_first[ngram.tokens[0]]
        del same[ngram.tokens]
        if not same:
            del self._by_first[ngram.tokens[0]]


def _note(seen: list[int], length: int) -> None:
    if len(seen) < _COUNTED:
        seen.append(length)


@dataclass(slots=True)
class _Node:
    """A place in the tree that some n-grams pass through, the most recent of them first."""

    token: int
    found: int = 0
    written: int = 0
    children: dict[int, _Node] = field(default_factory=dict)

    @property
    def standing(self) -> Standing:
        if self.written > 1:
            return Standing.WRITTEN_AGAIN
        if self.found > 1:
            return Standing.FOUND_AGAIN
        return Standing.WRITTEN if self.written else Standing.FOUND


def candidate_tree(ngrams: Sequence[Ngram], end_tokens: Container[int]) -> list[Candidate]:
    """N-grams that begin with the same token as one tree: what they have in common at the beginning is there once.

    Args:
        ngrams: most recent first. Their first token, the last one of the text, is left out.
        end_tokens: nothing follows one of these.

    Returns:
        Each after the one it follows; of those that follow the same token the likelier ones first.
    """
    root = _Node(ngrams[0].tokens[0]) if ngrams else _Node(-1)
    for ngram in ngrams:
        node = root
        for token in ngram.tokens[1:]:
            node = node.children.setdefault(token, _Node(token))
            node.found += len(ngram.found)
            node.written += len(ngram.written)
            if token in end_tokens:
                break
    tree: list[Candidate] = []
    _add_children(tree, root, -1, 0)
    return tree


def _add_children(tree: list[Candidate], node: _Node, parent: int, depth: int) -> None:
    """Add what follows a node, whole branches at a time."""
    # Sorting keeps the order of equals: the most recent ones first.
    children = sorted(node.children.values(), key=lambda each: each.standing, reverse=True)
    for place, child in enumerate(children):
        order = Order.LATER if place else Order.FIRST if len(children) > 1 else Order.ALONE
        tree.append(Candidate(child.token, parent, level(child.standing, order, depth), child.written > 0))
        _add_children(tree, child, len(tree) - 1, depth + 1)


def first_branch(tree: Sequence[Candidate]) -> list[Candidate]:
    """The likeliest candidate alone: a chain."""
    chain: list[Candidate] = []
    for i, candidate in enumerate(tree):
        if candidate.parent != i - 1:
            break
        chain.append(candidate)
    return chain
