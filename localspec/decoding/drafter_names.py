"""The sources of guesses by name, and what is true of each; plain words, for who has no time to import numpy."""

from __future__ import annotations

from typing import Final

CHOSEN: Final = "auto"
"""In place of a drafter's name: the one that promises most is chosen for each answer (see `source_choice`)."""

DRAFTERS = (CHOSEN, "model", "ngram", "hybrid", "tree", "lookahead", "cascade", "pruned", "none")
"""All that a person can choose."""

NEEDS_MODEL = frozenset({"model", "hybrid", "tree", "cascade", "pruned"})
"""Drafters that are nothing without a draft model."""

BRANCHING = frozenset({"tree", "lookahead"})
"""Drafters whose drafts may be trees, or bring tokens along that are no guesses: the target must be able to branch."""

MODEL_ALONE = frozenset({"model", "pruned", "cascade"})
"""Drafters all of whose guesses are a draft model's."""

LOOKED_UP = frozenset({"ngram", "lookahead"})
"""Sources of single guesses that look them up; those of the others are a draft model's."""

WORDS = {
    CHOSEN: "the fastest, for each answer",
    "model": "the draft model",
    "ngram": "the text itself",
    "hybrid": "the draft model and the text",
    "tree": "model and text, as a tree",
    "lookahead": "the target's own passes",
    "cascade": "model, and the text for it",
    "pruned": "the target's own layers",
    "none": "nothing is guessed",
}
"""Where the guesses of each come from, in as few words as a form has room for."""

_WITHOUT_MODEL = {"hybrid": "ngram", "tree": "ngram", "cascade": "ngram", "model": "none", "pruned": "none"}


def without_model(drafter: str) -> str:
    """What remains of a drafter where there is no draft model: the lookup it has, if any."""
    return _WITHOUT_MODEL.get(drafter, drafter)
