"""What drafts are made of, source by source: guesses that are drawn or looked up, one for a place or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from localspec.bench.losslessness.places import Place
from localspec.bench.losslessness.planted import PLANTED, judges_together
from localspec.bench.losslessness.planted_trees import TREE_ERRORS
from localspec.decoding.distributions import likeliest
from localspec.decoding.drafter_names import BRANCHING, MODEL_ALONE, NEEDS_MODEL
from localspec.decoding.rules import automatic_rule

MOST_GUESSES = 3
"""For a place: with two refused, what both leave of p counts."""


@dataclass(frozen=True, slots=True)
class Manner:
    """What the drafts of some sources hold.

    Attributes:
        drawn: guesses that a draft model drew.
        looked_up: guesses that are certain.
        branching: several guesses for a place.
    """

    drawn: bool = True
    looked_up: bool = False
    branching: bool = False


def manners_of(drafters: Sequence[str], rule: str) -> dict[str, Manner]:
    """Every rule that judges drafts of these sources, and what those hold.

    Args:
        drafters: names of sources.
        rule: as it is set; for "auto" it depends on the source. A planted error decides for itself what shows it.
    """
    if rule in PLANTED:
        branching = rule in TREE_ERRORS
        return {rule: Manner(drawn=True, looked_up=branching, branching=branching)}
    judged: dict[str, set[str]] = {}
    for drafter in drafters:
        # Draws are made above temperature 0.
        name = automatic_rule(drafter, 1.0) if rule == "auto" else rule
        judged.setdefault(name, set()).add(drafter)
    return {name: _manner(sources, name) for name, sources in judged.items()}


def _manner(drafters: set[str], rule: str) -> Manner:
    """What drafts of any of these sources hold, as far as this rule judges it."""
    return Manner(
        drawn=bool(drafters & NEEDS_MODEL),
        looked_up=bool(drafters - MODEL_ALONE),
        branching=bool(drafters & BRANCHING) and not judges_together(rule),
    )


def guessed(places: Sequence[Place], manner: Manner) -> list[Place]:
    """The places with the guesses that are made there; what a lookup finds is one of the tokens that p likes best."""
    return [replace(place, guesses=_guesses(place, manner, number)) for number, place in enumerate(places)]


def _guesses(place: Place, manner: Manner, number: int) -> tuple[int | None, ...]:
    """One, or 1 to MOST_GUESSES in turn; drawn ones and those that are looked up take turns to be the first."""
    best = likeliest(place.p, MOST_GUESSES)
    turn = number % len(best)
    found: list[int | None] = [*best[turn:], *best[:turn]]
    if manner.drawn and manner.looked_up:
        found = [None, found[0], None] if number % 2 else [found[0], None, None]
    elif manner.drawn:
        found = [None] * MOST_GUESSES
    return tuple(found[: 1 + number % MOST_GUESSES if manner.branching else 1])
