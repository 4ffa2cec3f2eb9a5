"""What a comparison says, in a sentence made of nothing but measured numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from localspec.chat.events import AnswerEnd
from localspec.chat.why import why_drafted_so
from localspec.decoding.rules import LOSSY_RULES, lossy_words
from localspec.decoding.statistics import DecodingStatistics
from localspec.tui.comparison import Comparison, SpeedUp

FEWEST_TOKENS = 24
"""Shorter answers are over before a round's ups and downs even out."""

_FEW_RUNS_NOISE = 0.1
"""Few runs say little of their noise; machines were seen to drift by this much from one minute to the next."""

_ENOUGH_RUNS = 6
"""Of so many runs all are on one side by chance in 1 of 32 comparisons; of two in every other one."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What the rounds of a speculating arm cost, in passes over one token.

    Attributes:
        width: tokens checked in a pass, on average.
        check: one such pass.
        guess: one guess.
        guesses: guesses in a round, on average.
        other: what a round takes outside both models.
        tau: tokens that a round emitted, on average.
    """

    width: float
    check: float
    guess: float
    guesses: float
    other: float
    tau: float

    @classmethod
    def of(cls, on: Sequence[DecodingStatistics], off: Sequence[DecodingStatistics]) -> Costs:
        """From the runs of an arm that drafted something in some, and of one that drafted nothing.

        Times are medians over the runs, so that one disturbed run does not tell the story.
        """
        one = median(run.target_seconds / run.rounds for run in off)
        rounds = sum(run.rounds for run in on)
        guesses = sum(run.drafted for run in on) / rounds
        return cls(
            width=1 + guesses,
            check=median(run.target_seconds / run.rounds for run in on) / one,
            guess=median(run.draft_seconds / run.drafted for run in on if run.drafted) / one,
            guesses=guesses,
            other=median(run.other_seconds / run.rounds for run in on) / one,
            tau=sum(run.emitted for run in on) / rounds,
        )

    @property
    def words(self) -> str:
        """Checking and guessing, each against one plain pass."""
        checking = f"checking {_width(self.width)} tokens cost {_times(self.check)} times one"
        return f"{checking}, a guess {_times(self.guess)} times"

    @property
    def cause(self) -> str:
        """What slows it down most: that without which the rounds would be the fastest."""
        drafting = self.guess * self.guesses
        whole = self.check + drafting + self.other
        without = {
            "too many guesses were refused": self.width / whole,
            "checking several tokens at once is dear on this machine": self.tau / (whole - self.check + 1),
            "the draft is slow for this target": self.tau / (whole - drafting),
            "too much time goes by between the passes": self.tau / (whole - self.other),
        }
        return max(without, key=lambda cause: without[cause])


def verdict(comparison: Comparison) -> str:
    """Whether the second arm is faster, and why; with speculation on in one arm only, whether that pays.

    No difference is claimed where the runs' range holds 1, or where few runs show a small one.
    """
    speed_up = comparison.speed_up
    if speed_up is None:
        return "Nothing was measured yet." if not comparison.runs else "Nothing was written, so nothing was measured."
    shortest = min(answered.end.statistics.emitted for run in comparison.runs for answered in run)
    if shortest < FEWEST_TOKENS:
        return f"Too short to tell: {_count(shortest, 'token')}. Ask something that takes a longer answer."
    speculates = [arm.speculates for arm in comparison.arms]
    if speculates[0] == speculates[1]:
        return _of_two_settings(comparison, speed_up)
    on = speculates.index(True)
    if not any(run.drafted for run in comparison.statistics(on)):
        return _of_nothing_guessed(comparison.runs[-1][on].end)
    return _of_speculation(comparison, on, speed_up if on == 1 else speed_up.of_the_first())


