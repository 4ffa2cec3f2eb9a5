"""The settings that a benchmark compares: each an arm, written as words joined by `+`.

    off         speculation off
    on          as the settings have it
    3           3 tokens a draft (0 to 31)
    auto        as many as pay, decided token by token
    coupled     an acceptance rule: greedy, rejection, block, coupled, typical
    model       a drafter: model, ngram, hybrid, tree, lookahead, cascade, pruned
    choose      the drafter that promises most, chosen for each answer (drafter "auto" of the settings)
    t0.8        a temperature
    pair=NAME   another pair of models

`4+coupled+t0.8` is one arm with three settings of its own; what an arm does not name is as the settings have it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from localspec.chat.events import SpeculationSettings
from localspec.decoding import drafter_names
from localspec.decoding.draft_length import AUTO, LONGEST_DRAFT, WantedLength
from localspec.decoding.drafter_names import CHOSEN
from localspec.decoding.rules import ACCEPTANCE_RULES
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.errors import UsageError

CHOOSE = "choose"
"""The drafter "auto" as an arm calls it: there `auto` is the draft length, as it was before a drafter could be so."""

DRAFTERS = tuple(drafter for drafter in drafter_names.DRAFTERS if drafter not in {CHOSEN, "none"})
"""Drafters an arm can name beside CHOOSE."""

RULES = tuple(rule for rule in ACCEPTANCE_RULES if rule != "auto")
"""Acceptance rules an arm can name."""

_THERE_ARE = (
    f"There are: off, on, a draft length from 0 to {LONGEST_DRAFT} or auto, "
    f"{', '.join((*DRAFTERS, CHOOSE, *RULES))}, a temperature such as t0.8, pair=NAME, and several of them joined by +."
)
_WORDS = {
    AUTO: ("draft_length", AUTO),
    CHOOSE: ("drafter", CHOSEN),
    **{drafter: ("drafter", drafter) for drafter in DRAFTERS},
    **{rule: ("acceptance", rule) for rule in RULES},
}
_TEMPERATURE = re.compile(r"t(\d+(?:\.\d+)?|\.\d+)")


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison; None leaves a setting as it is.

    Attributes:
        name: as the person wrote it.
        speculates: whether guesses are made.
        draft_length: tokens a draft.
        drafter: where guesses come from.
        acceptance: the rule that keeps or drops them.
        temperature: of the sampling.
        pair: name of another pair of models.
    """

    name: str
    speculates: bool = True
    draft_length: WantedLength | None = None
    drafter: str | None = None
    acceptance: str | None = None
    temperature: float | None = None
    pair: str | None = None

    def sampling(self, settings: SamplingSettings) -> SamplingSettings:
        """`settings` with what this arm changes."""
        return settings if self.temperature is None else replace(settings, temperature=self.temperature)

    def speculation(self, settings: SpeculationSettings) -> SpeculationSettings:
        """`settings` with what this arm changes."""
        return SpeculationSettings(
            enabled=self.speculates,
            drafter=self.drafter or settings.drafter,
            draft_length=settings.draft_length if self.draft_length is None else self.draft_length,
            acceptance=self.acceptance or settings.acceptance,
        )


def parse_arms(text: str) -> tuple[Arm, ...]:
    """The arms in a list with commas.

    Raises:
        UsageError: one that does not exist, contradicts itself, or comes twice.
    """
    arms = tuple(_arm(part.strip()) for part in text.split(","))
    refuse_twins("The arm", [arm.name for arm in arms])
    return arms


def refuse_twins(whose: str, names: Sequence[str]) -> None:
    """Raise UsageError if one of the names comes twice; `whose` begins the sentence."""
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{whose} {name} is named twice", "", "Use --runs to repeat every arm.")


def baseline_of(arm: Arm, arms: Iterable[Arm]) -> Arm | None:
    """What the speed of `arm` is compared with: off, with the same pair, and as alike as there is; else the first arm.

    Returns:
        None for an arm that others are compared with.
    """
    of_pair = [other for other in arms if other.pair == arm.pair]
    off = [other for other in of_pair if not other.speculates]
    if not off:
        return None if arm == of_pair[0] else of_pair[0]
    if not arm.speculates:
        return None

    def likeness(other: Arm) -> tuple[bool, bool]:
        return other.temperature == arm.temperature, other.acceptance == arm.acceptance

    return max(off, key=likeness)


def _arm(text: str) -> Arm:
    words = [word.strip() for word in text.split("+")]
    arm = Arm("+".join(words))
    named: set[str] = set()
    for word in words:
        field, value = _setting(word, text)
        if field in named:
            raise UsageError(f"The arm {text} names its {field.replace('_', ' ')} twice", "", "Make it two arms.")
        named.add(field)
        arm = replace(arm, **{field: value})
    if not arm.speculates and (arm.draft_length or arm.drafter):
        raise UsageError(f"The arm {text} contradicts itself", "With speculation off nothing is drafted.")
    return arm


def _setting(word: str, arm: str) -> tuple[str, Any]:
    """The field of `Arm` that a word sets, and to what."""
    if word in {"off", "on"}:
        return "speculates", word == "on"
    if word.isascii() and word.isdigit() and int(word) <= LONGEST_DRAFT:
        return "draft_length", int(word)
    if word in _WORDS:
        return _WORDS[word]
    if (found := _TEMPERATURE.fullmatch(word)) and math.isfinite(float(found[1])):
        return "temperature", float(found[1])
    if word.startswith("pair=") and word != "pair=":
        return "pair", word.removeprefix("pair=")
    within = f" in {arm}" if word != arm else ""
    raise UsageError(f"There is no arm {word!r}{within}", _THERE_ARE, "Write --arms off,3,4+coupled for example.")
