"""What a GGUF's header says: metadata, vocabulary and where each tensor lies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Scalar = int | float | bool | str
Value = Scalar | tuple[int | float | bool, ...] | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where one tensor lies.

    Attributes:
        name: as llama.cpp knows it, for instance "blk.0.attn_k.weight".
        shape: numbers of elements, the fastest dimension first.
        type: how its elements are stored, for instance "Q4_K".
        offset: bytes from the start of the data section.
        bytes: its size.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class LongArray:
    """An array of strings that was passed over, for instance the merges of a tokenizer.

    Attributes:
        count: how many strings.
        bytes: how long it is in the file, lengths of the strings included.
    """

    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF says of itself.

    Attributes:
        name: of the file, for messages.
        version: of the format, 2 or 3.
        metadata: every value but long arrays (token scores, merges), whose keys are missing here.
        tokens: the text of each token, as bytes; None when the file has no vocabulary.
        tensors: in the order of the file, which is the order of their data.
        data_offset: bytes from the start of the file to the data of the first tensor.
        file_size: bytes of the file.
        long_arrays: the arrays of strings that were passed over, by key.
    """

    name: str
    version: int
    metadata: Mapping[str, Value]
    tokens: tuple[bytes, ...] | None
    tensors: tuple[Tensor, ...]
    data_offset: int
    file_size: int
    long_arrays: Mapping[str, LongArray] = field(default_factory=dict)

    @property
    def architecture(self) -> str:
        """llama.cpp's name for the kind of model: "qwen2", "llama", ..., "" when it is missing."""
        value = self.metadata.get("general.architecture", "")
        return value if isinstance(value, str) else ""

    @property
    def tensor_bytes(self) -> int:
        """Bytes of all weights."""
        return sum(tensor.bytes for tensor in self.tensors)

    @property
    def layers(self) -> int:
        """How many layers there are; never more than there are tensors, whatever the file claims."""
        return min(max(0, self.number("block_count") or 0), len(self.tensors))

    def number(self, key: str) -> int | None:
        """A whole number under the architecture's own prefix (`block_count` is `qwen2.block_count`); None if none."""
        value = self.metadata.get(f"{self.architecture}.{key}")
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def numbers(self, key: str, count: int) -> tuple[int, ...] | None:
        """As `number`, for a value that may be one for all layers or one for each of `count` layers."""
        value = self.metadata.get(f"{self.architecture}.{key}")
        if isinstance(value, tuple):
            return tuple(int(item) for item in value) if len(value) >= count else None
        one = self.number(key)
        return None if one is None else (one,) * count
