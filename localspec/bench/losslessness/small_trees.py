"""Small trees of guesses at real rows, drawn as `drafters.tree` draws the guesses beside its spine."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.bench.losslessness.places import Place
from localspec.decoding.drafters.guess_tree import Node, Row, as_draft
from localspec.decoding.rounds import Draft, Prediction
from localspec.decoding.verdict import BranchingRule

DEPTH = 2
"""Places that a tree reaches: from there on nothing new can happen."""

_GO_ON = 2
"""Guesses for the first place that others follow."""

_ANY = Prediction(0, 0.5)
"""What is expected of guesses makes no difference here."""


def grow(places: Sequence[Place], rule: BranchingRule, position: int) -> tuple[Draft, list[int]]:
    """Draw a tree for the places that come next.

    Args:
        places: what there is to guess for; the tree reaches DEPTH of them at most.
        rule: draws the guesses.
        position: of the first of the places in the text.

    Returns:
        The draft, and of each guess how many there are up to it, itself included.
    """
    going_on = [Node(-1)]
    nodes: list[Node] = []
    for depth, place in enumerate(places[:DEPTH]):
        for node in going_on:
            _add_guesses(node, place, rule, position + depth)
        new = [child for node in going_on for child in node.children]
        nodes += new
        going_on = new[:_GO_ON]
    return as_draft(nodes, (), predicted=False), [node.depth for node in nodes]


def _add_guesses(node: Node, place: Place, rule: BranchingRule, position: int) -> None:
    if place.q is not None:
        node.row = Row(place.q, 0.0, place.q)
    for looked_up in place.guesses:
        if looked_up is not None:
            if all(child.token != looked_up for child in node.children):
                node.add(looked_up, None, "ngram", _ANY)
        elif not node.children:
            assert place.q is not None
            node.add(rule.propose(place.q, position), place.q, "model", _ANY)
        elif (rest := node.rest()) is not None:
            guess = rule.propose_several(rest, position, 1)[0]
            node.add(guess.token, guess.q, "model", _ANY)
