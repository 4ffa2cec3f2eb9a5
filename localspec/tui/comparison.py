"""Two settings answer the same question in turn, and what their answers say about them. Nothing here draws or waits."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from statistics import median

from localspec.chat.events import AnswerEnd, AnswerRequest, SpeculationSettings
from localspec.decoding.acceptance import rule_for
from localspec.decoding.draft_length import FixedLength
from localspec.decoding.rules import labelled
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.statistics import DecodingStatistics
from localspec.engine.messages import LoadPair
from localspec.tui.difference import Difference, first_difference

COMPARED_TOKENS = 256
"""Longest answer of a comparison: enough to tell, and soon over on a slow machine."""

_DEPENDS_ON_THE_SEED_ALONE = frozenset({"greedy", "coupled"})


@dataclass(frozen=True, slots=True)
class NamedPair:
    """A pair that an arm may answer with.

    Attributes:
        name: what the person calls it.
        loading: how the engine loads it.
    """

    name: str
    loading: LoadPair


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison.

    Attributes:
        request: what it asks.
        pair: what answers.
    """

    request: AnswerRequest
    pair: NamedPair

    @property
    def speculates(self) -> bool:
        """Whether its settings ask for guesses."""
        return self.request.speculation.speculates

    @property
    def name(self) -> str:
        """Its settings in a few words."""
        if not self.speculates:
            return "speculation off"
        speculation = self.request.speculation
        guesses = {"auto": "as many guesses as pay", 1: "1 guess"}.get(
            speculation.draft_length, f"{speculation.draft_length} guesses"
        )
        # At temperature 0 all rules are greedy, which is exact.
        exact = self.request.sampling.temperature == 0
        return f"speculation on: {guesses}, {speculation.acceptance if exact else labelled(speculation.acceptance)}"


def comparable(request: AnswerRequest, context_size: int | None = None) -> AnswerRequest:
    """The request as both arms ask it, so that their texts can be compared.

    The seed is fixed, above temperature 0 the rule is coupled (the text then depends on the seed alone), and the answer
    is not longer than COMPARED_TOKENS or half of a context of `context_size` tokens.
    """
    sampling = request.sampling
    if sampling.seed is None:
        sampling = replace(sampling, seed=secrets.randbits(32))
    limits = [COMPARED_TOKENS, request.max_tokens, context_size // 2 if context_size else None]
    return replace(
        request,
        sampling=sampling,
        speculation=replace(request.speculation, acceptance="coupled" if sampling.temperature > 0 else "greedy"),
        max_tokens=min(limit for limit in limits if limit is not None),
    )


def arms_on_and_off(request: AnswerRequest, pair: NamedPair, context_size: int | None = None) -> tuple[Arm, Arm]:
    """Without speculation, and with it: as the request sets it, or as it is by default where it asks for no guesses.

    Args:
        request: the question, with the settings of the chat.
        pair: what is loaded.
        context_size: tokens its context holds, if known.
    """
    request = comparable(request, context_size)
    wanted = request.speculation
    default = SpeculationSettings()
    on = replace(
        wanted,
        enabled=True,
        drafter=default.drafter if wanted.drafter == "none" else wanted.drafter,
        draft_length=wanted.draft_length or default.draft_length,
    )
    off = replace(on, enabled=False)
    return Arm(replace(request, speculation=off), pair), Arm(replace(request, speculation=on), pair)


def why_impossible(speculation: SpeculationSettings, sampling: SamplingSettings) -> str:
    """What no arm can have about these settings, in words; "" when it can have them."""
    try:
        if isinstance(speculation.draft_length, int):
            FixedLength(speculation.draft_length)
        rule_for(speculation.acceptance, sampling, speculation.drafter)
    except ValueError as error:
        words = str(error)
        return f"{words[:1].upper()}{words[1:]}."
    return ""


@dataclass(frozen=True, slots=True)
class Answered:
    """A whole answer of one arm.

    Attributes:
        tokens: the texts of its tokens.
        end: its figures.
    """

    tokens: tuple[str, ...]
    end: AnswerEnd


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """How many times as fast the second arm is.

    Attributes:
        ratio: of the medians of tokens per second.
        low: the least ratio of any one run.
        high: the greatest.
        runs: how many runs there are.
    """

    ratio: float
    low: float
    high: float
    runs: int

    def of_the_first(self) -> SpeedUp:
        """How many times as fast the first arm is."""
        return SpeedUp(1 / self.ratio, 1 / self.high, 1 / self.low, self.runs)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms, and the runs in which both answered to the end.

    Attributes:
        arms: the two sides.
        runs: for each run the answers, in the order of the arms.
    """

    arms: tuple[Arm, Arm]
    runs: tuple[tuple[Answered, Answered], ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """The arms in a few words, with their pairs where they differ."""
        first, second = self.arms
        if first.pair.name == second.pair.name:
            return first.name, second.name
        return f"{first.pair.name}, {first.name}", f"{second.pair.name}, {second.name}"

    @property
    def order(self) -> tuple[int, int]:
        """Which arm begins the next run: A B, B A, A B, ... so that a machine that slows down favours neither."""
        return (0, 1) if len(self.runs) % 2 == 0 else (1, 0)

    def with_run(self, first: Answered, second: Answered) -> Comparison:
        """This comparison with one more run counted."""
        return replace(self, runs=(*self.runs, (first, second)))

    def speeds(self, side: int) -> tuple[float, ...]:
        """Tokens per second of an arm, run by run; a run in which an arm wrote nothing is left out of both."""
        return tuple(speeds[side] for speeds in self._measured())

    def speed(self, side: int) -> float | None:
        """Median of an arm's tokens per second; None before it wrote anything."""
        return _median_of(self.speeds(side))

    def statistics(self, side: int) -> tuple[DecodingStatistics, ...]:
        """Counts and times of an arm, run by run."""
        return tuple(run[side].end.statistics for run in self.runs)

    @property
    def speed_up(self) -> SpeedUp | None:
        """How many times as fast the second arm is; None before both wrote something."""
        ratios = [second / first for first, second in self._measured()]
        medians = self.speed(0), self.speed(1)
        if medians[0] is None or medians[1] is None:
            return None
        return SpeedUp(medians[1] / medians[0], min(ratios), max(ratios), len(ratios))

    @property
    def difference(self) -> Difference | None:
        """Where the texts part in the last run in which they do; None when they never do."""
        for first, second in reversed(self.runs):
            if (found := first_difference(first.tokens, second.tokens)) is not None:
                return found
        return None

    @property
    def same_target(self) -> bool:
        """Whether one target writes both texts."""
        first, second = (arm.pair.loading.target.path for arm in self.arms)
        return first == second

    @property
    def same_text_expected(self) -> bool:
        """Whether nothing but rounding could make the texts differ."""
        rules = {arm.request.speculation.acceptance for arm in self.arms}
        exact = self.arms[0].request.sampling.temperature == 0 or (
            len(rules) == 1 and rules <= _DEPENDS_ON_THE_SEED_ALONE
        )
        return exact and self.same_target

    def _measured(self) -> list[tuple[float, float]]:
        """The speeds of the runs in which both arms wrote something."""
        speeds = [tuple(answered.end.statistics.tokens_per_second for answered in run) for run in self.runs]
        return [(first, second) for first, second in speeds if first and second]


def _median_of(values: tuple[float, ...]) -> float | None:
    return median(values) if values else None
