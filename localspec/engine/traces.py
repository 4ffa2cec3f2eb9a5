"""What a traced answer tells: each guess, and what decided on it. Sent over the engine's pipe as it is."""

from __future__ import annotations

from dataclasses import dataclass

from localspec.chat.events import AnswerEnd
from localspec.decoding.rounds import Origin


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token and how likely a distribution makes it."""

    token: int
    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class TracedGuess:
    """One guess and what decided on it (`decoding.tracing.JudgedGuess`).

    Attributes:
        guess: the token, and how likely the draft was to guess it: q(x).
        p: how likely the target is to write it: p(x).
        u: the random number; the guess is kept when u q(x) < p(x).
        kept: whether it was.
        chance: the chance that a guess drawn at this place is kept: sum of min(p, q).
        target: the target's likeliest tokens at its place.
        draft: the draft's likeliest tokens there.
    """

    guess: TokenChance
    p: float
    u: float
    kept: bool
    chance: float
    target: tuple[TokenChance, ...]
    draft: tuple[TokenChance, ...]


@dataclass(frozen=True, slots=True)
class TracedRound:
    """One round, judged.

    Attributes:
        before: the answer's text before it.
        drafted: texts of all guesses, those behind a refused one included.
        guesses: the guesses that were looked at.
        own: the target's own token, a correction or the bonus, and how likely what it was drawn from made it.
        source: the likeliest tokens of what it was drawn from: the residual after a rejection, else p.
        u: the random number it was drawn with.
        origins: who wrote each token of the round.
    """

    before: str
    drafted: tuple[str, ...]
    guesses: tuple[TracedGuess, ...]
    own: TokenChance
    source: tuple[TokenChance, ...]
    u: float
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class AnswerTrace:
    """The rounds of an answer, judged, and its end. The figures of time are those of a watched answer, not of one."""

    rounds: tuple[TracedRound, ...]
    end: AnswerEnd
