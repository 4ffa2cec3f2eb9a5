"""The rows of logits a context puts out, seen without copying them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from localspec.decoding.language_model import LogitRows
from localspec.llama.bindings import c_function

# With a bare address as the result: the bindings' own costs a pointer object a call.
_address_of_logits = c_function("llama_get_logits", [ctypes.c_void_p], ctypes.c_void_p)


class LogitBuffer:
    """llama.cpp's output buffer as an array; it moves when more rows are asked for than ever before."""

    def __init__(self, context: Any, most_rows: int, vocabulary_size: int) -> None:
        self.most_rows = most_rows
        self._context = context
        self._shape = (most_rows, vocabulary_size)
        self._address = 0
        self._array: LogitRows = np.empty((0, vocabulary_size), np.float32)

    def rows(self, count: int) -> LogitRows:
        """The rows of the last pass, which asked for `count`: float32 (count, vocabulary), overwritten by the next."""
        if count == 0:
            return self._array[:0]
        address = _address_of_logits(self._context)
        if address != self._address:
            # The array claims all rows that may ever be; only those asked for are there, and only they are shown.
            floats = (ctypes.c_float * (self._shape[0] * self._shape[1])).from_address(address)
            self._array = np.ctypeslib.as_array(floats).reshape(self._shape)
            self._address = address
        return self._array[:count]
