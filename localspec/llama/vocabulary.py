"""Whether a draft's guesses mean to the target what they mean to the draft."""

from __future__ import annotations

from typing import Any

from localspec.llama.bindings import low
from localspec.llama.model import Model

_MOST_SIZE_DIFFERENCE = 128
_FIRST_COMPARED = 5

_KINDS = {0: "none", 1: "SPM", 2: "BPE", 3: "WPM", 4: "UGM", 5: "RWKV", 6: "PLaMo-2", 7: "test"}


def first_vocabulary_difference(target: Model, draft: Model) -> str | None:
    """Compare two vocabularies as llama.cpp does before it speculates (`common_speculative_are_compatible`).

    Sizes may differ by 128 (padding), and the first 5 ids, special in many models, are not compared.

    Returns:
        The first difference in words, or None when the draft fits.
    """
    ours, theirs = target.vocabulary_pointer, draft.vocabulary_pointer
    kinds = [_KINDS.get(number := low.llama_vocab_type(which), str(number)) for which in (ours, theirs)]
    if kinds[0] != kinds[1]:
        return f"the target's tokenizer is of type {kinds[0]}, the draft's of type {kinds[1]}"
    for name, adds, token in (
        ("beginning-of-text", low.llama_vocab_get_add_bos, low.llama_vocab_bos),
        ("end-of-text", low.llama_vocab_get_add_eos, low.llama_vocab_eos),
    ):
        if difference := _added_token_difference(name, (adds(ours), adds(theirs)), (token(ours), token(theirs))):
            return difference
    sizes = target.vocabulary_size, draft.vocabulary_size
    if abs(sizes[0] - sizes[1]) > _MOST_SIZE_DIFFERENCE:
        return (
            f"the target's vocabulary has {sizes[0]} tokens, the draft's {sizes[1]}; "
            f"at most {_MOST_SIZE_DIFFERENCE} apart would do"
        )
    return _text_difference(ours, theirs, min(sizes))


def _added_token_difference(name: str, added: tuple[bool, bool], tokens: tuple[int, int]) -> str | None:
    if added[0] != added[1]:
        adds, leaves = ("target", "draft") if added[0] else ("draft", "target")
        return f"the {adds} adds a {name} token to a text, the {leaves} does not"
    if added[0] and tokens[0] != tokens[1]:
        return f"the {name} token is {tokens[0]} for the target and {tokens[1]} for the draft"
    return None


def _text_difference(ours: Any, theirs: Any, size: int) -> str | None:
    text = low.llama_vocab_get_text
    for token in range(_FIRST_COMPARED, size):
        if text(ours, token) != text(theirs, token):
            target, draft = (text(which, token).decode("utf-8", "replace") for which in (ours, theirs))
            return f"token {token} is {target!r} for the target and {draft!r} for the draft"
    return None
