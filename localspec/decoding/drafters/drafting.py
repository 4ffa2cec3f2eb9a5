"""How a draft is put together, token by token, from a draft model, a lookup, or both."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple, Protocol

from localspec.decoding.distributions import Distribution
from localspec.decoding.draft_length import DraftPlan, Offers
from localspec.decoding.drafters.model_source import ModelSource
from localspec.decoding.rounds import Draft, Turn


class Found(NamedTuple):
    """What a lookup expects to follow a text.

    Attributes:
        tokens: the ids, nearest first.
        levels: how sure it is of each, as one of its own classes.
    """

    tokens: Sequence[int] = ()
    levels: Sequence[int] = ()

    def first(self, count: int, end_tokens: Container[int]) -> Found:
        """The first `count` of them, up to and with an end-of-generation token: nothing follows that."""
        end = next((i + 1 for i, token in enumerate(self.tokens[:count]) if token in end_tokens), count)
        return Found(self.tokens[:end], self.levels[:end])


class Lookup(Protocol):
    """Finds what followed when the text last ended as it does now."""

    def prepare(self, text: Sequence[int]) -> None:
        """Hold `text`, keeping what is shared with the text held before."""
        ...

    def find(self, text: Sequence[int], drafted: Sequence[int], limit: int) -> Found:
        """What is expected after `text` and `drafted`, at most `limit` tokens.

        Args:
            text: begins with what is held; the rest is added.
            drafted: guesses that are not part of the text yet; they are not added.
            limit: most tokens to find.
        """
        ...

    def agree(self, length: int) -> None:
        """Forget everything beyond the first `length` tokens of the text."""
        ...


class SourcesDrafter:
    """Drafts from what it has: at each token the draft-length rule says where the next one comes from.

    Args:
        name: the word shown to people.
        model: a draft model, or None.
        lookup: a lookup, or None.
    """

    def __init__(self, name: str, model: ModelSource | None, lookup: Lookup | None) -> None:
        self.name = name
        self._model = model
        self._lookup = lookup

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Read the prompt with whatever there is."""
        if self._lookup:
            self._lookup.prepare(text)
        if self._model:
            self._model.prepare(text, cancelled)

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        """Up to `limit` tokens; see `Drafter.draft`."""
        return Drafting(text, limit, turn).draft(self._model, self._lookup)

    def agree(self, text: Sequence[int], length: int) -> None:  # noqa: ARG002 - what it holds is never beside the text
        """Cut everything back to the agreed text."""
        if self._lookup:
            self._lookup.agree(length)
        if self._model:
            self._model.agree(length)


class Drafting:
    """One draft in the making.

    Args:
        text: what it follows.
        limit: most tokens it may have.
        turn: settings of the answer.
    """

    def __init__(self, text: Sequence[int], limit: int, turn: Turn) -> None:
        self._text = text
        self._limit = limit
        self._turn = turn
        self._plan: DraftPlan = turn.draft_length.plan(limit)
        self._tokens: list[int] = []
        self._distributions: list[Distribution | None] = []
        self._sources: list[str] = []

    def saving(self, model: ModelSource) -> float:  # noqa: ARG002 - for those to whom a step is more
        """What the model's next step saves (see `Offers`): it is a pass, and brings one token."""
        return 0.0

    def draft(self, model: ModelSource | None, lookup: Lookup | None) -> Draft:
        """Add to it as long as that is worth while."""
        if model:
            model.begin(self._text, self._turn)
        while len(self._tokens) < self._limit and not self._is_over():
            found = lookup.find(self._text, self._tokens, self._limit - len(self._tokens)) if lookup else Found()
            unread = model.unread(self._tokens) if model else 0
            saving = self.saving(model) if model and unread else 0.0
            choice = self._plan.choose(Offers(unread, found.levels, saving))
            if choice.looked_up:
                self._take(found, choice.looked_up)
            elif not (choice.step and model and self.step(model)):
                break
        kept = self._plan.verified() if self._turn.rule.may_leave_out else len(self._tokens)
        return Draft(
            tuple(self._tokens[:kept]),
            tuple(self._distributions[:kept]),
            tuple(self._sources[:kept]),
            self._plan.predictions[:kept],
            tuple(model.passes) if model else (),
        )

    def _is_over(self) -> bool:
        """Whether nothing may follow: an end-of-generation token was guessed, or the answer was cancelled."""
        return bool(self._tokens) and (self._tokens[-1] in self._turn.end_tokens or self._turn.cancelled())

    def _take(self, found: Found, count: int) -> None:
        """Add the first `count` tokens found."""
        tokens, levels = found.first(count, self._turn.end_tokens)
        self._plan.looked_up(levels)
        self._add(tokens, [None] * len(tokens), "ngram")

    def step(self, model: ModelSource) -> bool:
        """Have the model guess on; False when what it would guess is not worth verifying."""
        q, greatest = model.next(self._tokens)
        if not self._plan.keeps(greatest):
            return False
        self._drawn(self._turn.rule.propose(q, len(self._text) + len(self._tokens)), q, greatest)
        return True

    def _drawn(self, token: int, q: Distribution, greatest: float) -> None:
        """Add a token that was drawn from the model's q."""
        self._plan.drawn(greatest, likeliest=q.probability(token) >= greatest)
        self._add([token], [q], "model")

    def _add(self, tokens: Sequence[int], distributions: Sequence[Distribution | None], source: str) -> None:
        self._tokens.extend(tokens)
        self._distributions.extend(distributions)
        self._sources.extend([source] * len(tokens))
