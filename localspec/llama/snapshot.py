"""Copies of what a context holds."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from localspec.llama.bindings import low


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a context's contents (`llama_state_seq_get_data`).

    Attributes:
        tokens: the ids it holds.
        data: their keys and values, in llama.cpp's own format.
    """

    tokens: tuple[int, ...]
    data: bytes

    @classmethod
    def of(cls, context: Any, tokens: Sequence[int]) -> Self:
        """Copy what sequence 0 of a `llama_context *` holds, which are these tokens."""
        size = low.llama_state_seq_get_size(context, 0)
        data = (ctypes.c_uint8 * size)()
        written = low.llama_state_seq_get_data(context, data, size, 0)
        return cls(tuple(tokens), bytes(data[:written]) if written < size else bytes(data))

    def put_into(self, context: Any) -> bool:
        """Make it sequence 0 of an empty `llama_context *`; False, with anything left, if it does not fit there."""
        data = (ctypes.c_uint8 * len(self.data)).from_buffer_copy(self.data)
        return bool(low.llama_state_seq_set_data(context, data, len(self.data), 0))
