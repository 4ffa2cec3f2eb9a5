"""Measuring what passes of many widths cost, the important ones first, within a time that suits the model."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from localspec.decoding.costs import one_pass, room_behind
from localspec.decoding.language_model import LanguageModel
from localspec.decoding.pass_costs import WIDEST
from localspec.decoding.prefill import prefill

VERIFIED_WIDTHS = (1, 2, 4, 8, 3, 5, 6, 16, 12, 32, 24)
"""Widths of a verification, the important ones first: where a model is slow, the last ones are left out."""

EVERY_WIDTH = (*VERIFIED_WIDTHS, *sorted(set(range(1, WIDEST + 1)) - set(VERIFIED_WIDTHS)))

READ_WIDTHS = (1, 2, 8, 4, 32, 16)
"""Widths of the draft model's passes: mostly one token, a few after a draft accepted whole, more after a lookup's."""

_LEAST_WIDTHS = 3
"""Of each model, timed whatever they cost: fewer are no curve."""
_GROWTH = 64
"""Tokens by which the text may grow while its end is measured over: passes of one width then cost the same."""


@dataclass(frozen=True, slots=True)
class Timed:
    """What to time of a model.

    Attributes:
        model: its cache may hold any text, which stays.
        widths: tokens a pass, the important ones first; those it cannot hold are left out.
        rows: rows of logits a pass puts out; None for one a token.
    """

    model: LanguageModel
    widths: Sequence[int]
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure.

    Attributes:
        sweeps: passes of each width that count; a figure is their median.
        seconds: about how long all passes together may take.
        slow_passes: where so many single passes take longer than `seconds`, that is the time, up to three times it.
        text: tokens before each pass, where the cache can hold so many.
    """

    sweeps: int
    seconds: float
    slow_passes: int
    text: int

    def budget(self, single: float) -> float:
        """Seconds for a model whose first pass took `single`."""
        return min(3 * self.seconds, max(self.seconds, self.slow_passes * single))


QUICK = Effort(sweeps=3, seconds=4.0, slow_passes=20, text=32)
"""Before a first answer."""

THOROUGH = Effort(sweeps=5, seconds=45.0, slow_passes=200, text=512)
"""For a person who asked for it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of it.

    Attributes:
        seconds: of a pass by its width, for each model.
        spread: by what part the slowest pass of a width took longer than its quickest, in the middle of all widths:
            some percent on a machine with nothing else to do; above STEADY the figures tell more of other programs.
    """

    seconds: tuple[dict[int, float], ...]
    spread: float


STEADY = 0.5


def measure(
    timed: Sequence[Timed], effort: Effort, cancelled: Callable[[], bool], report: Callable[[float], None]
) -> Measured | None:
    """Seconds of passes by their width, of each model.

    The passes are made in sweeps over all widths of all models, so that whatever slows the machine for a while is felt
    by all of them. The first sweep goes by importance and ends when its part of the time is over; the next ones repeat
    it. Afterwards the caches hold what they held.

    Args:
        timed: the models; the first is the one whose single pass sets the time.
        effort: how much.
        cancelled: polled between passes.
        report: told the part that is done, 0 to 1.

    Returns:
        None when it was cancelled.
    """
    with ExitStack() as kept:
        tracks = [_Track(each) for each in timed]
        for track in tracks:
            if not track.prepare(effort.text, kept, cancelled):
                return None
        sweeps = _Sweeps(tracks, effort, report)
        for track, width in sweeps:
            if cancelled():
                return None
            sweeps.spend(track.time(width))
    report(1.0)
    found = [track.seconds for track in tracks]
    return Measured(
        tuple({width: statistics.median_low(times) for width, times in seconds.items()} for seconds in found),
        statistics.median(max(times) / min(times) - 1 for seconds in found for times in seconds.values()),
    )


class _Track:
    """One model while it is timed."""

    def __init__(self, timed: Timed) -> None:
        self.timed = timed
        self.widths = [width for width in timed.widths if width <= timed.model.capacity]
        self.seconds: dict[int, list[float]] = {}
        self._tokens: Iterator[int] = iter(())
        self._beginning = 0

    def prepare(self, text: int, kept: ExitStack, cancelled: Callable[[], bool]) -> bool:
        """Make room behind a text of so many tokens; False when it was cancelled."""
        model, widest = self.timed.model, max(self.widths)
        missing = max(0, min(text, model.capacity - widest) - model.length)
        self._tokens = kept.enter_context(room_behind(model, missing + widest))
        wanted = [*model.tokens, *itertools.islice(self._tokens, missing)]
        for _ in prefill(model, wanted, cancelled, chunk=128):
            pass
        self._beginning = model.length
        return model.length == len(wanted)

    def time(self, width: int) -> float:
        model = self.timed.model
        if model.length + width > min(model.capacity, self._beginning + _GROWTH):
            model.truncate(self._beginning)
        seconds = one_pass(model, tuple(itertools.islice(self._tokens, width)), self.timed.rows)
        self.seconds.setdefault(width, []).append(seconds)
        return seconds


class _Sweeps:
    """Which pass comes next."""

    def __init__(self, tracks: Sequence[_Track], effort: Effort, report: Callable[[float], None]) -> None:
        self._effort = effort
        self._report = report
        in_turn = itertools.zip_longest(*([(track, width) for width in track.widths] for track in tracks))
        self._passes = [each for row in in_turn for each in row if each is not None]
        self._budget = effort.seconds
        self._spent = 0.0
        self._done = 0

    def spend(self, seconds: float) -> None:
        """Note what the pass took."""
        if not self._done:
            self._budget = self._effort.budget(seconds)
        self._spent += seconds
        self._done += 1
        self._report(min(1.0, self._done / (len(self._passes) * self._effort.sweeps)))

    def __iter__(self) -> Iterator[tuple[_Track, int]]:
        reached = []
        for track, width in self._passes:
            late = self._spent > self._budget / self._effort.sweeps
            if late and len(track.seconds) >= _LEAST_WIDTHS:
                continue
            reached.append((track, width))
            yield track, width
        self._passes = reached
        for sweep, each in itertools.product(range(1, self._effort.sweeps), reached):
            # Two passes of a width are wanted, to tell a slow one; more only while there is time.
            if self._spent > self._budget * (2 if sweep == 1 else 1):
                return
            yield each
