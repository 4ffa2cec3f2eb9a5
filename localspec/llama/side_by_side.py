"""Several texts of one model that go on in the same pass, as on a server with many users: what such a pass costs."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from localspec.errors import LocalspecError
from localspec.llama import log
from localspec.llama.allocation import allocate, check_kv_memory
from localspec.llama.bindings import low
from localspec.llama.context_options import ContextOptions
from localspec.llama.failures import decode_failure
from localspec.llama.model import Model

_STEP = 256
"""llama.cpp rounds the room of a text up to a multiple of this."""

# Ids of a text of no meaning, spread so that every row looks up another token of the vocabulary.
_STRIDE = 7919


class SideBySide:
    """Texts of `context` tokens, side by side in a cache of their own. Use it in a `with` block, or call `close`.

    Args:
        model: it must stay open.
        options: as of the model's own context; length, sequences, branches and rows are chosen here.
        sequences: how many texts there are.
        context: tokens each text has before a pass.
        most_each: most tokens a pass may add to each.

    Raises:
        OutOfMemoryError: so many texts do not fit beside what is loaded.
        LocalspecError: llama.cpp refuses, or a pass failed.
    """

    def __init__(self, model: Model, options: ContextOptions, sequences: int, context: int, most_each: int) -> None:
        length = -(-(context + most_each) // _STEP) * _STEP
        rows = sequences * most_each
        options = replace(options, sequences=sequences, branches=0, rows=rows, batch=max(rows, context))
        check_kv_memory(model, replace(options, sequences=1), length * sequences)
        self._pointer, _ = allocate(model, options, length)
        self._free = weakref.finalize(self, low.llama_free, self._pointer)
        self._memory: Any = low.llama_get_memory(self._pointer)
        self._model = model
        self._sequences = sequences
        self._context = context
        self._most_each = most_each
        self._fill()

    def close(self) -> None:
        """Free the cache. A second call does nothing."""
        self._free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def pass_seconds(
        self, sequences: int, each: int, repeats: int, cancelled: Callable[[], bool]
    ) -> list[float] | None:
        """Seconds of passes that add `each` tokens to each of the first texts; all rows of logits are wanted.

        Args:
            sequences: how many texts go on.
            each: tokens a text.
            repeats: passes that count; a pass before them does not.
            cancelled: polled between passes.

        Returns:
            Seconds of every counted pass; None when it was cancelled.

        Raises:
            ValueError: more texts or tokens than there is room for.
        """
        if not (1 <= sequences <= self._sequences and 1 <= each <= self._most_each):
            raise ValueError(f"{sequences} times {each} tokens, and room for {self._sequences} times {self._most_each}")
        seconds = []
        with self._batch(range(sequences), self._context, each) as batch:
            for _ in range(repeats + 1):
                if cancelled():
                    return None
                began = time.perf_counter()
                self._decode(batch)
                seconds.append(time.perf_counter() - began)
                self._take_back(sequences)
        return seconds[1:]

    def _fill(self) -> None:
        """Read a text once, and copy it: reading it for each sequence would take as long as all the rest."""
        with self._batch(range(1), 0, self._context) as batch:
            self._decode(batch)
        for sequence in range(1, self._sequences):
            low.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)

    def _take_back(self, sequences: int) -> None:
        for sequence in range(sequences):
            if not low.llama_memory_seq_rm(self._memory, sequence, self._context, -1):
                raise LocalspecError(
                    "Texts side by side cannot be taken back",
                    f"llama.cpp cannot cut the memory of {self._model.path.name} back to an earlier token.",
                )

    def _decode(self, batch: Any) -> None:
        warnings = log.capture.warnings
        code = int(low.llama_decode(self._pointer, batch))
        if code != 0:
            raise decode_failure(code, log.capture.since(warnings))
        # A GPU is asked, not waited for: the pass is over when the results are there.
        low.llama_synchronize(self._pointer)

    @contextmanager
    def _batch(self, sequences: range, position: int, each: int) -> Iterator[Any]:
        """A `llama_batch` of `each` tokens for each sequence, from `position` on; logits after all that may ask."""
        count = len(sequences) * each
        batch = low.llama_batch_init(count, 0, 1)
        wanted = position > 0
        tokens = itertools.count(_STRIDE, _STRIDE)
        try:
            for row, (sequence, step) in enumerate(itertools.product(sequences, range(each))):
                batch.token[row] = next(tokens) % self._model.vocabulary_size
                batch.pos[row] = position + step
                batch.n_seq_id[row] = 1
                batch.seq_id[row][0] = sequence
                batch.logits[row] = wanted
            batch.n_tokens = count
            yield batch
        finally:
            low.llama_batch_free(batch)
