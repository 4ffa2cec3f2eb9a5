"""One reusable `llama_batch` for the tokens of a single text."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.llama.bindings import low


class TokenBatch:
    """Room for `size` tokens of sequence 0; filling it costs three copies and no allocation."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._tokens = np.zeros(size, np.int32)
        self._positions = np.zeros(size, np.int32)
        self._wanted = np.zeros(size, np.int8)
        self._counting = np.arange(size, dtype=np.int32)
        # Every token belongs to one sequence, number 0: each entry points to the same zero.
        self._sequence = np.zeros(1, np.int32)
        self._sequences = np.full(size, self._sequence.ctypes.data, np.uintp)
        self._sequence_counts = np.ones(size, np.int32)
        self.struct: Any = low.llama_batch()
        fields: dict[str, NDArray[Any]] = {
            "token": self._tokens,
            "pos": self._positions,
            "n_seq_id": self._sequence_counts,
            "seq_id": self._sequences,
            "logits": self._wanted,
        }
        kinds: dict[str, Any] = dict(low.llama_batch._fields_)
        for name, array in fields.items():
            setattr(self.struct, name, ctypes.cast(array.ctypes.data, kinds[name]))

    def fill(self, tokens: Sequence[int], position: int, rows: int) -> Any:
        """Put `tokens` at `position` and on, asking for logits after the last `rows`; return the `llama_batch`."""
        count = len(tokens)
        self._tokens[:count] = tokens
        np.add(self._counting[:count], position, out=self._positions[:count])
        self._wanted[: count - rows] = 0
        self._wanted[count - rows : count] = 1
        self.struct.n_tokens = count
        return self.struct
