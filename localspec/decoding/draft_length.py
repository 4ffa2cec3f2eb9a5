"""What is worth guessing: asked before each token of a draft, and taught by each finished round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from localspec.decoding.drafters.ngram_levels import NGRAM_PRIORS

if TYPE_CHECKING:
    from localspec.decoding.economy import Economy
    from localspec.decoding.rounds import Prediction, Round
    from localspec.decoding.tree_plan import TreePlan

LONGEST_DRAFT = 31
"""Most tokens one draft may hold. The contexts reserve `LONGEST_DRAFT + 1` rows of logits for a verification."""

AUTO: Final = "auto"
"""The draft length that is decided anew before each token, from what passes cost here and how sure the guesses are."""

WantedLength = int | Literal["auto"]
"""What a person asks for: a number of tokens, or AUTO."""


class Offers(NamedTuple):
    """What could be added to a draft now.

    Attributes:
        unread: tokens the draft model must read in the pass that guesses the next one: 1 when it is up to date, more
            when it is behind; 0 where no model can draft.
        looked_up: levels of the tokens that a lookup has found to follow, in order; they cost nothing.
        saving: seconds that the draft model's next step, which may bring several tokens, is expected to take less than
            a pass for each of them.
    """

    unread: int = 0
    looked_up: Sequence[int] = ()
    saving: float = 0.0


class Choice(NamedTuple):
    """What to add to a draft: `looked_up` tokens of the lookup's, else one `step` of the draft model, else nothing."""

    looked_up: int = 0
    step: bool = False


STOP = Choice()

_SURE = 0.7
"""A draft of fixed length takes what a lookup found in place of the model's guess when it is kept at least so often."""


class DraftPlan(Protocol):
    """The decisions of one round, in the order in which a drafter asks for them.

    A decision may use all that was drawn before and the distribution the next token will be drawn from, never the token
    itself: a rule that looks at a token and then leaves it out changes the distribution of the text, unless the
    acceptance rule says otherwise (`AcceptanceRule.may_leave_out`).
    """

    def choose(self, offers: Offers) -> Choice:
        """What to add next."""
        ...

    def keeps(self, greatest: float) -> bool:
        """Whether a token the model is about to draw is worth its place in the target's pass.

        Args:
            greatest: the greatest probability in q, or at temperature 0 in the softmax of the draft's logits.
        """
        ...

    def drawn(self, greatest: float, *, likeliest: bool) -> None:
        """The model's token was drawn and added; `likeliest`: it is q's likeliest."""
        ...

    def looked_up(self, levels: Sequence[int]) -> None:
        """Tokens of these levels were added from the lookup."""
        ...

    def verified(self) -> int:
        """How many of the guesses to have verified, where the acceptance rule lets some be left out."""
        ...

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """What is expected of each guess so far; empty for a plan that predicts nothing."""
        ...


class DraftLength(Protocol):
    """Decides how many tokens are worth drafting."""

    @property
    def longest(self) -> int:
        """The most tokens this rule will ever ask for, 0 to LONGEST_DRAFT."""
        ...

    @property
    def needs_confidence(self) -> bool:
        """Whether its plans read how sure the model is (which costs a pass over the vocabulary at temperature 0)."""
        ...

    def saving(self, guesses: Sequence[Prediction]) -> float:
        """Seconds that a pass over a chain is expected to take less than a pass for each token that comes of it.

        Args:
            guesses: what is expected of them; without costs or expectations there is nothing to save.
        """
        ...

    def below(self) -> DraftLength:
        """The rule for what is drafted for the draft model, during one answer."""
        ...

    def plan(self, room: int) -> DraftPlan:
        """Begin a round in which at most `room` tokens may be drafted."""
        ...

    def tree_plan(self, room: int, *, leaves_out: bool) -> TreePlan:
        """Begin a round whose draft may be a tree of at most `room` tokens.

        Args:
            room: the most tokens.
            leaves_out: whether guesses may be left out after they were drawn (`AcceptanceRule.may_leave_out`).
        """
        ...

    def economy(self, source: str) -> Economy | None:
        """What the drafts of a source that weighs them as a whole are weighed by; None: they are to be of full length.

        Args:
            source: its name among the calibrations.
        """
        ...

    def observe(self, finished: Round) -> None:
        """Learn from a finished round."""
        ...


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Always `tokens` tokens; 0 means speculation off. What a lookup is sure of goes before the model."""

    tokens: int

    def __post_init__(self) -> None:
        if not 0 <= self.tokens <= LONGEST_DRAFT:
            raise ValueError(f"the draft length must be between 0 and {LONGEST_DRAFT}, not {self.tokens}")

    @property
    def longest(self) -> int:
        """The fixed length."""
        return self.tokens

    @property
    def needs_confidence(self) -> bool:
        """No."""
        return False

    def saving(self, guesses: Sequence[Prediction]) -> float:  # noqa: ARG002 - the Protocol's argument
        """Not known."""
        return 0.0

    def below(self) -> FixedLength:
        """The same length."""
        return FixedLength(self.tokens)

    def plan(self, room: int) -> DraftPlan:
        """A round of so many tokens, or as many as there is room for."""
        return CountedPlan(min(room, self.tokens))

    def tree_plan(self, room: int, *, leaves_out: bool) -> TreePlan:
        """So many guesses, or as many as there is room for."""
        from localspec.decoding.tree_plan import FixedTreePlan  # noqa: PLC0415 - it is a plan of this module, and more

        return FixedTreePlan(min(room, self.tokens), leaves_out=leaves_out)

    def economy(self, source: str) -> None:
        """There is nothing to weigh."""

    def observe(self, finished: Round) -> None:
        """Nothing to learn."""


class CountedPlan:
    """A number of tokens, whatever they are.

    Args:
        tokens: the number.
    """

    predictions: tuple[Prediction, ...] = ()

    def __init__(self, tokens: int) -> None:
        self._wanted = tokens
        self._drafted = 0

    def choose(self, offers: Offers) -> Choice:
        """What is missing: from the lookup where that is sure, else from the model."""
        left = self._wanted - self._drafted
        if not left:
            return STOP
        if not offers.unread:
            return Choice(looked_up=min(left, len(offers.looked_up)))
        doubtful = (i for i, level in enumerate(offers.looked_up) if NGRAM_PRIORS[level] < _SURE)
        sure = next(doubtful, len(offers.looked_up))
        return Choice(looked_up=min(left, sure), step=not sure)

    def keeps(self, greatest: float) -> bool:  # noqa: ARG002 - the Protocol's argument
        """Every token."""
        return True

    def drawn(self, greatest: float, *, likeliest: bool) -> None:  # noqa: ARG002 - the Protocol's arguments
        """One more."""
        self._drafted += 1

    def looked_up(self, levels: Sequence[int]) -> None:
        """So many more."""
        self._drafted += len(levels)

    def verified(self) -> int:
        """All of them."""
        return self._drafted