def is_noise(speed_up: SpeedUp) -> bool:
    """Whether the difference could be chance."""
    if speed_up.runs < _ENOUGH_RUNS and abs(speed_up.ratio - 1) < _FEW_RUNS_NOISE:
        return True
    return speed_up.low <= 1 <= speed_up.high


def speed_up_words(speed_up: SpeedUp) -> str:
    """The ratio and how sure it is."""
    if speed_up.runs == 1:
        return f"{speed_up.ratio:.2f} times as fast (one run: no interval yet)"
    return f"{speed_up.ratio:.2f} times as fast ({speed_up.low:.2f} to {speed_up.high:.2f} over {speed_up.runs} runs)"


def text_words(comparison: Comparison) -> str:
    """Whether both arms wrote the same text; if not, where they part and why that can be."""
    if not comparison.runs:
        return ""
    if comparison.difference is not None:
        return "the texts differ"
    return "same text" if len(comparison.runs) == 1 else f"same text in all {len(comparison.runs)} runs"


def why_texts_differ(comparison: Comparison) -> str:
    """What makes the texts differ, as a sentence; "" when they do not."""
    if comparison.difference is None:
        return ""
    if not comparison.same_target:
        return "Two targets wrote them."
    if not comparison.same_text_expected:
        rules = sorted({arm.request.speculation.acceptance for arm in comparison.arms})
        lossy = "".join(f" {_sentence(lossy_words(rule))}." for rule in rules if rule in LOSSY_RULES)
        return f"With {' and '.join(rules)} acceptance the text depends on the guesses.{lossy}"
    return "A wider pass rounds otherwise: where two tokens nearly tie, the other can win."


def _of_nothing_guessed(end: AnswerEnd) -> str:
    if end.drafter == "none" and end.chosen is None:
        return "Nothing was guessed: there is no draft to guess with, so both sides did the same."
    why = why_drafted_so(end)
    return f"Nothing was guessed, so both sides did the same{f': {why}' if why else ''}."


def _of_speculation(comparison: Comparison, on: int, speed_up: SpeedUp) -> str:
    runs = comparison.statistics(on)
    costs = Costs.of(runs, comparison.statistics(1 - on))
    drafted = _count(sum(run.drafted for run in runs), "guess")
    kept = f"{sum(run.accepted for run in runs):,} of {drafted} were kept"
    if is_noise(speed_up):
        return f"No difference that can be told from noise: {kept}, {costs.words}."
    once = speed_up.runs == 1
    if speed_up.ratio > 1:
        return f"Speculation {'paid in this one run' if once else 'pays here'}: {kept}, and {costs.words}."
    claim = "It did not pay in this one run" if once else "It does not pay here"
    return f"{claim}: {costs.cause}. {_sentence(kept)}, and {costs.words}."


def _of_two_settings(comparison: Comparison, speed_up: SpeedUp) -> str:
    if is_noise(speed_up):
        return "No difference that can be told from noise."
    fast, slow = (1, 0) if speed_up.ratio > 1 else (0, 1)
    ratio = speed_up.ratio if fast == 1 else 1 / speed_up.ratio
    each = [comparison.statistics(side) for side in (fast, slow)]
    tokens = [median(run.emitted / run.rounds for run in runs) for runs in each]
    milliseconds = [median(run.seconds / run.rounds for run in runs) * 1000 for runs in each]
    return (
        f"{_sentence(comparison.names[fast])} {'was' if speed_up.runs == 1 else 'is'} {ratio:.2f} times as fast: "
        f"{tokens[0]:.2f} tokens a round against {tokens[1]:.2f}, "
        f"and a round took {milliseconds[0]:.0f} ms against {milliseconds[1]:.0f}."
    )


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _width(tokens: float) -> str:
    return f"{tokens:.1f}".removesuffix(".0")


def _times(ratio: float) -> str:
    """Two digits that count."""
    return f"{ratio:.2g}" if ratio < 0.95 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("s") else "s"
    return f"{number:,} {what}{'' if number == 1 else plural}"
