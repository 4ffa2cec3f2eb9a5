"""How often guesses are kept, learned while they are: by how sure their source was, and how well it did lately.

A source sorts its guesses into levels. The draft model's follow from the greatest probability in q (`model_level`); a
lookup brings its own. Each level starts with a prior and forgets slowly. How easy the text is just now moves the log
odds of all of them alike, so that a passage that is hard to guess, or a draft that is useless, shows after a few
rounds: a dynamic generalised linear model (West, Harrison and Migon 1985), followed by one step of an extended Kalman
filter a guess.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from localspec.decoding.drafters.ngram_levels import NGRAM_PRIORS

_EDGES = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999)
_MIDDLES = (0.15, 0.28, 0.43, 0.58, 0.73, 0.86, 0.93, 0.97, 0.99, 0.997, 1.0)

BINS = len(_EDGES) + 1
"""Classes of the greatest probability in q."""

MODEL_PRIORS = (
    *(0.27, 0.34, 0.54, 0.65, 0.80, 0.89, 0.95, 0.98, 0.99, 0.997, 0.999),
    *(0.30, 0.38, 0.45, 0.50, 0.50, 0.50, 0.45, 0.40, 0.40, 0.40, 0.40),
)
"""Acceptance of q's likeliest token by bin, then of any other token: as Qwen2.5-Coder 0.5B drafts for 1.5B."""

_PRIOR_GUESSES = 6.0
"""Guesses a prior counts for."""

_KEEPS_LEVEL = 1 - 1 / 300
"""What a level remembers from one of its guesses to the next."""

_WANDERS = 1 / 8
"""So much the ease of a text changes from one guess to the next, in what texts differ by."""

_FORGETS_UNJUDGED = 0.05
"""What of it each round without a verdict takes back, so that an easy passage is tried after a hard one."""

_FORGETS_ANSWER = 0.7
"""What of it the beginning of another answer takes back."""

MOST_CERTAIN, _LEAST_CERTAIN = 0.999, 0.002
"""No guess is expected to be kept more surely, or less."""


def model_level(greatest: float, *, likeliest: bool) -> int:
    """The level of a token drawn from a q of this greatest probability."""
    return model_bin(greatest) + (0 if likeliest else BINS)


_SIBLING_EDGES = (0.15, 0.25, 0.35, 0.5, 0.65, 0.8)
_SIBLING_BINS = len(_SIBLING_EDGES) + 1

SIBLING_PRIORS = (
    *(0.10, 0.22, 0.29, 0.38, 0.49, 0.60, 0.78),
    *(0.15, 0.17, 0.28, 0.35, 0.40, 0.40, 0.60),
    *(0.13, 0.15, 0.16, 0.22, 0.22, 0.22, 0.40),
)
"""Acceptance of a second, of a third and of any further guess for the same place, those before it being refused, by the
greatest probability in what was left of q. Between what was measured at temperature 0 and at 0.8, on the answers of
Qwen2.5-Coder 1.5B Q8_0 to 32 prompts that 0.5B Q4_0 drafted for; at 0 they are as likely as the draft says."""


def sibling_level(greatest: float, rank: int) -> int:
    """The level of a guess of the draft model that is tried when others for its place are refused.

    Args:
        greatest: the greatest probability in what it is drawn from.
        rank: how many others; 1 or more.
    """
    return _SIBLING_BINS * (min(rank, 3) - 1) + bisect_right(_SIBLING_EDGES, greatest)


LOOKUP_SIBLING_PRIORS = tuple(0.6 * prior for prior in NGRAM_PRIORS)
"""Acceptance of a lookup's token where the draft model guessed another, which is refused; by the lookup's own level."""


def source_beside(source: str) -> str:
    """Where the calibration of a source's guesses is found that are not the first for their place."""
    return f"{source} beside"


LOOKUP_PRIORS = (*NGRAM_PRIORS, *NGRAM_PRIORS)
"""Acceptance of a lookup's first token by the lookup's own level, then of those behind a kept one."""


def lookup_level(level: int, place: int) -> int:
    """The level of the token at `place` (0 is the first) of what a lookup found, of which it is sure to this level."""
    return level if place == 0 else level + len(NGRAM_PRIORS)


def model_bin(greatest: float) -> int:
    """The bin of q, 0 to BINS - 1."""
    return bisect_right(_EDGES, greatest)


def chance_of_likeliest(found: int) -> float:
    """How likely a draw from a q of this bin is q's likeliest token."""
    return _MIDDLES[found]


