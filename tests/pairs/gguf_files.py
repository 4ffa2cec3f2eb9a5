"""Writes GGUFs for the tests: tiny llama models that llama.cpp loads, and anything that a header may claim."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

U8, I32, U32, F32, BOOL, STRING, ARRAY, U64 = 0, 5, 4, 6, 7, 8, 9, 10
_FORMATS = {U8: "<B", I32: "<i", U32: "<I", F32: "<f", BOOL: "<?", U64: "<Q"}

SQUARE = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")

Entry = tuple[str, int | tuple[int, int], Any]


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def value_bytes(kind: int | tuple[int, int], value: Any) -> bytes:
    """A value with its type in front; `kind` of an array is (ARRAY, type of its elements)."""
    if isinstance(kind, tuple):
        items = b"".join(text(one) if kind[1] == STRING else struct.pack(_FORMATS[kind[1]], one) for one in value)
        return struct.pack("<IIQ", ARRAY, kind[1], len(value)) + items
    return struct.pack("<I", kind) + (text(value) if kind == STRING else struct.pack(_FORMATS[kind], value))


def tokens(count: int = 260) -> list[str]:
    """A vocabulary as GPT-2 writes it: a character for each byte, then control tokens."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    characters = [chr(byte) if byte in printable else chr(next(spare)) for byte in range(256)]
    return characters + [f"<|special_{number}|>" for number in range(count - 256)]


@dataclass
class TinyTensor:
    name: str
    shape: tuple[int, ...]
    type: int = 0  # F32
    element_bytes: int = 4

    @property
    def bytes(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count * self.element_bytes


@dataclass
class TinyModel:
    """A llama with one layer and a byte-level vocabulary: 300 KB, real to llama.cpp."""

    tokens: list[str] = field(default_factory=tokens)
    merges: list[str] = field(default_factory=lambda: ["a b", "c d"])
    architecture: str = "llama"
    tokenizer: str = "gpt2"
    pre: str = "gpt-2"
    bos: int | None = 256
    eos: int | None = 257
    add_bos: bool | None = False
    add_eos: bool | None = None
    context: int = 2048
    layers: int = 1
    width: int = 64
    heads: int = 2
    extra: list[Entry] = field(default_factory=list)
    fill: bytes = b"\0"

    def entries(self) -> list[Entry]:
        a = self.architecture
        optional: list[Entry] = []
        if self.bos is not None:
            optional.append(("tokenizer.ggml.bos_token_id", U32, self.bos))
        if self.eos is not None:
            optional.append(("tokenizer.ggml.eos_token_id", U32, self.eos))
        if self.add_bos is not None:
            optional.append(("tokenizer.ggml.add_bos_token", BOOL, self.add_bos))
        if self.add_eos is not None:
            optional.append(("tokenizer.ggml.add_eos_token", BOOL, self.add_eos))
        return [
            ("general.architecture", STRING, a),
            ("general.name", STRING, "tiny"),
            (f"{a}.block_count", U32, self.layers),
            (f"{a}.context_length", U32, self.context),
            (f"{a}.embedding_length", U32, self.width),
            (f"{a}.feed_forward_length", U32, self.width),
            (f"{a}.attention.head_count", U32, self.heads),
            (f"{a}.attention.head_count_kv", U32, self.heads),
            (f"{a}.attention.layer_norm_rms_epsilon", F32, 1e-5),
            ("tokenizer.ggml.model", STRING, self.tokenizer),
            ("tokenizer.ggml.pre", STRING, self.pre),
            ("tokenizer.ggml.tokens", (ARRAY, STRING), self.tokens),
            ("tokenizer.ggml.token_type", (ARRAY, I32), [1] * 256 + [3] * (len(self.tokens) - 256)),
            ("tokenizer.ggml.merges", (ARRAY, STRING), self.merges),
            *optional,
            *self.extra,
        ]

    def tensors(self) -> list[TinyTensor]:
        w = self.width
        found = [TinyTensor("token_embd.weight", (w, len(self.tokens))), TinyTensor("output_norm.weight", (w,))]
        for layer in range(self.layers):
            names = {"attn_norm": (w,), "ffn_norm": (w,)} | dict.fromkeys(SQUARE, (w, w))
            found.extend(TinyTensor(f"blk.{layer}.{name}.weight", shape) for name, shape in names.items())
        return found

    def bytes(self) -> bytes:
        """The whole file."""
        return gguf(self.entries(), self.tensors(), fill=self.fill)


def gguf(
    entries: list[Entry],
    tensors: list[TinyTensor],
    *,
    version: int = 3,
    alignment: int = 32,
    fill: bytes = b"\0",
    offsets: list[int] | None = None,
) -> bytes:
    """A GGUF, its data filled with `fill`; `offsets` replace the right ones."""
    header = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries))
    header += b"".join(text(key) + value_bytes(kind, value) for key, kind, value in entries)
    data = bytearray()
    for number, tensor in enumerate(tensors):
        offset = offsets[number] if offsets else len(data)
        header += text(tensor.name) + struct.pack("<I", len(tensor.shape))
        header += struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape) + struct.pack("<IQ", tensor.type, offset)
        data += (fill * (tensor.bytes // len(fill) + 1))[: tensor.bytes]
        data += b"\0" * (-len(data) % alignment)
    return header + b"\0" * (-len(header) % alignment) + bytes(data)
