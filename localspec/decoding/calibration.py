"""How often guesses are kept, learned while they are: by how sure their source was, and how well it did lately.

A source sorts its guesses into levels. The draft model's follow from the greatest probability in q (`model_level`); a
lookup brings its own. Each level starts with a prior and forgets slowly; a factor common to all of them forgets fast,
so that a passage that is hard to guess, or a draft that is useless, shows after a few rounds.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

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

_KEEPS_RECENT = 1 - 1 / 40
_RECENT_PRIOR = 4.0
"""The common factor remembers some 40 guesses, and starts as if 4 had come as predicted."""

_FORGETS_UNJUDGED = 0.05
"""What of it each round without a verdict takes back, so that an easy passage is tried after a hard one. Without that
passages of 300 tokens, in turn easy and hard, were written at 0.8 of the speed of the best fixed length; with it, 1.1.
"""

_SLACK = 0.85
"""Only when the common factor is below this does it count: what is above may be chance."""

MOST_CERTAIN = 0.999
"""No guess is expected to be kept more surely."""


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


class Calibration:
    """The acceptance of one source's guesses by level.

    Args:
        priors: expected acceptance of each level before anything is known.
    """

    def __init__(self, priors: Sequence[float]) -> None:
        self._kept = [prior * _PRIOR_GUESSES for prior in priors]
        self._judged = [_PRIOR_GUESSES] * len(priors)
        self._recent_kept = self._recent_expected = _RECENT_PRIOR

    @property
    def levels(self) -> int:
        """How many there are."""
        return len(self._judged)

    @property
    def recent(self) -> float:
        """How many guesses were kept lately, over how many were expected to be."""
        return self._recent_kept / self._recent_expected

    def acceptance(self, level: int) -> float:
        """The chance that a guess of this level is kept, those before it being kept."""
        return min(MOST_CERTAIN, self._kept[level] / self._judged[level] * min(1.0, self.recent / _SLACK))

    def observe(self, level: int, *, kept: bool) -> None:
        """Learn from a guess the target decided on."""
        self._recent_expected = self._recent_expected * _KEEPS_RECENT + self._kept[level] / self._judged[level]
        self._recent_kept = self._recent_kept * _KEEPS_RECENT + kept
        self._kept[level] = self._kept[level] * _KEEPS_LEVEL + kept
        self._judged[level] = self._judged[level] * _KEEPS_LEVEL + 1

    def begin_answer(self) -> None:
        """Another text begins: half of what the last one showed of the common factor is forgotten."""
        self._forget_recent(0.5)

    def unjudged(self) -> None:
        """A round went by without a verdict on any guess: the text may have become another since the last."""
        self._forget_recent(_FORGETS_UNJUDGED)

    def _forget_recent(self, part: float) -> None:
        self._recent_kept += part * (_RECENT_PRIOR - self._recent_kept)
        self._recent_expected += part * (_RECENT_PRIOR - self._recent_expected)

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