class Manner(NamedTuple):
    """How the guesses of a source behave.

    Attributes:
        varies: standard deviation of the log odds by which texts differ.
        caution: standard deviations of what is not known of a guess that are not counted on.
    """

    varies: float
    caution: float


OF_MODELS = Manner(0.4, 0.0)
OF_LOOKUPS = Manner(0.7, 0.3)
"""Lookups guess where the text looks as it did before, and so it often looks better than it is. Replayed on traces of
32 prompts without a draft model, this caution took the slowest from 0.92 to 0.95 of the speed of no guesses, and all of
them from 1.038 to 1.047 times that speed (temperature 0.8; 1.074 before and after at 0). A draft model's guesses gain
nothing by it: it knows how sure it is."""

_LEAST_SPREAD = 0.02
"""p (1 - p) of a level that was seen to be kept always, or never: that says less than it seems."""


class Calibration:
    """The acceptance of one source's guesses by level.

    Args:
        priors: expected acceptance of each level before anything is known.
        manner: of the source.
    """

    def __init__(self, priors: Sequence[float], manner: Manner = OF_MODELS) -> None:
        self._varies, self._caution = manner
        self._kept = [prior * _PRIOR_GUESSES for prior in priors]
        self._judged = [_PRIOR_GUESSES] * len(priors)
        self._ease = 0.0
        self._doubt = self._varies**2

    @property
    def levels(self) -> int:
        """How many there are."""
        return len(self._judged)

    @property
    def ease(self) -> float:
        """How much greater than usual the odds are that a guess is kept in this passage; usually 1."""
        return math.exp(self._ease)

    def expected(self, level: int) -> float:
        """The chance that a guess of this level is kept, those before it being kept."""
        return min(MOST_CERTAIN, _chance(_log_odds(self._usual(level)) + self._ease))

    def acceptance(self, level: int) -> float:
        """What may be counted on of it: a little less, the less is known of this level and of this passage."""
        usual = self._usual(level)
        doubt = self._doubt + 1 / (self._judged[level] * max(_LEAST_SPREAD, usual * (1 - usual)))
        return min(MOST_CERTAIN, _chance(_log_odds(usual) + self._ease - self._caution * math.sqrt(doubt)))

    def _usual(self, level: int) -> float:
        return self._kept[level] / self._judged[level]

    def observe(self, level: int, *, kept: bool) -> None:
        """Learn from a guess the target decided on."""
        expected = self.expected(level)
        doubt = self._doubt + (_WANDERS * self._varies) ** 2
        doubt /= 1 + doubt * expected * (1 - expected)
        self._ease = (self._ease + doubt * (kept - expected)) * (1 - _WANDERS**2 / 2)
        self._doubt = min(self._varies**2, doubt)
        self._kept[level] = self._kept[level] * _KEEPS_LEVEL + kept
        self._judged[level] = self._judged[level] * _KEEPS_LEVEL + 1

    def begin_answer(self) -> None:
        """Another text begins: most of what the last one showed of its ease is forgotten."""
        self._forget(_FORGETS_ANSWER)

    def unjudged(self) -> None:
        """A round went by without a verdict on any guess: the text may have become another since the last."""
        self._forget(_FORGETS_UNJUDGED)

    def _forget(self, part: float) -> None:
        self._ease *= 1 - part
        self._doubt += part * (self._varies**2 - self._doubt)

    def state(self) -> dict[str, list[float]]:
        """What was learned, as plain data."""
        return {"kept": list(self._kept), "judged": list(self._judged)}

    def restore(self, state: Any) -> None:
        """Take over what `state` gave.

        Raises:
            ValueError: it is damaged, or of other levels.
            TypeError: it is something else.
            KeyError: likewise.
        """
        kept, judged = ([float(each) for each in state[key]] for key in ("kept", "judged"))
        if not len(kept) == len(judged) == self.levels:
            raise ValueError(f"{self.levels} levels were expected, not {len(kept)} and {len(judged)}")
        if not all(0 <= part <= whole < math.inf and whole > 0 for part, whole in zip(kept, judged, strict=True)):
            raise ValueError("more guesses were kept than judged")
        self._kept, self._judged = kept, judged


def _log_odds(chance: float) -> float:
    chance = min(MOST_CERTAIN, max(_LEAST_CERTAIN, chance))
    return math.log(chance / (1 - chance))


def _chance(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))
