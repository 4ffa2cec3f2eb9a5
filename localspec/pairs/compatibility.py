"""Whether a draft can guess for a target, from two headers alone, and if not, the exact reason.

The rule is llama.cpp's own (`common_speculative_are_compatible` in common/speculative.cpp), checked in the order in
which headers come over the network, so that two files that cannot match are told apart after a few megabytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from localspec.errors import PairMismatchError
from localspec.pairs import vocabulary
from localspec.pairs.architectures import cannot_take_back, why_not_alone
from localspec.pairs.gguf_reading import GgufReading
from localspec.pairs.names import shown
from localspec.pairs.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from localspec.pairs.gguf_bytes import RangedFile
    from localspec.pairs.gguf_header import GgufHeader, Value

MOST_SIZE_DIFFERENCE = 128
"""SPEC_VOCAB_MAX_SIZE_DIFFERENCE of llama.cpp: padding may differ by so many tokens."""

FIRST_COMPARED = 5
"""SPEC_VOCAB_CHECK_START_TOKEN_ID of llama.cpp: the first few are control tokens whose names differ."""

_TOO_LARGE = 0.6  # of the target's weights: every guess then costs more than half of what it may save


class Reason(StrEnum):
    """Why a draft does not fit a target."""

    TOKENIZER_TYPE = "tokenizer type"
    SIZE = "vocabulary size"
    TOKEN = "first differing token"  # noqa: S105 (not a password)
    BEGINNING = "beginning of text"
    END = "end of text"
    NOT_ALONE = "kind of model"
    HYBRID = "hybrid memory"
    SPLIT = "split file"
    TOO_LARGE = "too large"
    MEMORY = "memory"
    NOT_SOUND = "damaged file"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why a draft does not fit.

    Attributes:
        reason: which rule is broken.
        words: how, as a sentence.
    """

    reason: Reason
    words: str


@dataclass(frozen=True, slots=True)
class PairHeaders:
    """The headers of two files that fit each other."""

    target: GgufHeader
    draft: GgufHeader


def mismatch(target: GgufHeader, draft: GgufHeader) -> Mismatch | None:
    """The first reason why `draft` cannot guess for `target`, or None when it can."""
    return (
        _kind_mismatch(target.metadata, draft.metadata)
        or _size_mismatch(len(target.tokens or ()), len(draft.tokens or ()))
        or _token_mismatch(target.tokens or (), draft.tokens or ())
        or _special_mismatch(target, draft)
        or _model_mismatch(target.metadata, draft.metadata)
    )


def too_large(target: GgufHeader, draft: GgufHeader) -> Mismatch | None:
    """Whether the draft fits but is too large to gain anything: guessing costs its weights, each time."""
    share = draft.tensor_bytes / max(1, target.tensor_bytes)
    if share <= _TOO_LARGE:
        return None
    words = f"its weights take {share:.0%} of the target's, so guessing costs about what it saves"
    return Mismatch(Reason.TOO_LARGE, words)


def read_pair(target: RangedFile, draft: RangedFile) -> PairHeaders:
    """Read both headers side by side, and stop at the first difference.

    Raises:
        PairMismatchError: they do not fit each other; names the first difference.
        ModelFileError: one of them is not a sound GGUF.
    """
    readings = side_by_side(GgufReading, (target, draft))
    counts = [count or 0 for count in side_by_side(GgufReading.token_count, readings)]
    _refuse(target, draft, _early_mismatch(*readings) or _size_mismatch(*counts))
    first, second = side_by_side(GgufReading.read_tokens, readings)
    _refuse(target, draft, _token_mismatch(first or (), second or ()))
    # One after the other: the same tokens mean the same merges, and the first tells how long those are.
    draft_header = readings[1].finish()
    headers = PairHeaders(readings[0].finish(draft_header), draft_header)
    _refuse(target, draft, mismatch(headers.target, headers.draft))
    return headers


def _refuse(target: RangedFile, draft: RangedFile, found: Mismatch | None) -> None:
    if found is not None:
        raise PairMismatchError(
            f"{draft.name} cannot draft for {target.name}",
            f"{found.words[0].upper()}{found.words[1:]}.",
            "A draft must come from the target's own family. `localspec match TARGET.gguf` shows which ones here fit.",
        )


def _early_mismatch(target: GgufReading, draft: GgufReading) -> Mismatch | None:
    """What the metadata before the vocabulary already tells."""
    found = _model_mismatch(target.metadata, draft.metadata)
    if found is None and all("tokenizer.ggml.model" in reading.metadata for reading in (target, draft)):
        found = _kind_mismatch(target.metadata, draft.metadata)
    return found


def _kind_mismatch(target: Mapping[str, Value], draft: Mapping[str, Value]) -> Mismatch | None:
    ours, theirs = vocabulary.kind_name(target), vocabulary.kind_name(draft)
    if ours == theirs:
        return None
    return Mismatch(Reason.TOKENIZER_TYPE, f"the target's tokenizer is {ours}, the draft's is {theirs}")


def _size_mismatch(target: int, draft: int) -> Mismatch | None:
    if target and draft and abs(target - draft) <= MOST_SIZE_DIFFERENCE:
        return None
    words = f"the target has {target:,} tokens, the draft {draft:,}"
    if target and draft:
        words += f"; they may differ by {MOST_SIZE_DIFFERENCE} at most"
    return Mismatch(Reason.SIZE, words)


def _token_mismatch(target: Sequence[bytes], draft: Sequence[bytes]) -> Mismatch | None:
    for number in range(FIRST_COMPARED, min(len(target), len(draft))):
        if target[number] == draft[number]:
            continue
        ours, theirs = vocabulary.token_text(target, number), vocabulary.token_text(draft, number)
        if ours != theirs:
            words = f"token {number:,} is {_quoted(ours)} in the target and {_quoted(theirs)} in the draft"
            return Mismatch(Reason.TOKEN, words)
    return None


def _special_mismatch(target: GgufHeader, draft: GgufHeader) -> Mismatch | None:
    for reason, special in ((Reason.BEGINNING, vocabulary.beginning), (Reason.END, vocabulary.end)):
        ours, theirs = (special(header.metadata, len(header.tokens or ())) for header in (target, draft))
        if not ours.matches(theirs):
            return Mismatch(reason, f"the token at the {reason} is {ours} in the target and {theirs} in the draft")
    return None


def _model_mismatch(target: Mapping[str, Value], draft: Mapping[str, Value]) -> Mismatch | None:
    """Whether one of them cannot take part in any pair."""
    for role, metadata in (("target", target), ("draft", draft)):
        architecture = str(metadata.get("general.architecture", ""))
        what = why_not_alone(architecture)
        kind = metadata.get("general.type", "model")
        if what or kind != "model":
            return Mismatch(Reason.NOT_ALONE, f"the {role} is {what or f'of type {shown(str(kind))}, not a model'}")
        if cannot_take_back(architecture):
            words = f"rejected guesses cannot be taken back out of the memory of the {role} ({architecture})"
            return Mismatch(Reason.HYBRID, words)
        parts = metadata.get("split.count", 0)
        if isinstance(parts, int) and parts > 1:
            return Mismatch(Reason.SPLIT, f"the {role} is one of {parts} parts; a pair needs each model in one file")
    return None


def _quoted(token: bytes) -> str:
    return shown(token.decode("utf-8", "replace"))
