"""Trees of guesses: several for the same place, from a draft model and from the text itself, verified in one pass.

The first guess for each place makes the spine, which is the chain that `HybridDrafter` would draft. Beside it stand the
draft model's next guesses for the same places, and what a lookup expects where the model guessed something else; from
the best of them the draft model goes on, in the pass in which it guesses the spine's next. (SpecInfer, arXiv
2305.09781; which of them are worth their time: see `tree_shape`.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from localspec.decoding.calibration import lookup_level, model_bin, model_level, sibling_level
from localspec.decoding.draft_length import Offers
from localspec.decoding.drafters.drafting import Found, Lookup
from localspec.decoding.drafters.guess_tree import NOTHING, Following, Node, as_draft
from localspec.decoding.drafters.tree_source import TreeSource
from localspec.decoding.language_model import BranchingModel
from localspec.decoding.rounds import Draft, Prediction, Turn
from localspec.decoding.tree_plan import Reach
from localspec.decoding.verdict import BranchingRule

MOST_CHILDREN = 8
"""Guesses for one place: a further one is next to never right."""


class TreeDrafter:
    """Drafts trees; a chain where width is dear, and nothing where no guess is worth its time.

    Args:
        model: the draft model.
        vocabulary_size: as in `ModelSource`.
        lookup: what is expected from the text; None to go without.
    """

    name = "tree"

    def __init__(self, model: BranchingModel, vocabulary_size: int, lookup: Lookup | None) -> None:
        self._model = TreeSource(model, vocabulary_size)
        self._lookup = lookup
        self._rule: BranchingRule | None = None

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Read the prompt."""
        if self._lookup:
            self._lookup.prepare(text)
        self._model.prepare(text, cancelled)

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        """Up to `limit` tokens; see `Drafter.draft`.

        Raises:
            TypeError: the turn's rule cannot choose between guesses for the same place.
        """
        if turn.rule is not self._rule:
            # Looked at once: it takes as long as a whole decision.
            if not isinstance(turn.rule, BranchingRule):
                raise TypeError(f"{turn.rule.name} acceptance judges chains of guesses, not trees")
            self._rule = turn.rule
        return _Growing(text, limit, turn, self._rule, (self._model, self._lookup)).draft()

    def agree(self, text: Sequence[int], length: int) -> None:
        """Cut back to the agreed text, keeping the branch that it took."""
        if self._lookup:
            self._lookup.agree(length)
        self._model.agree_on(text, length)


class _Candidate(NamedTuple):
    """A guess that could be added.

    Attributes:
        node: what it follows.
        survival: the chance that it is kept.
        prediction: what is expected of it; of a model's first guess, before it is drawn.
        looked_up: whether it is the lookup's.
    """

    node: Node
    survival: float
    prediction: Prediction
    looked_up: bool


