"""What a header says of the tokenizer, with llama.cpp's own defaults for what it leaves out (llama-vocab.cpp)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from localspec.pairs.gguf_header import Value


@dataclass(frozen=True, slots=True)
class _Kind:
    """A tokenizer type of llama.cpp (`llama_vocab_type`) and what it takes for granted."""

    name: str
    bos: int | None = None
    eos: int | None = None
    add_bos: bool = False
    add_eos: bool = False


_BPE = _Kind("byte-pair encoding (BPE)", bos=11, eos=11)
_KINDS = {
    "llama": _Kind("SentencePiece (SPM)", bos=1, eos=2, add_bos=True),
    "bert": _Kind("WordPiece (WPM)", bos=101, add_bos=True),
    "gpt2": _BPE,
    "hybriddna": _BPE,
    "whitespace": _BPE,
    "gemma4": _Kind(_BPE.name, add_bos=True),
    "t5": _Kind("Unigram (UGM)", eos=1, add_eos=True),
    "rwkv": _Kind("RWKV"),
    "plamo2": _Kind("PLaMo-2", bos=1, eos=2),
    "no_vocab": _Kind("none"),
    "none": _Kind("none"),
}
_PRE_TOKENIZERS_WITH_BOS = frozenset(
    {
        "llama3",
        "llama-v3",
        "llama-bpe",
        "falcon3",
        "falcon-h1",
        "pixtral",
        "midm-2.0",
        "lfm2",
        "jina-v5-nano",
        "tekken",
        "chameleon",
    }
)
_PRE_TOKENIZERS_WITHOUT_BOS_ID = frozenset({"chatglm-bpe", "glm4", "glm5"})


@dataclass(frozen=True, slots=True)
class SpecialToken:
    """The token at the beginning or end of a text.

    Attributes:
        id: its number; None when there is none.
        added: whether the tokenizer puts it there by itself.
    """

    id: int | None
    added: bool

    def __str__(self) -> str:
        which = "none" if self.id is None else str(self.id)
        return f"{which}, {'added' if self.added else 'not added'}"

    def matches(self, other: SpecialToken) -> bool:
        """llama.cpp's rule: added by both or neither and, when added, the same."""
        return self.added == other.added and (not self.added or self.id == other.id)


def kind_name(metadata: Mapping[str, Value]) -> str:
    """The tokenizer type that llama.cpp sees in this metadata, in words; two of one name are of one type."""
    model = _text(metadata, "tokenizer.ggml.model")
    return _KINDS[model].name if model in _KINDS else f"unknown ({model or 'not named'})"


def pre_tokenizer(metadata: Mapping[str, Value]) -> str:
    """How text is split before merging, by llama.cpp's name; "" when the file does not say."""
    return _text(metadata, "tokenizer.ggml.pre")


def beginning(metadata: Mapping[str, Value], vocabulary_size: int) -> SpecialToken:
    """The token at the beginning of a text (BOS)."""
    kind = _KINDS.get(_text(metadata, "tokenizer.ggml.model"), _BPE)
    pre = pre_tokenizer(metadata)
    default = None if kind is _BPE and pre in _PRE_TOKENIZERS_WITHOUT_BOS_ID else kind.bos
    adds = kind.add_bos or (kind is _BPE and pre in _PRE_TOKENIZERS_WITH_BOS)
    # Gemma 4 files say "false" by mistake, and llama.cpp overrules them.
    overruled = kind is _KINDS["gemma4"]
    added = True if overruled else _flag(metadata, "tokenizer.ggml.add_bos_token", default=adds)
    return SpecialToken(_token(metadata, "tokenizer.ggml.bos_token_id", default, vocabulary_size), added)


def end(metadata: Mapping[str, Value], vocabulary_size: int) -> SpecialToken:
    """The token at the end of a text (EOS)."""
    kind = _KINDS.get(_text(metadata, "tokenizer.ggml.model"), _BPE)
    added = _flag(metadata, "tokenizer.ggml.add_eos_token", default=kind.add_eos)
    return SpecialToken(_token(metadata, "tokenizer.ggml.eos_token_id", kind.eos, vocabulary_size), added)


def token_text(tokens: Sequence[bytes], number: int) -> bytes:
    """The text of a token as `llama_vocab_get_text` has it: a C string, and never empty."""
    text = tokens[number].split(b"\0", 1)[0]
    return text or b"[EMPTY_%d]" % number


def _text(metadata: Mapping[str, Value], key: str) -> str:
    value = metadata.get(key, "")
    return value if isinstance(value, str) else ""


def _flag(metadata: Mapping[str, Value], key: str, *, default: bool) -> bool:
    value = metadata.get(key, default)
    return value if isinstance(value, bool) else default


def _token(metadata: Mapping[str, Value], key: str, default: int | None, vocabulary_size: int) -> int | None:
    value = metadata.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < vocabulary_size:
        return value
    return default if default is not None and default < vocabulary_size else None
