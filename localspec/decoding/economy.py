"""What passes cost and what guesses are worth, for sources that weigh a whole draft at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localspec.decoding.calibration import Calibration


@dataclass(frozen=True, slots=True)
class Economy:
    """The basis of one round's decisions.

    Attributes:
        pass_seconds: T(1), T(2), ...: seconds of a target pass by width.
        rate: r, tokens a second that are reached anyway: what a second is worth.
        calibration: how often the source's guesses are kept, by their level.
        may_probe: whether so many tokens' time may be lost to find something out; it is spent when so.
    """

    pass_seconds: Sequence[float]
    rate: float
    calibration: Calibration
    may_probe: Callable[[float], bool]
