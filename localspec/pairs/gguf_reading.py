"""Reads the header of a GGUF: metadata, vocabulary and where each tensor lies, without its gigabytes.

Our own reader, so that a file can be judged over the network and before llama.cpp, which ends the process on what it
does not expect, sees it. It is as strict as `gguf_init_from_reader` and the model loader of llama.cpp, and bounded: at
most MOST_HEADER_BYTES are read and held, whatever the file claims. The format is described in ggml's docs/gguf.md.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from localspec.pairs.gguf_bytes import MOST_HEADER_BYTES, ByteCursor, RangedFile
from localspec.pairs.gguf_header import GgufHeader, LongArray, Tensor
from localspec.pairs.gguf_types import TENSOR_TYPES, VALUE_FORMATS, TensorType
from localspec.pairs.names import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from localspec.pairs.gguf_header import Value

TOKENS = "tokenizer.ggml.tokens"

_MOST_ENTRIES = 1 << 16  # metadata entries, or tensors; real files have dozens and thousands
_MOST_STRINGS = 1 << 22  # in one array; the largest merge lists have half a million
_LONGEST_KEY = (1 << 16) - 1  # by the format
_LONGEST_TOKEN = 1 << 16
_LONGEST_TENSOR_NAME = 63  # GGML_MAX_NAME - 1
_KEPT_NUMBERS = 4096  # of an array; per-layer values are kept, token scores are not
_KEPT_STRINGS = 64
_STRING, _ARRAY = 8, 9


class GgufReading:
    """A header being read, which may pause before the vocabulary: two that cannot match need not be read to the end."""

    def __init__(self, file: RangedFile) -> None:
        """Read the first 24 bytes.

        Raises:
            ModelFileError: it is not a GGUF, of a version or byte order that llama.cpp does not read, or claims absurd
                counts.
        """
        self._cursor = ByteCursor(file)
        if file.size < 24 or self._cursor.take(4) != b"GGUF":
            raise self._cursor.refuse("It does not start as a GGUF does")
        self.version = self._cursor.u32()
        if self.version not in {2, 3}:
            big_endian = self.version & 0xFFFF == 0
            why = "It is in big-endian byte order" if big_endian else f"It is of version {self.version}, not 2 or 3"
            raise self._cursor.refuse(why)
        self._tensor_count = self._count("tensors")
        self._entries_left = self._count("metadata entries")
        self._pending: str | None = None
        self._keys: set[str] = set()
        self.metadata: dict[str, Value] = {}
        self.tokens: tuple[bytes, ...] | None = None
        self._long_arrays: dict[str, LongArray] = {}
        self._guess: Mapping[str, LongArray] = {}

    def read_until(self, key: str) -> bool:
        """Read metadata up to the value of `key`, exclusive; False when there is no such key and all is read."""
        while self._pending != key:
            if self._pending is not None:
                self._read_value(self._pending)
                self._pending = None
            if not self._entries_left:
                return False
            self._entries_left -= 1
            self._pending = self._read_key()
        return True

    def token_count(self) -> int | None:
        """How many tokens there are, not read yet; None when there is no vocabulary."""
        if not self.read_until(TOKENS):
            return None
        begin = self._cursor.position
        count = self._vocabulary_size()
        self._cursor.seek(begin)
        return count

    def finish(self, like: GgufHeader | None = None) -> GgufHeader:
        """Read the rest.

        Args:
            like: the header of a file with the same tokenizer. A long array of the same key and count is taken to be
                as long as there and jumped over, when a sound entry follows: that halves what is transferred.

        Raises:
            ModelFileError: it is cut short, or not sound.
        """
        self._guess = like.long_arrays if like else {}
        self.read_until("")
        tensors = self._read_tensors()
        header = GgufHeader(
            name=self._cursor.file.name,
            version=self.version,
            metadata=self.metadata,
            tokens=self.tokens,
            tensors=tensors,
            data_offset=self._data_offset(tensors),
            file_size=self._cursor.file.size,
            long_arrays=self._long_arrays,
        )
        self._check_layout(header)
        return header

    def read_tokens(self) -> tuple[bytes, ...] | None:
        """Read the vocabulary, if it was not read yet."""
        if self.read_until(TOKENS):
            self._read_value(TOKENS)
            self._pending = None
        return self.tokens

    def _count(self, what: str) -> int:
        count = self._cursor.u64()
        if count > _MOST_ENTRIES:
            raise self._cursor.refuse(f"It claims {count:,} {what}")
        return count

    def _read_key(self) -> str:
        key = self._cursor.string(_LONGEST_KEY).decode("utf-8", "replace")
        if not key or key in self._keys:
            raise self._cursor.refuse(
                f"The metadata key {shown(key)} comes twice" if key else "A metadata key is empty"
            )
        self._keys.add(key)
        return key

    def _read_value(self, key: str) -> None:
        kind = self._cursor.u32()
        if kind == _ARRAY:
            self._read_array(key)
        elif kind == _STRING:
            self.metadata[key] = self._cursor.string(MOST_HEADER_BYTES).decode("utf-8", "replace")
        else:
            self.metadata[key] = self._numbers(key, kind, 1)[0]

    def _read_array(self, key: str) -> None:
        kind, count = self._cursor.u32(), self._cursor.u64()
        if kind != _STRING:
            size = count * self._format(key, kind).size
            if size > MOST_HEADER_BYTES:
                raise self._cursor.refuse(f"{shown(key)} claims {count:,} numbers")
            if count <= _KEPT_NUMBERS:
                self.metadata[key] = self._numbers(key, kind, count)
            else:
                self._cursor.seek(self._cursor.position + size)
            return
        self._check_string_count(key, count)
        begin = self._cursor.position
        if key == TOKENS:
            self.tokens = tuple(self._cursor.strings(count, _LONGEST_TOKEN))
        elif count <= _KEPT_STRINGS:
            texts = self._cursor.strings(count, MOST_HEADER_BYTES)
            self.metadata[key] = tuple(text.decode("utf-8", "replace") for text in texts)
        else:
            if not self._jumped(key, count):
                self._cursor.skip_strings(count, MOST_HEADER_BYTES)
            self._long_arrays[key] = LongArray(count, self._cursor.position - begin)

    def _vocabulary_size(self) -> int:
        if self._cursor.u32() != _ARRAY or self._cursor.u32() != _STRING:
            raise self._cursor.refuse(f"{TOKENS} is not a list of strings")
        count = self._cursor.u64()
        self._check_string_count(TOKENS, count)
        return count

    def _check_string_count(self, key: str, count: int) -> None:
        if count > _MOST_STRINGS:
            raise self._cursor.refuse(f"{shown(key)} claims {count:,} strings")

    def _jumped(self, key: str, count: int) -> bool:
        """Whether the array of strings could be jumped over by a guess of its length."""
        guess = self._guess.get(key)
        begin = self._cursor.position
        if guess is None or guess.count != count or begin + guess.bytes + 16 > self._cursor.file.size:
            return False
        self._cursor.seek(begin + guess.bytes)
        sound = self._entry_follows() if self._entries_left else True
        self._cursor.seek(begin + guess.bytes if sound else begin)
        return sound

    def _entry_follows(self) -> bool:
        """Whether what stands here looks like a metadata entry: a short printable key with a known kind of value."""
        length = self._cursor.u64()
        if not 0 < length < 256 or self._cursor.position + length + 4 > self._cursor.file.size:
            return False
        key = self._cursor.take(length)
        return key.isascii() and key.decode("ascii").isprintable() and self._cursor.u32() <= max(VALUE_FORMATS)

    def _format(self, key: str, kind: int) -> struct.Struct:
        if kind not in VALUE_FORMATS:
            raise self._cursor.refuse(f"{shown(key)} has a value of unknown type {kind}")
        return VALUE_FORMATS[kind]

    def _numbers(self, key: str, kind: int, count: int) -> tuple[int | float | bool, ...]:
        form = self._format(key, kind)
        return tuple(value for (value,) in form.iter_unpack(self._cursor.take(count * form.size)))

    def _read_tensors(self) -> tuple[Tensor, ...]:
        tensors: list[Tensor] = []
        names: set[str] = set()
        for _ in range(self._tensor_count):
            tensor = self._read_tensor()
            if tensor.name in names:
                raise self._cursor.refuse(f"The tensor {shown(tensor.name)} comes twice")
            names.add(tensor.name)
            tensors.append(tensor)
        return tuple(tensors)

    def _read_tensor(self) -> Tensor:
        name = self._cursor.string(_LONGEST_TENSOR_NAME).decode("utf-8", "replace")
        dimensions = self._cursor.u32()
        if not 1 <= dimensions <= 4:
            raise self._cursor.refuse(f"The tensor {shown(name)} has {dimensions} dimensions")
        shape = tuple(self._cursor.u64() for _ in range(dimensions))
        number = self._cursor.u32()
        if number not in TENSOR_TYPES:
            raise self._cursor.refuse(f"The tensor {shown(name)} is of an unknown type, {number}")
        kind = TENSOR_TYPES[number]
        return Tensor(name, shape, kind.name, self._cursor.u64(), self._tensor_bytes(name, shape, kind))

    def _tensor_bytes(self, name: str, shape: tuple[int, ...], kind: TensorType) -> int:
        elements = 1
        for size in shape:
            elements *= size
        if shape[0] % kind.block or elements >= 1 << 63:
            raise self._cursor.refuse(f"The tensor {shown(name)} has an impossible shape {shape}")
        return elements // kind.block * kind.bytes

    def _alignment(self) -> int:
        alignment = self.metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise self._cursor.refuse(f"Its alignment {alignment!r:.20} is not a power of two")
        return alignment

    def _data_offset(self, tensors: tuple[Tensor, ...]) -> int:
        position = self._cursor.position
        return _padded(position, self._alignment()) if tensors else position

    def _check_layout(self, header: GgufHeader) -> None:
        """Each tensor's data follows the one before, as llama.cpp demands, and the file holds all of it."""
        expected = 0
        for tensor in header.tensors:
            if tensor.offset != expected:
                how = "overlaps the one before it" if tensor.offset < expected else "leaves a gap"
                raise self._cursor.refuse(f"The data of tensor {shown(tensor.name)} {how}")
            end = header.data_offset + expected + tensor.bytes
            if end > header.file_size:
                missing = header.data_offset + header.tensor_bytes - header.file_size
                raise self._cursor.refuse(
                    f"It is cut short: the data of tensor {shown(tensor.name)} and what follows lies past its end, "
                    f"{missing:,} bytes are missing"
                )
            expected += _padded(tensor.bytes, self._alignment())


def read_header(file: RangedFile) -> GgufHeader:
    """Read the header of a GGUF.

    Raises:
        ModelFileError: it is not a GGUF that llama.cpp reads, is cut short, or is not sound.
    """
    return GgufReading(file).finish()


def _padded(size: int, alignment: int) -> int:
    return (size + alignment - 1) // alignment * alignment
