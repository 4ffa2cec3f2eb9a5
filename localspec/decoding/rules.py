"""The acceptance rules by name, and which settings go with each; no numpy, so that settings and help can ask."""

from __future__ import annotations

from typing import NamedTuple

from localspec.decoding.drafter_names import BRANCHING

ACCEPTANCE_RULES = ("auto", "greedy", "rejection", "block", "coupled", "typical")
"""The names `acceptance.rule_for` knows."""

LOSSY_RULES = frozenset({"typical"})
"""Those that do not keep the target's distribution."""

NOT_THE_TARGETS = "NOT the target's distribution"
"""What is said of them wherever one is chosen or shown."""


class Contradiction(NamedTuple):
    """Settings that are possible alone, and not together.

    Attributes:
        title: what is wrong.
        why: one sentence.
        hint: what to do.
    """

    title: str
    why: str
    hint: str


def labelled(rule: str) -> str:
    """The name of a rule, with what must be said of it."""
    return f"{rule}: {NOT_THE_TARGETS}" if rule in LOSSY_RULES else rule


def lossy_words(rule: str) -> str:
    """What is said of a text that was accepted by a rule that does not keep the target's distribution."""
    return f"{rule} acceptance: {NOT_THE_TARGETS}"


def automatic_rule(drafter: str, temperature: float) -> str:
    """The rule that "auto" stands for.

    At temperature 0 every rule comes to greedy. Above it block is exact as rejection is, and on average never keeps
    fewer guesses; but it judges the guesses of a chain, where each has one place of its own.
    """
    if temperature == 0:
        return "greedy"
    return "rejection" if drafter in BRANCHING else "block"


def contradiction(acceptance: str, drafter: str, temperature: float) -> Contradiction | None:
    """Why a rule cannot judge these guesses; None when it can."""
    if acceptance == "greedy" and temperature > 0:
        return Contradiction(
            "Greedy acceptance needs temperature 0",
            f"The temperature is {temperature}: the likeliest token is not what the target would draw.",
            "Set the temperature to 0, or take the block, the rejection or the coupled rule.",
        )
    # At temperature 0 the rule that is named does not matter: all are greedy.
    if acceptance == "block" and temperature > 0 and drafter == "tree":
        return Contradiction(
            "Block acceptance cannot judge trees",
            "It judges a draft as one row of tokens, and a tree holds several guesses for the same place.",
            "Take the rejection or the coupled rule, leave the rule to auto, or guess with hybrid.",
        )
    return None
