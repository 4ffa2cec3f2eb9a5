"""One reusable `llama_batch` for the tokens of a single text."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.llama.bindings import c_function, low

ABORTED = 2
"""What `llama_decode` returns for a pass that was cancelled."""

# With bare addresses for arguments and results: the bindings' own cost a pointer object a call.
_decode = c_function("llama_decode", [ctypes.c_void_p, low.llama_batch], ctypes.c_int32)

# From how many tokens on a pass asks whether to stop. It asks at every node of the graph, about a microsecond each:
# too dear for a pass of one token.
_LONG_PASS = 32


class TokenBatch:
    """Room for `size` tokens, of sequence 0 but in trees; filling it costs three copies and no allocation."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.interruption: BaseException | None = None
        """What `cancelled` raised in the last pass that it ended, such as KeyboardInterrupt."""
        self._tokens = np.zeros(size, np.int32)
        self._positions = np.zeros(size, np.int32)
        self._wanted = np.zeros(size, np.int8)
        self._counting = np.arange(size, dtype=np.int32)
        # Every token belongs to one sequence, number 0: each entry points to the same zero. Trees put it back so.
        self._sequence = np.zeros(1, np.int32)
        self._sequences = np.full(size, self._sequence.ctypes.data, np.uintp)
        self._sequence_counts = np.ones(size, np.int32)
        self._struct: Any = low.llama_batch()
        fields: dict[str, NDArray[Any]] = {
            "token": self._tokens,
            "pos": self._positions,
            "n_seq_id": self._sequence_counts,
            "seq_id": self._sequences,
            "logits": self._wanted,
        }
        kinds: dict[str, Any] = dict(low.llama_batch._fields_)
        for name, array in fields.items():
            setattr(self._struct, name, ctypes.cast(array.ctypes.data, kinds[name]))

    def decode(
        self, context: Any, tokens: Sequence[int], position: int, rows: int, cancelled: Callable[[], bool] | None
    ) -> int:
        """Evaluate at most `size` tokens in one `llama_decode`, and return what it returned (0 is well).

        Args:
            context: a `llama_context *`.
            tokens: their ids.
            position: where the first one stands.
            rows: after how many of the last ones logits are wanted.
            cancelled: polled during a long pass; True ends it with ABORTED.
        """
        np.add(self._counting[: len(tokens)], position, out=self._positions[: len(tokens)])
        self._fill(tokens, rows)
        return self._decode(context, cancelled)

    def decode_tree(
        self,
        context: Any,
        tokens: Sequence[int],
        places: Sequence[tuple[int, Sequence[int]]],
        rows: int,
        cancelled: Callable[[], bool] | None,
    ) -> int:
        """As `decode`, each token with its own position and the sequences that it belongs to."""
        count = len(tokens)
        numbers = np.array([number for _, sequences in places for number in sequences], np.int32)
        counts = self._sequence_counts[:count]
        try:
            counts[:] = [len(sequences) for _, sequences in places]
            self._sequences[:count] = numbers.ctypes.data + numbers.itemsize * (counts.cumsum() - counts)
            self._positions[:count] = [position for position, _ in places]
            self._fill(tokens, rows)
            return self._decode(context, cancelled)
        finally:
            counts[:] = 1
            self._sequences[:count] = self._sequence.ctypes.data

    def _decode(self, context: Any, cancelled: Callable[[], bool] | None) -> int:
        if cancelled is None or self._struct.n_tokens < _LONG_PASS:
            return int(_decode(context, self._struct))

        def poll(_user_data: Any) -> bool:
            try:
                return cancelled()
            except BaseException as error:  # noqa: BLE001 # ctypes would print and drop it; the caller raises it
                self.interruption = error
                return True

        self.interruption = None
        callback = low.ggml_abort_callback(poll)
        low.llama_set_abort_callback(context, callback, None)
        try:
            return int(_decode(context, self._struct))
        finally:
            low.llama_set_abort_callback(context, low.ggml_abort_callback(), None)

    def _fill(self, tokens: Sequence[int], rows: int) -> None:
        count = len(tokens)
        self._tokens[:count] = tokens
        self._wanted[: count - rows] = 0
        self._wanted[count - rows : count] = 1
        self._struct.n_tokens = count
