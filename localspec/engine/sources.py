"""Every way to guess with the models that are loaded, and why another one is not possible with them."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.chat.guessing import Guessing
from localspec.decoding.drafter_names import BRANCHING
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.cascade import CascadeDrafter
from localspec.decoding.drafters.drafting import SourcesDrafter
from localspec.decoding.drafters.hybrid import HybridDrafter
from localspec.decoding.drafters.lookahead import LookaheadDrafter
from localspec.decoding.drafters.model_source import ModelSource
from localspec.decoding.drafters.ngram import NgramDrafter, NgramLookup
from localspec.decoding.drafters.tree import TreeDrafter
from localspec.engine.learning import PairLearning
from localspec.llama.context import Context
from localspec.llama.gguf_start import PRUNED_KEY


def guessing_with(contexts: Sequence[Context], learning: PairLearning) -> Guessing:
    """How a session may guess with these contexts: the target's and, where there is a draft model, the draft's."""
    return Guessing(drafters_of(contexts), learning.rule, learning.speeds, why_refused(contexts))


def drafters_of(contexts: Sequence[Context]) -> list[Drafter]:
    """The sources of guesses; those that use the draft model, or the lookup, share it and what it has read."""
    target, *draft = contexts
    lookup = NgramLookup()
    found: list[Drafter] = [NgramDrafter(lookup)]
    if target.can_branch:
        found.append(LookaheadDrafter())
    for context in draft:
        model = ModelSource(context, target.vocabulary_size)
        found += [SourcesDrafter("model", model, None), HybridDrafter(model, lookup)]
        if _is_pruned(context):
            found.append(SourcesDrafter("pruned", model, None))
        found.append(CascadeDrafter(context, NgramDrafter(lookup), target.vocabulary_size))
        if target.can_branch and context.can_branch:
            found.append(TreeDrafter(context, target.vocabulary_size, lookup))
    return found


def why_refused(contexts: Sequence[Context]) -> dict[str, str]:
    """Of the sources that a person may name and that are not here though a model is: why, by name."""
    reasons: dict[str, str] = {}
    for context in contexts:
        if context.why_no_branches:
            why = f"For {context.model.path.name}, {context.why_no_branches}"
            reasons |= dict.fromkeys(BRANCHING if context is contexts[0] else {"tree"}, why)
    for context in contexts[1:]:
        if not _is_pruned(context):
            name = context.model.path.name
            reasons["pruned"] = f"{name} is not made of the target's own layers: `localspec prune` makes such a draft"
    return reasons


def _is_pruned(context: Context) -> bool:
    return PRUNED_KEY in context.model.metadata
