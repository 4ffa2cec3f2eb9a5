"""A tree of guesses while it grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from localspec.decoding.distributions import Dense, Distribution, Sparse, excess
from localspec.decoding.rounds import Draft, DraftPass, Prediction

_SIBLINGS = 16
"""Tokens of a whole vocabulary that are thought of as guesses for one place: more than there ever are."""


class Row(NamedTuple):
    """What the draft model says of the token after a guess.

    Attributes:
        q: under the person's settings.
        greatest: how sure it is, as in `greatest_probability`.
        several: what further guesses for the same place are drawn from: q, or at temperature 0, where q is certain, the
            softmax of the logits; None where there are to be none.
    """

    q: Distribution
    greatest: float
    several: Distribution | None

    def narrowed(self, *, to_none: bool) -> Row:
        """Without the distribution of a whole vocabulary: what it is kept for are its likeliest tokens, if anything."""
        if not isinstance(self.several, Dense):
            return self
        if to_none:
            return self._replace(several=None)
        ids = self.several.likeliest_ids(_SIBLINGS)
        return self._replace(several=Sparse(ids, self.several.weights[ids].astype(np.float64)))


class Following(NamedTuple):
    """What a lookup expects after a guess.

    Attributes:
        tokens: the ids, nearest first.
        levels: how sure the lookup is of each.
        place: of the first among all that were found with it.
    """

    tokens: Sequence[int] = ()
    levels: Sequence[int] = ()
    place: int = 0

    def behind(self) -> Following:
        """What is expected after the first of them."""
        return Following(self.tokens[1:], self.levels[1:], self.place + 1)


NOTHING = Following()

_CERTAIN = Prediction(0, 1.0)


@dataclass(slots=True, eq=False)
class Node:
    """A guess, or the text itself, which is the root.

    Attributes:
        token: its id; the text's last for the root.
        parent: the guess it follows; None for the root.
        q: as in `Draft.distributions`.
        source: as in `Draft.sources`.
        prediction: what is expected of it.
        depth: guesses up to it, itself included.
        survival: the chance that it is kept.
        open: the chance that none of the guesses that follow it is kept when it is.
        children: the guesses that follow it, in the order in which they are tried.
        row: what the draft model says of the next token; None where it has not read this one.
        following: what a lookup expects, as far as it is no guess yet.
    """

    token: int
    parent: Node | None = None
    q: Distribution | None = None
    source: str = ""
    prediction: Prediction = _CERTAIN
    depth: int = 0
    survival: float = 1.0
    open: float = 1.0
    children: list[Node] = field(default_factory=list)
    row: Row | None = None
    following: Following = NOTHING
    _rest: Distribution | None = None
    _taken: int = -1

    def add(self, token: int, q: Distribution | None, source: str, prediction: Prediction) -> Node:
        """Add a guess that follows this one, to be tried after those that do already."""
        survival = self.survival * self.open * prediction.acceptance
        child = Node(token, self, q, source, prediction, self.depth + 1, survival)
        self.children.append(child)
        self.open *= 1 - prediction.acceptance
        if self.following.tokens and self.following.tokens[0] == token:
            child.following, self.following = self.following.behind(), NOTHING
        return child

    def path(self) -> list[int]:
        """Ids of the guesses up to this one."""
        tokens: list[int] = []
        node = self
        while node.parent is not None:
            tokens.append(node.token)
            node = node.parent
        return tokens[::-1]

    def rest(self) -> Distribution | None:
        """What is left to draw a further guess from, those that there are left out; None when nothing is.

        It is what the guess is then drawn from, exactly: so it is the guess's q.
        """
        if self.row is None:
            return None
        if self._taken < 0:
            self._rest = self.row.several
            self._taken = 0
        for child in self.children[self._taken :]:
            if self._rest is not None and self._rest.probability(child.token) > 0:
                mass, rest = excess(self._rest, None, child.token, 1.0)
                self._rest = rest if mass > 0 else None
        self._taken = len(self.children)
        return self._rest


def as_draft(nodes: Sequence[Node], passes: Sequence[DraftPass], *, predicted: bool) -> Draft:
    """The guesses as a draft, each after the one it follows; a chain where they are one.

    Args:
        nodes: the guesses.
        passes: as in `Draft`.
        predicted: whether what is expected of them is worth keeping.
    """
    places = {node: i for i, node in enumerate(nodes)}
    parents = tuple(-1 if node.parent is None else places.get(node.parent, -1) for node in nodes)
    return Draft(
        tuple(node.token for node in nodes),
        tuple(node.q for node in nodes),
        tuple(node.source for node in nodes),
        tuple(node.prediction for node in nodes) if predicted else (),
        tuple(passes),
        () if parents == tuple(range(-1, len(nodes) - 1)) else parents,
    )
