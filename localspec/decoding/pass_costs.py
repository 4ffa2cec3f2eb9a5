"""What passes cost here: measured once, then followed while answers are written."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.rounds import DraftPass, Round

WIDEST = LONGEST_DRAFT + 1
"""Tokens of the widest verification."""

NOTICEABLE = 0.03
"""A change that is told: less is within the noise of a pass, and would have rules computed anew all the time."""

_REMEMBERED = 25
"""Passes whose median is the common factor: a change that lasts is followed after half of them, twelve strays in a row
do nothing."""
_MIDDLE = _REMEMBERED // 2
_RATE = 0.05
"""What of a width's own deviation one pass corrects."""
_LARGEST_DEVIATION = 0.15
"""What one pass can show of it, as a logarithm: a pause of a second, taken for a slow width, moves that by 0.75 %."""
_FADING = 0.0025
"""What of the correction one pass takes back: what all widths have in common belongs to the factor in the end."""


class PassCosts:
    """Seconds of passes by their width.

    Measured at some widths, in between piecewise linear, and tracked while in use. The figures change only when
    `version` grows: so whatever was computed from them holds as long as the version does.

    Args:
        target: seconds of verification passes by width, all rows put out; not empty.
        draft: seconds of the draft model's passes by width, one row put out; empty where there is no draft model.
        below: what `below` is to be, where a third model drafts for the draft model.

    Raises:
        ValueError: no width of the target was measured, or a figure is no time.
    """

    def __init__(self, target: Mapping[int, float], draft: Mapping[int, float], below: PassCosts | None = None) -> None:
        if not target:
            raise ValueError("no pass of the target was measured")
        for width, seconds in (*target.items(), *draft.items()):
            if width < 1 or not 0 < seconds < math.inf:
                raise ValueError(f"a pass of {width} tokens cannot take {seconds} seconds")
        self._target = _Tracked(target)
        self._draft = _Tracked(draft) if draft else None
        self._below = below
        self._version = 0

    def target(self, width: int) -> float:
        """Seconds of a verification pass over `width` tokens, 1 to LONGEST_DRAFT + 1."""
        return self._target.curve[width - 1]

    def draft(self, width: int) -> float:
        """Seconds of a pass of the draft model that reads `width` tokens and puts out one row.

        Any width from 1 on; beyond the widest that was measured it goes on in a straight line. Infinite where there is
        no draft model.
        """
        if self._draft is None:
            return math.inf
        return self._draft.curve[width - 1] if width <= WIDEST else self._draft.beyond(width)

    def branching(self, width: int) -> float:
        """Seconds of a pass of the draft model that reads `width` tokens and puts out a row for several of them.

        Infinite where there is no draft model.
        """
        if self.below is None:
            return math.inf
        return self.below.target(width) if width <= WIDEST else self.draft(width)

    @property
    def target_curve(self) -> tuple[float, ...]:
        """T(1) to T(LONGEST_DRAFT + 1)."""
        return self._target.curve

    @property
    def below(self) -> PassCosts | None:
        """The draft model's passes as those of a target that is drafted for; None where there is no draft model.

        As long as it has not verified drafts, they are taken to cost what other passes of their width do.
        """
        if self._below is None and self._draft is not None:
            self._below = PassCosts(dict(enumerate(self._draft.curve, 1)), {})
        return self._below

    @property
    def version(self) -> int:
        """Grows when a figure has moved by more than 3 % since it last grew."""
        return self._version

    def round(self, finished: Round) -> float:
        """Seconds that the passes of such a round take; those of models below the draft model as they were."""
        return self.target(finished.width) + sum(map(self._drafting, finished.passes))

    def _drafting(self, each: DraftPass) -> float:
        if each.depth:
            return each.seconds
        return self.draft(each.width) if each.rows == 1 else self.branching(each.width)

    def observe(self, finished: Round) -> None:
        """Learn from the times of a finished round."""
        if finished.width <= WIDEST:
            self._target.add(finished.width, finished.target_seconds)
        moved = self._target.settle()
        if self._draft is not None and finished.passes:
            own = [each for each in finished.passes if not each.depth]
            self._draft.add_all([each for each in own if each.rows == 1])
            moved |= self._draft.settle()
            if self.below is not None and (branching := [each for each in own if each.rows > 1 and not each.verified]):
                moved |= self.below.observe_passes(branching)
        if moved:
            self._version += 1

    def observe_passes(self, passes: Sequence[DraftPass]) -> bool:
        """Learn from passes of the target that were no round's; whether a figure changed noticeably."""
        for each in passes:
            if each.width <= WIDEST:
                self._target.add(each.width, each.seconds)
        moved = self._target.settle()
        self._version += moved
        return moved


