"""What the answers of a pair have shown: how often which guesses are kept, and how sure the next one will be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.decoding.calibration import (
    BINS,
    LOOKUP_PRIORS,
    LOOKUP_SIBLING_PRIORS,
    MODEL_PRIORS,
    OF_LOOKUPS,
    SIBLING_PRIORS,
    Calibration,
    source_beside,
)
from localspec.decoding.drafters.lookahead_levels import LOOKAHEAD_PRIORS
from localspec.decoding.pace import Pace

_PRIOR_MOVES = 8.0
"""Moves from one bin to the next that the prior counts for, in each row."""

_MOST_MOVES = 400.0
"""Moves a row remembers."""

_ALWAYS_KNOWN = frozenset({"model", "ngram"})
"""Sources without which a state is damaged."""

_REMEMBERED_TOKENS = 200.0
"""The pace to measure against is that of so many last tokens. A shorter memory follows the passages of an answer, but
its noise costs more than that gains: 1.27 instead of 1.32 times off, replayed on traces of 32 prompts."""

_FIRST_TOKENS = 60.0
"""So many tokens count as written at the speed of no speculation, before anything is known of the pair."""

_NEARLY = 0.999
"""A speed that is 1 but for what floats round off."""

_USUAL = np.array([0.02, 0.05, 0.07, 0.09, 0.10, 0.08, 0.07, 0.08, 0.09, 0.06, 0.29])
"""How often a draft model is how sure."""

_STAYS = 0.25
"""How often it stays as sure as it was, before anything is known."""


class Knowledge:
    """What is known of a pair at temperature 0, or above it.

    Attributes:
        calibrations: by source: "model", "ngram" and "lookahead", and those of `source_beside`.
        judged: guesses the target decided on, of all that is known.
        saved: tokens' time that may be spent on finding out whether guesses would pay by now; not kept.
        pace: that answers reached.
    """

    def __init__(self) -> None:
        self._below: Knowledge | None = None
        self.calibrations = _fresh_calibrations()
        self.judged = 0
        self.saved = 0.0
        self.pace = Pace(_REMEMBERED_TOKENS, _FIRST_TOKENS, 1.0)
        prior = np.tile((1 - _STAYS) * _USUAL, (BINS + 1, 1))
        prior[:BINS] += _STAYS * np.eye(BINS)
        self._moves: NDArray[np.float64] = _PRIOR_MOVES * prior / prior.sum(axis=1, keepdims=True)

    @property
    def below(self) -> Knowledge:
        """What is known of the draft model and of what drafts for it; kept with the rest once it was asked for."""
        if self._below is None:
            self._below = Knowledge()
        return self._below

    @property
    def moves(self) -> NDArray[np.float64]:
        """Chances of the next bin by the last, as `StoppingTable` takes them."""
        return np.asarray(self._moves / self._moves.sum(axis=1, keepdims=True))

    @property
    def usual_bins(self) -> list[float]:
        """How often the model was how sure, of all guesses that stood where the text had come to."""
        total = self._moves.sum(axis=0)
        return list((total / total.sum()).tolist())

    def moved(self, last: int, found: int) -> None:
        """Learn from a guess of bin `found` after one of bin `last` (-1: the model had not guessed yet)."""
        row = self._moves[last]
        row[found] += 1
        if (total := row.sum()) > _MOST_MOVES:
            row *= _MOST_MOVES / total

    def state(self) -> dict[str, Any]:
        """All of it, as plain data."""
        return {
            "calibrations": {source: each.state() for source, each in self.calibrations.items()},
            "judged": self.judged,
            "speed": self.pace.speed,
            "written": self.pace.tokens,
            "moves": self._moves.tolist(),
            "below": self._below.state() if self._below else None,
        }

    def restore(self, state: Any) -> None:
        """Take over what `state` gave.

        Raises:
            ValueError: it is damaged, or of another make.
            TypeError: it is something else.
            KeyError: likewise.
        """
        moves = np.asarray(state["moves"], np.float64)
        speed, judged = float(state["speed"]), int(state["judged"])
        written = float(state.get("written", _FIRST_TOKENS))
        if _NEARLY < speed < 1:
            speed = 1.0
        if moves.shape != self._moves.shape or not (
            np.isfinite(moves).all()
            and (moves > 0).all()
            and 1 <= speed < math.inf
            and 0 < written <= _REMEMBERED_TOKENS
            and judged >= 0
        ):
            raise ValueError("what was learned about the pair is damaged")
        calibrations = _fresh_calibrations()
        for source, calibration in calibrations.items():
            # What was written before there was such a source says nothing of it.
            if source in state["calibrations"] or source in _ALWAYS_KNOWN:
                calibration.restore(state["calibrations"][source])
        below = None
        if known := state.get("below"):
            below = Knowledge()
            below.restore(known)
        self.calibrations, self._moves, self.judged = calibrations, moves, judged
        self.pace = Pace(_REMEMBERED_TOKENS, written, speed)
        self._below = below
        self.saved = 0.0


def _fresh_calibrations() -> dict[str, Calibration]:
    return {
        "model": Calibration(MODEL_PRIORS),
        "ngram": Calibration(LOOKUP_PRIORS, OF_LOOKUPS),
        source_beside("model"): Calibration(SIBLING_PRIORS),
        source_beside("ngram"): Calibration(LOOKUP_SIBLING_PRIORS, OF_LOOKUPS),
        "lookahead": Calibration(LOOKAHEAD_PRIORS, OF_LOOKUPS),
    }
