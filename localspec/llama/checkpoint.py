"""Copies of a recurrent state, for the steps back that llama.cpp cannot take by itself."""

from __future__ import annotations

import ctypes
from typing import Any

from localspec.llama.bindings import low

# LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: the recurrent state without the keys and values beside it.
_STATE_ONLY = 1


class Checkpoint:
    """The recurrent state after the first `length` tokens of a context; 0 when there is none.

    llama.cpp keeps the states after each token of the last pass alone. Asked to go back further, it answers yes and
    takes a state of an earlier pass (seen with LFM2, llama.cpp 0.5.0): a draft evaluated token by token, cut back by
    three, went on from another text.
    """

    def __init__(self, context: Any, memory: Any) -> None:
        self.length = 0
        self._context = context
        self._memory = memory
        self._data: Any = (ctypes.c_uint8 * 0)()
        self._size = 0

    def take(self, length: int) -> None:
        """Copy the state, which is that after `length` tokens."""
        size = low.llama_state_seq_get_size_ext(self._context, 0, _STATE_ONLY)
        if size > len(self._data):
            self._data = (ctypes.c_uint8 * size)()
        self._size = low.llama_state_seq_get_data_ext(self._context, self._data, size, 0, _STATE_ONLY)
        self.length = length if self._size else 0

    def restore(self) -> bool:
        """Put the state back and forget the keys and values after it; False, with anything left, if that failed."""
        if not low.llama_state_seq_set_data_ext(self._context, self._data, self._size, 0, _STATE_ONLY):
            return False
        removed = low.llama_memory_seq_rm(self._memory, 0, self.length, -1)
        return bool(removed) and low.llama_memory_seq_pos_max(self._memory, 0) == self.length - 1

    def drop(self) -> None:
        """Forget it: the text before it has changed."""
        self.length = 0