class _Tracked:
    """The curve of one model: as measured, times a common factor, times a correction for each width; in logarithms.

    The factor follows what slows or speeds all passes alike: a growing text, heat, the battery. It is the median of the
    last passes, each compared with what was measured of its width: strays do not move it, whatever their size. What
    a single width deviates from that is corrected little by little. Each pass is judged by the median of as many passes
    before it as after it, so that a change of everything is never taken for one of the widths just in use.

    Attributes:
        curve: T(1) to T(WIDEST).
    """

    def __init__(self, measured: Mapping[int, float]) -> None:
        self._points = sorted(measured.items())
        self._measured = np.log([_between(self._points, width) for width in range(1, WIDEST + 1)])
        self._expected: list[float] = self._measured.tolist()
        self._corrections = [0.0] * WIDEST
        # At first what was measured counts as if passes had just shown it.
        self._factors = deque([0.0] * _REMEMBERED, _REMEMBERED)
        self._seen = deque([(0, 0.0)] * (_MIDDLE + 1), _MIDDLE + 1)
        self._moved_up = self._moved_down = 0.0
        self._tell(0.0)

    def beyond(self, width: int) -> float:
        """Seconds of a pass wider than the curve."""
        return _between(self._points, width) * math.exp(self._told_factor)

    def add(self, width: int, seconds: float) -> None:
        """Take note of a pass."""
        if not 0 < seconds < math.inf:
            return
        place = width - 1
        off = math.log(seconds) - self._expected[place]
        self._factors.append(off - self._corrections[place])
        self._seen.append((place, off))
        self._correct(*self._seen[0])

    def add_all(self, passes: Sequence[DraftPass]) -> None:
        """Take note of the passes of a round: of those of one token, which are many, of their median."""
        steps = sorted(each.seconds for each in passes if each.width == 1)
        if steps:
            self.add(1, steps[len(steps) // 2])
        for each in passes:
            # Wider than any guess needs: it caught up with a text, and says little of the others.
            if 1 < each.width <= WIDEST:
                self.add(each.width, each.seconds)

    def _correct(self, place: int, off: float) -> None:
        own = self._corrections[place]
        deviation = max(-_LARGEST_DEVIATION, min(_LARGEST_DEVIATION, off - own - self._factor))
        own += _RATE * deviation - _FADING * own
        self._corrections[place] = own
        moved = own - self._told_corrections[place]
        self._moved_down, self._moved_up = min(self._moved_down, moved), max(self._moved_up, moved)

    def settle(self) -> bool:
        """Draw conclusions; True when `curve` changed."""
        self._factor = sorted(self._factors)[_MIDDLE]
        moved = self._factor - self._told_factor
        if max(moved + self._moved_up, -moved - self._moved_down) <= NOTICEABLE:
            return False
        self._tell(self._factor)
        return True

    def _tell(self, factor: float) -> None:
        """Make public what is known now."""
        self._factor = self._told_factor = factor
        self._told_corrections = list(self._corrections)
        self._moved_up = self._moved_down = 0.0
        self.curve: tuple[float, ...] = tuple(np.exp(self._measured + np.asarray(self._corrections) + factor).tolist())


def _between(points: list[tuple[int, float]], width: int) -> float:
    """Piecewise linear through `points`, which are in order of width.

    Before the first of them it is the first. Behind the last it goes on as it went before: as steeply as the last piece
    or as the whole, whichever is steeper, never down; with a single point each further token costs as much as those.
    """
    for (left, low), (right, high) in pairwise(points):
        if width <= right:
            return low + (high - low) * max(0, width - left) / (right - left)
    last, seconds = points[-1]
    if width <= last:
        return seconds
    if len(points) == 1:
        return seconds * width / last
    (first, least), (before, earlier) = points[0], points[-2]
    slope = max((seconds - earlier) / (last - before), (seconds - least) / (last - first), 0.0)
    return seconds + slope * (width - last)