class _Growing:
    """One tree in the making."""

    def __init__(
        self,
        text: Sequence[int],
        limit: int,
        turn: Turn,
        rule: BranchingRule,
        sources: tuple[TreeSource, Lookup | None],
    ) -> None:
        self._text = text
        self._limit = limit
        self._turn = turn
        self._rule = rule
        self._model, self._lookup = sources
        self._plan = turn.draft_length.tree_plan(limit, leaves_out=self._rule.may_leave_out)
        self._root = self._tip = Node(text[-1])
        self._spine: list[Node] = []
        self._tokens: list[int] = []
        self._beside: list[Node] = []
        self._spine_is_over = False

    def draft(self) -> Draft:
        self._model.begin_tree(self._text, self._turn, self._root)
        while True:
            unread = self._spine_goes_on()
            if not unread and (not self._beside or self._turn.cancelled()):
                break
            others = self._to_read(unread)
            if not unread and not others:
                break
            self._read(self._tip if unread else None, others)
            if unread:
                self._step()
        self._fill()
        return self._finished()

    def _read(self, tip: Node | None, others: Sequence[Node]) -> None:
        """Have the model say what follows these guesses."""
        self._model.read_guesses(tip, others)
        for node in (*([tip] if tip else ()), *others):
            if node.row is not None:
                left = node.survival * node.open * (1 - self._plan.expected(node.row.greatest))
                node.row = node.row.narrowed(to_none=not self._plan.may_add(left))

    def _spine_goes_on(self) -> int:
        """Add what the lookup has for the spine; tokens the model is to read for its next guess there, 0 for none."""
        while not self._spine_is_over and (left := self._room_on_the_spine()) > 0 and not self._is_over():
            found = self._lookup.find(self._text, self._tokens, left) if self._lookup else Found()
            unread = self._model.unread_to(self._tip)
            choice = self._plan.choose(Offers(unread, found.levels))
            if choice.looked_up:
                self._take(found, choice.looked_up)
            elif choice.step and unread:
                self._tip.following = Following(found.tokens, found.levels)
                return unread
            else:
                # Nothing that follows it is worth its time, says the plan, the lookup's included.
                self._tip.following = NOTHING
                break
        self._spine_is_over = True
        return 0

    def _room_on_the_spine(self) -> int:
        """Where guesses may be left out later, those beside it take no room from it."""
        return self._limit - (len(self._spine) if self._rule.may_leave_out else self._size)

    def _is_over(self) -> bool:
        """Whether nothing may follow the spine."""
        return bool(self._spine) and (self._tip.token in self._turn.end_tokens or self._turn.cancelled())

    def _take(self, found: Found, count: int) -> None:
        """Add the first `count` tokens found to the spine."""
        tokens, levels = found.first(count, self._turn.end_tokens)
        self._plan.looked_up(levels)
        for place, (token, level) in enumerate(zip(tokens, levels, strict=True)):
            prediction = self._plan.predicted("ngram", lookup_level(level, place), 0)
            self._lengthen(self._tip.add(token, None, "ngram", prediction))

    def _step(self) -> None:
        """Add the model's guess to the spine, if it is worth verifying."""
        row = self._tip.row
        assert row is not None
        if not self._plan.keeps(row.greatest):
            self._spine_is_over = True
            return
        token = self._rule.propose(row.q, len(self._text) + len(self._spine))
        likeliest = row.q.probability(token) >= row.greatest
        self._plan.drawn(row.greatest, likeliest=likeliest)
        prediction = self._plan.predicted("model", model_level(row.greatest, likeliest=likeliest), 0)
        self._lengthen(self._tip.add(token, row.q, "model", prediction))

    def _lengthen(self, child: Node) -> None:
        self._spine.append(child)
        self._tokens.append(child.token)
        self._tip = child

    def _to_read(self, unread: int) -> list[Node]:
        """Add the guesses beside the spine that the model is to go on from in its next pass."""
        nodes = self._open(self._model.followable())
        bounds = sorted((node.survival * node.open for node in nodes), reverse=True)
        if not bounds or not self._plan.may_add(bounds[0]):
            return []
        if not self._plan.reads([Reach(bound) for bound in bounds], unread):
            return []
        candidates = self._candidates(nodes)
        reaches = [Reach(each.survival, -1 if each.prediction.rank else _last(each.node)) for each in candidates]
        count = min(self._plan.reads(reaches, unread), self._limit - self._size - bool(unread))
        while count > 0 and not self._model.has_room(unread + count):
            count -= 1
        added = [self._add(each) for each in candidates[: max(count, 0)]]
        return [each for each in added if each.token not in self._turn.end_tokens and self._model.knows(each.token)]

    def _fill(self) -> None:
        """Add what is worth its place in the target's pass, the draft model being done."""
        while (left := self._limit - self._size) > 0:
            nodes = self._open((self._root, *self._spine, *self._beside))
            bounds = sorted((node.survival * node.open for node in nodes for _ in range(2)), reverse=True)
            if not bounds or not self._plan.may_add(bounds[0]) or not self._plan.adds(bounds):
                break
            candidates = self._candidates(nodes)
            chances = sorted((chance for each in candidates for chance in self._in_turn(each)), reverse=True)
            count = min(self._plan.adds(chances), left)
            if not count:
                break
            for each in candidates:
                if each.survival >= chances[count - 1] and self._size < self._limit:
                    self._add(each)

    @property
    def _size(self) -> int:
        return len(self._spine) + len(self._beside)

    def _open(self, nodes: Sequence[Node]) -> list[Node]:
        """Those that something could be added after."""
        return [
            node
            for node in nodes
            if (node.row or node.following.tokens)
            and len(node.children) < MOST_CHILDREN
            and (node is self._root or node.token not in self._turn.end_tokens)
        ]

    def _candidates(self, nodes: Sequence[Node]) -> list[_Candidate]:
        """The next guess that could be added after each, the likeliest to be kept first."""
        found = [candidate for node in nodes if (candidate := self._candidate(node)) is not None]
        return sorted(found, key=lambda each: -each.survival)

    def _candidate(self, node: Node) -> _Candidate | None:
        """The next guess that could be added after a node: the model's or the lookup's."""
        predictions: list[tuple[Prediction, bool]] = []
        rank, following = len(node.children), node.following
        if node.row is not None:
            if not rank:
                predictions.append((Prediction(0, self._plan.expected(node.row.greatest)), False))
            elif (rest := node.rest()) is not None:
                level = sibling_level(rest.probability(rest.likeliest()), rank)
                predictions.append((self._plan.predicted("model", level, rank), False))
        if following.tokens:
            level = following.levels[0] if rank else lookup_level(following.levels[0], following.place)
            predictions.append((self._plan.predicted("ngram", level, rank), True))
        if not predictions:
            return None
        prediction, looked_up = max(predictions, key=lambda each: each[0].acceptance)
        return _Candidate(node, node.survival * node.open * prediction.acceptance, prediction, looked_up)

    def _in_turn(self, candidate: _Candidate) -> list[float]:
        """The chances of a candidate and of those that could then be added: the lookup's next, or another sibling."""
        chances = [candidate.survival]
        if candidate.looked_up:
            behind = candidate.node.following.behind()
            for place, level in enumerate(behind.levels, behind.place):
                chances.append(chances[-1] * self._plan.predicted("ngram", lookup_level(level, place), 0).acceptance)
        else:
            chances.append(candidate.survival * (1 - candidate.prediction.acceptance))
        return chances

    def _add(self, candidate: _Candidate) -> Node:
        """Add a guess beside the spine."""
        node, prediction = candidate.node, candidate.prediction
        position = len(self._text) + node.depth
        if candidate.looked_up:
            child = node.add(node.following.tokens[0], None, "ngram", prediction)
        elif prediction.rank:
            rest = node.rest()
            assert rest is not None
            guess = self._rule.propose_several(rest, position, 1)[0]
            child = node.add(guess.token, guess.q, "model", prediction)
        else:
            row = node.row
            assert row is not None
            token = self._rule.propose(row.q, position)
            level = model_level(row.greatest, likeliest=row.q.probability(token) >= row.greatest)
            child = node.add(token, row.q, "model", self._plan.predicted("model", level, 0))
        self._beside.append(child)
        self._plan.grew(child.survival)
        return child

    def _finished(self) -> Draft:
        """The draft: the spine, and beside it what is to be verified, in the order in which it was drawn."""
        nodes = [*self._spine, *self._beside]
        if self._rule.may_leave_out:
            ranked = sorted(nodes, key=lambda node: -node.survival)
            kept = set(ranked[: min(self._limit, self._plan.stays([node.survival for node in ranked]))])
            nodes = [node for node in nodes if node in kept]
        return as_draft(nodes, self._model.passes, predicted=self._plan.predicts)


def _last(node: Node) -> int:
    """The bin of the q that the first guess after a node is drawn from."""
    return model_bin(node.row.greatest) if node.row else -1
