"""What each figure of the readout means, in one line and with its denominators: the readout and the help show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from localspec.decoding.drafter_names import WORDS
from localspec.decoding.rules import NOT_THE_TARGETS
from localspec.tui.figures import Figures
from localspec.tui.speeds import NOW_SECONDS, STRETCH_SECONDS


class Figure(StrEnum):
    """What can be asked for its meaning; the value is its name for people."""

    SPEED = "speed"
    SPEED_UP = "speed-up"
    OFF = "speed without speculation"
    HISTORY = "speed over time"
    ACCEPTANCE = "acceptance"
    POSITIONS = "acceptance by position"
    TAU = "tau"
    DRAFT = "draft length"
    SOURCES = "who guesses"
    PREDICTED = "predicted acceptance"
    ROUNDS = "last rounds"
    FIRST_TOKEN = "first token"  # noqa: S105 - a name, not a password
    CONTEXT = "context"
    MEMORY = "memory"
    RULE = "acceptance rule"


EXPLANATIONS: Mapping[Figure, str] = {
    Figure.SPEED: f"Tokens written / seconds of decoding: now is over the last {NOW_SECONDS:.0f} s of it. "
    "Reading the prompt is not in it.",
    Figure.SPEED_UP: "Tokens/s over this answer / tokens/s without speculation here. Below 1, speculation costs time.",
    Figure.OFF: "1 / the seconds of one pass of the target over one token, measured here after loading and kept up "
    "to date by rounds without guesses.",
    Figure.HISTORY: f"Tokens/s, one column for each {STRETCH_SECONDS:g} s of decoding; the highest one fills its cell.",
    Figure.ACCEPTANCE: "Guesses kept / guesses made, in this answer.",
    Figure.POSITIONS: "Guesses kept at a position of a draft / rounds that guessed there. A guess is kept only when "
    "all before it were.",
    Figure.TAU: "Tokens written / passes of the target. Each pass writes the guesses it keeps and one token of the "
    "target's own. Without speculation it is 1.",
    Figure.DRAFT: "Tokens guessed in the last round, and on average over the last 8. Auto decides before each guess "
    "whether it is worth its time here; none is a legal number.",
    Figure.SOURCES: "Guesses kept / made by the draft model, and by the text: what followed when it last stood "
    "as it does now, which costs no pass. Lookahead finds them in the target's own passes.",
    Figure.PREDICTED: "Guesses expected to be kept, of those the target decided on, and those really kept. Auto lives "
    "on this: close together, it knows what its guesses are worth.",
    Figure.ROUNDS: "One group a round, the newest last: guesses kept, then the target's own token: a correction, a "
    "bonus after a draft kept whole, or a plain one. Unused guesses came after a correction.",
    Figure.FIRST_TOKEN: "Seconds from the question to the first token: reading the prompt, and the first round.",
    Figure.CONTEXT: "Tokens of the conversation that the target holds / tokens it can hold.",
    Figure.MEMORY: "Main memory of the engine and this app / of the machine. That of a graphics card is not in it.",
    Figure.RULE: "Which guesses are kept. Greedy, rejection, block and coupled leave the text exactly the target's "
    f"own; typical does not: {NOT_THE_TARGETS}.",
}
"""One line each; the order is that of the readout."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Main memory, in bytes.

    Attributes:
        used: by the engine and the app.
        machine: what the machine has.
    """

    used: int
    machine: int


def numbers_behind(figure: Figure, shown: Figures) -> str:
    """The division behind a figure with the numbers it has now; "" when there are none or the line shows them."""
    numbers = _NUMBERS.get(figure)
    return numbers(shown) if numbers else ""


def _speed(shown: Figures) -> str:
    statistics = shown.statistics
    return f"This answer: {statistics.emitted:,} tokens / {statistics.seconds:.1f} s." if statistics.emitted else ""


def _speed_up(shown: Figures) -> str:
    if shown.speed_up is None or shown.off is None:
        return ""
    if not shown.guessed:
        return "This answer: nothing was guessed, so it was written as with speculation off."
    return f"This answer: {shown.tokens_per_second:.1f} / {shown.off:.1f}."


def _acceptance(shown: Figures) -> str:
    statistics = shown.statistics
    return f"This answer: {statistics.accepted:,} / {statistics.drafted:,}." if statistics.drafted else ""


def _draft(shown: Figures) -> str:
    lengths = enumerate(shown.statistics.rounds_by_length)
    counts = ", ".join(f"{length}: {rounds:,}" for length, rounds in lengths if rounds)
    why = f" {shown.why[:1].upper()}{shown.why[1:]}." if shown.why else ""
    return f"Rounds by tokens guessed: {counts}.{why}" if counts else ""


def _sources(shown: Figures) -> str:
    return f"This answer: guesses from {WORDS[shown.drafter]}." if shown.drafter in WORDS else ""


def _predicted(shown: Figures) -> str:
    statistics = shown.statistics
    if not statistics.judged:
        return ""
    return f"This answer: {statistics.judged_expected:,.1f} and {statistics.judged_kept:,} of {statistics.judged:,}."


def _tau(shown: Figures) -> str:
    statistics = shown.statistics
    return f"This answer: {statistics.emitted:,} / {statistics.rounds:,}." if statistics.rounds else ""


def _rounds(shown: Figures) -> str:
    counts = ", ".join(f"{origin} {count:,}" for origin, count in shown.statistics.origins)
    return f"Tokens by origin: {counts}." if counts else ""


_NUMBERS: Mapping[Figure, Callable[[Figures], str]] = {
    Figure.SPEED: _speed,
    Figure.SPEED_UP: _speed_up,
    Figure.ACCEPTANCE: _acceptance,
    Figure.TAU: _tau,
    Figure.DRAFT: _draft,
    Figure.SOURCES: _sources,
    Figure.PREDICTED: _predicted,
    Figure.ROUNDS: _rounds,
}
