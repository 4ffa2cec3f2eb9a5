"""Guesses that the target finds in its own passes: lookahead decoding (Fu et al. 2024, arXiv 2402.02057).

A window of guessed tokens rides in the target's passes, and its Jacobi iterations leave n-grams in a pool. The
candidates of the pool that go on from the text's last token are verified, as a tree. As in the authors' implementation
with POOL_FROM_PROMPT, the n-grams of the prompt and of the answer are in the pool too. No second model is needed, and
the text stays the target's own: candidates are deterministic guesses, and the window is never verified.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.drafters.candidate_choice import choose, survivals
from localspec.decoding.drafters.jacobi_window import JacobiWindow, WindowShape
from localspec.decoding.drafters.lookahead_levels import LOOKAHEAD_PRIORS
from localspec.decoding.drafters.ngram_pool import Candidate, NgramPool, candidate_tree, first_branch
from localspec.decoding.drafters.window_account import WINDOWS, WindowAccount, best_window, largest_window
from localspec.decoding.economy import Economy
from localspec.decoding.language_model import LogitRows
from localspec.decoding.rounds import Draft, Lookahead, Prediction, Turn
from localspec.decoding.verdict import TokenByToken

_WRITTEN_SIZE = max(shape.size for shape in WINDOWS)
"""Tokens of the n-grams taken from the text."""


class _Plan(NamedTuple):
    """What the next pass is to hold.

    Attributes:
        chosen: candidates to verify, as indices into their tree.
        window: whether it rides.
        price: what the window adds to the pass, in tokens.
        cost: what the candidates add that the text alone would not have brought, in tokens.
    """

    chosen: tuple[int, ...]
    window: bool
    price: float = 0.0
    cost: float = 0.0


class _Offered(NamedTuple):
    """What was given to be verified.

    Attributes:
        length: of the text then.
        candidates: their parents are counted among themselves.
        cost: see `_Plan`.
    """

    length: int
    candidates: Sequence[Candidate]
    cost: float


class LookaheadDrafter:
    """Drafts from a pool of n-grams that the target's own passes fill.

    With a fixed draft length the window rides in every pass. With the adaptive one it rides while it pays.

    Args:
        shape: W and N of the window; None to choose them by what passes cost.
        candidates: G, most n-grams that are kept, and tried, for the same last token.
        pool_size: most n-grams in all.
    """

    name = "lookahead"

    def __init__(self, shape: WindowShape | None = None, candidates: int = 8, pool_size: int = 4096) -> None:
        self._shape = shape
        self._written_size = shape.size if shape else _WRITTEN_SIZE
        self._pool_size = pool_size
        self._pool = NgramPool(candidates, pool_size)
        self._account = WindowAccount()
        self._text: list[int] = []
        self._window: JacobiWindow | None = None
        self._window_length = 0
        self._offered: _Offered | None = None
        # Where a window begins does not change the text; begun in the same way each time, an answer can be repeated.
        self._random = random.Random(0)  # noqa: S311 - not secrets

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:  # noqa: ARG002 - it is quick
        """Put the n-grams of the prompt into the pool, and begin a new window."""
        self.agree(text, len(text) - 1)
        self._write(text[:-1])
        self._window = None
        self._random.seed(0)

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        """Up to `limit` tokens of candidates, and the window where it rides; see `Drafter.draft`."""
        self._offered = None
        if limit <= 0:
            return Draft()
        self._write(text)
        tree = candidate_tree(self._pool.after(text[-1]), turn.end_tokens)
        if not isinstance(turn.rule, TokenByToken):
            tree = first_branch(tree)
        economy = turn.draft_length.economy(self.name)
        plan = self._worth(tree, limit, economy) if economy else self._fixed(tree, limit, turn.draft_length.longest)
        candidates = _pruned(tree, plan.chosen)
        self._offered = _Offered(len(text), candidates, plan.cost)
        parents = tuple(each.parent for each in candidates)
        return Draft(
            tokens=tuple(each.token for each in candidates),
            distributions=(None,) * len(candidates),
            sources=(self.name,) * len(candidates),
            predictions=tuple(Prediction(each.level, economy.calibration.acceptance(each.level)) for each in candidates)
            if economy
            else (),
            parents=() if parents == tuple(range(-1, len(parents) - 1)) else parents,
            lookahead=self._riding(self._window, text, len(candidates), plan.price, turn)
            if plan.window and self._window
            else None,
        )

    def agree(self, text: Sequence[int], length: int) -> None:
        """Learn what became of the last draft, and forget whatever was learned after another text than this."""
        self._settle(text)
        held = self._text
        if held == list(text[: min(len(held), length)]):
            return
        shared = next((i for i, token in enumerate(text[:length]) if i >= len(held) or held[i] != token), length)
        del held[shared:]
        self._pool.cut(shared)
        if self._window_length > shared:
            self._window = None

    def _write(self, text: Sequence[int]) -> None:
        """Put the n-grams by which the text has grown into the pool; of a long text, as many as it can hold."""
        size, start = self._written_size, max(len(self._text), len(text) - self._pool_size)
        self._text.extend(text[len(self._text) :])
        for end in range(max(start + 1, size), len(text) + 1):
            self._pool.write(self._text[end - size : end], end)

    def _fixed(self, tree: Sequence[Candidate], limit: int, longest: int) -> _Plan:
        """As many candidates as are asked for, and a window beside them."""
        if self._window is None:
            self._window = JacobiWindow(self._shape or largest_window(LONGEST_DRAFT - longest), self._fresh)
        room = min(limit, LONGEST_DRAFT - len(self._window.comb().tokens))
        chosen = choose(survivals(tree, LOOKAHEAD_PRIORS.__getitem__), [0.0] * (limit + 1), max(room, 0)).indices
        return _Plan(chosen, window=room >= 0)

    def _worth(self, tree: Sequence[Candidate], limit: int, economy: Economy) -> _Plan:
        """The candidates that are worth verifying, and the window if it is worth riding beside them."""
        survival = survivals(tree, economy.calibration.acceptance)
        costs = [economy.rate * seconds for seconds in economy.pass_seconds]
        alone = choose(survival, costs, limit)
        shape = self._window.shape if self._window else self._shape or best_window(costs)
        if shape and shape.tokens < len(costs):
            beside = choose(survival, costs[shape.tokens :], limit)
            price = alone.value - beside.value
            if self._account.affords(price):
                self._window = self._window or JacobiWindow(shape, self._fresh)
                return _Plan(beside.indices, True, price, _found_cost(tree, beside.indices, costs[shape.tokens :]))
        self._window = None
        chosen = alone.indices
        if tree and not chosen and economy.may_probe(costs[1] - costs[0] - survival[0]):
            chosen = (0,)
        return _Plan(chosen, False, cost=_found_cost(tree, chosen, costs))

    def _riding(
        self, window: JacobiWindow, text: Sequence[int], guesses: int, price: float, turn: Turn
    ) -> Lookahead | None:
        """The window as tokens of the next pass; None where there are too many."""
        comb = window.comb()
        if guesses + len(comb.tokens) > LONGEST_DRAFT:
            return None
        last, length = text[-1], len(text)

        def read(rows: LogitRows) -> None:
            following = rows[-comb.rows :].argmax(axis=1).tolist()
            self._account.pay(price)
            for ngram in window.advance(last, following, turn.end_tokens, self._fresh):
                self._pool.find(ngram, length)
            self._window_length = length

        parents = tuple(parent + guesses if parent >= 0 else -1 for parent in comb.parents)
        return Lookahead(comb.tokens, parents, read)

    def _fresh(self) -> int:
        """A token for the window to begin with: any of the text, as in the authors' implementation."""
        return self._random.choice(self._text)

    def _settle(self, text: Sequence[int]) -> None:
        """Credit the window with the candidates it found that were kept."""
        if self._offered is None or len(text) <= self._offered.length:
            return
        length, candidates, cost = self._offered
        self._offered = None
        last, brought = -1, 0
        for token in text[length:]:
            kept = next((i for i, each in enumerate(candidates) if (each.parent, each.token) == (last, token)), None)
            if kept is None:
                break
            brought += not candidates[kept].written
            last = kept
        if brought or cost:
            self._account.earn(brought - cost)


def _pruned(tree: Sequence[Candidate], chosen: Sequence[int]) -> list[Candidate]:
    """The chosen candidates as a tree of their own."""
    places = {-1: -1} | {i: place for place, i in enumerate(chosen)}
    return [tree[i]._replace(parent=places[tree[i].parent]) for i in chosen]


def _found_cost(tree: Sequence[Candidate], chosen: Sequence[int], costs: Sequence[float]) -> float:
    """What is added to the pass by those that a window alone has found."""
    return costs[len(chosen)] - costs[sum(tree[i].written for i in chosen)]
