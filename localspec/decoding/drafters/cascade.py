"""A drafter that is itself drafted for: speculation inside the draft model."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from localspec.decoding.acceptance import Rejection
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.drafting import Drafting, SourcesDrafter
from localspec.decoding.drafters.model_source import After, ModelSource, draft_sampling
from localspec.decoding.language_model import LanguageModel
from localspec.decoding.pass_costs import WIDEST
from localspec.decoding.rounds import Draft, Round, Turn, origins_of
from localspec.decoding.seeds import seed_of
from localspec.decoding.verdict import BranchingRule, Guess


class CascadeDrafter(SourcesDrafter):
    """Drafts with a language model that is drafted for in its turn ("vertical cascade": Chen 2023, arXiv 2312.11462).

    The inner rounds are exact to the draft model: each token of the draft is a sample of the model's q after all tokens
    before it, whoever guessed it first. So the outer rule may take it for one. The inner drafter may be a cascade too.

    Args:
        model: the draft model.
        inner: drafts chains for it, of ids that the draft model has.
        vocabulary_size: as in `ModelSource`.
    """

    def __init__(self, model: LanguageModel, inner: Drafter, vocabulary_size: int) -> None:
        super().__init__("cascade", ModelSource(model, vocabulary_size), None)
        self._inner = _Inner(inner)

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Read the prompt on both levels."""
        super().prepare(text, cancelled)
        self._inner.drafter.prepare(text, cancelled)

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        """Up to `limit` tokens; see `Drafter.draft`."""
        return _CascadeDrafting(text, limit, turn, self._inner).draft(self._model, None)

    def agree(self, text: Sequence[int], length: int) -> None:
        """Cut both levels back to the agreed text."""
        super().agree(text, length)
        self._inner.drafter.agree(text, length)


class _Inner:
    """The level below: who drafts there, and how in this answer.

    Attributes:
        drafter: who.
        is_free: whether no guess has cost a pass so far.
        rule: the turn's.
    """

    def __init__(self, drafter: Drafter) -> None:
        self.drafter = drafter
        self.is_free = True
        self._above: Turn | None = None
        self._turn: Turn | None = None
        self.rule: BranchingRule = Rejection(0)

    def turn(self, above: Turn) -> Turn:
        """The settings of the level below, by those of the level above.

        Where each token is a model's own choice, whatever was guessed, the draft model chooses by the same rule, under
        coupling with the same noise. Else the inner rule is rejection, with random numbers of its own: the outer rule's
        have yet to judge these tokens. It judges one place after the other, so that a round can end before a token that
        is not wanted is drawn; block verification, exact to the draft model as well, would have drawn all of them.
        """
        before, turn = self._above, self._turn
        if turn is not None and above is before:
            return turn
        sampling = draft_sampling(above.sampling)
        seed = secrets.randbits(64) if sampling.seed is None else sampling.seed
        seed = seed_of(seed, "the drafts of a cascade")
        # A rule that goes on in another turn goes on with its random numbers: none is used twice.
        if before is None or above.rule is not before.rule:
            self.rule = Rejection(seed)
            if above.rule.may_leave_out and isinstance(above.rule, BranchingRule):
                self.rule = above.rule
        same_length = before is not None and turn is not None and above.draft_length is before.draft_length
        self._above = above
        self._turn = Turn(
            sampling=replace(sampling, seed=seed),
            rule=self.rule,
            draft_length=turn.draft_length if turn is not None and same_length else above.draft_length.below(),
            end_tokens=above.end_tokens,
            cancelled=above.cancelled,
        )
        return self._turn


class _CascadeDrafting(Drafting):
    """One draft in the making, an inner round at a time."""

    def __init__(self, text: Sequence[int], limit: int, turn: Turn, inner: _Inner) -> None:
        super().__init__(text, limit, turn)
        self._inner = inner
        self._below = inner.turn(turn)
        self._guesses: Draft | None = None

    def saving(self, model: ModelSource) -> float:
        """See `Offers`. Guesses that cost nothing are made before the step is decided on, to tell what it is worth."""
        if not self._inner.is_free:
            return 0.0
        self._guesses = self._guessed(model)
        return self._below.draft_length.saving(self._guesses.predictions)

    def _guessed(self, model: ModelSource) -> Draft:
        """Guesses for what the model will say next."""
        room = min(self._limit - len(self._tokens) - 1, model.room(self._tokens))
        guesses = self._inner.drafter.draft([*self._text, *self._tokens], room, self._below)
        if guesses.parents or guesses.lookahead:
            raise TypeError("what drafts for a draft model must draft chains")
        self._inner.is_free &= not guesses.passes
        model.passes.extend(replace(each, depth=each.depth + 1) for each in guesses.passes)
        return guesses

    def step(self, model: ModelSource) -> bool:
        """Add the tokens of one round; False when it came to a q that no token is worth being drawn from.

        It is a round of `speculate`, but that the text may be ahead of the model by more than one token, and that it
        ends where its tokens are no longer wanted. That is decided before a token is drawn: one that is left out
        for what it is would make the others too frequent.
        """
        text = [*self._text, *self._tokens]
        unread = model.unread(self._tokens)
        guesses, self._guesses = self._guesses or self._guessed(model), None
        after = model.read(self._tokens, guesses.tokens)
        kept, wanted = self._judge(guesses, after, len(text))
        drawn = self._tokens[len(text) - len(self._text) :]
        model.agree(len(text) + kept)
        self._inner.drafter.agree([*text, *drawn], len(text) + kept)
        if drawn and unread <= WIDEST:
            finished = Round(
                drafted=guesses.tokens,
                path=tuple(range(kept)),
                tokens=tuple(drawn),
                origins=origins_of(len(guesses.tokens), kept, len(drawn), refused=kept < len(guesses.tokens)),
                sources=guesses.sources,
                predictions=guesses.predictions,
                passes=guesses.passes,
                target_seconds=model.passes[-1].seconds,
                seconds=model.passes[-1].seconds + sum(each.seconds for each in guesses.passes),
                lookahead=unread - 1,
            )
            self._below.draft_length.observe(finished)
        return wanted

    def _judge(self, guesses: Draft, after: After, position: int) -> tuple[int, bool]:
        """Draw the model's tokens, keeping guesses as long as they are those.

        Returns:
            How many guesses were kept, and whether the next token is wanted too.
        """
        place = 0
        while True:
            q, greatest = after(place)
            if not self._plan.keeps(greatest):
                return place, False
            guess = list(map(Guess, guesses.tokens[place : place + 1], guesses.distributions[place : place + 1]))
            kept, token = self._inner.rule.judge(guess, q, position + place)
            self._drawn(token, q, greatest)
            if kept is None:
                return place, True
            place += 1
            if token in self._turn.end_tokens:
                return place, True
