"""A model's KV cache and its logits: a `localspec.decoding.language_model.LanguageModel`."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.language_model import LogitRows
from localspec.llama import log
from localspec.llama.allocation import allocate, check_kv_memory
from localspec.llama.batch import ABORTED, TokenBatch
from localspec.llama.bindings import low
from localspec.llama.checkpoint import Checkpoint
from localspec.llama.context_options import MOST_ROWS, ContextOptions
from localspec.llama.failures import decode_failure
from localspec.llama.logits import LogitBuffer
from localspec.llama.memory import buffers_in
from localspec.llama.model import Model


class EvaluationCancelledError(Exception):
    """`Context.cancelled` stopped a long pass; the context holds what was evaluated before."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a context's contents (`llama_state_seq_get_data`).

    Attributes:
        tokens: the ids it holds.
        data: their keys and values, in llama.cpp's own format.
    """

    tokens: tuple[int, ...]
    data: bytes


class Context:
    """A text in a model's KV cache. Use it in a `with` block, or call `close`; closing the model closes it too."""

    def __init__(self, model: Model, options: ContextOptions | None = None) -> None:
        """Allocate the cache and the buffers.

        Raises:
            OutOfMemoryError: they do not fit.
            LocalspecError: llama.cpp refuses these options for this model.
        """
        options = options or ContextOptions()
        self.model = model
        self.options = options
        length = options.length or model.trained_context
        check_kv_memory(model, options, length)
        self._pointer, lines = allocate(model, options, length)
        self._free = weakref.finalize(self, low.llama_free, self._pointer)
        model.contexts.add(self)
        self.buffers = buffers_in(lines)
        """Where its cache and its working memory lie. The output buffer grows with the rows asked for."""
        self._memory: Any = low.llama_get_memory(self._pointer)
        # llama.cpp rounds the length up to a multiple of 256; the person's own number is the limit.
        self._capacity = min(length, int(low.llama_n_ctx_seq(self._pointer)))
        self._batch = TokenBatch(int(low.llama_n_batch(self._pointer)))
        self._logits = LogitBuffer(self._pointer, min(MOST_ROWS, self._batch.size), model.vocabulary_size)
        self._vocabulary_size = model.vocabulary_size
        self._tokens: list[int] = []
        self._stateful = model.is_recurrent or model.is_hybrid
        self._checkpoint = Checkpoint(self._pointer, self._memory)
        self._checkpoint_wanted = True
        # How many tokens the last pass had, if no step back came after it.
        self._last_pass = 0
        self.cancelled: Callable[[], bool] | None = None
        """Polled inside passes of many tokens; True ends the pass with EvaluationCancelledError."""

    def close(self) -> None:
        """Free the cache; rows of logits handed out before must not be read after. A second call does nothing."""
        self._free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pointer(self) -> Any:
        """llama.cpp's `llama_context *`.

        Raises:
            RuntimeError: the context is closed.
        """
        if not self._free.alive:
            raise RuntimeError(f"the context of {self.model.path.name} is closed")
        return self._pointer

    @property
    def vocabulary_size(self) -> int:
        """Columns of a row of logits."""
        return self._vocabulary_size

    @property
    def tokens(self) -> Sequence[int]:
        """The ids held, in order; a live view, not to be changed."""
        return self._tokens

    @property
    def length(self) -> int:
        """How many tokens are held."""
        return len(self._tokens)

    @property
    def capacity(self) -> int:
        """Most tokens that can be held."""
        return self._capacity

    @property
    def can_roll_back(self) -> bool:
        """Whether `truncate` by up to a draft is cheap, as speculation needs it to be."""
        return self.why_no_roll_back is None

    @property
    def why_no_roll_back(self) -> str | None:
        """The reason in words when `can_roll_back` is False."""
        if not self._stateful:
            return None
        if low.llama_n_rs_seq(self.pointer) > LONGEST_DRAFT:
            return None
        return (
            f"the architecture {self.model.architecture} sums the text up in a state, and this llama.cpp cannot take "
            "its last tokens back: every rejected guess would mean to evaluate the whole text again"
        )

    def set_threads(self, threads: int) -> None:
        """Use so many threads from the next pass on."""
        low.llama_set_n_threads(self.pointer, threads, threads)
        self.options = replace(self.options, threads=threads, batch_threads=None)

    def evaluate(self, tokens: Sequence[int], rows: int | None = None) -> LogitRows:
        """Append `tokens` and return the logits that follow the last `rows` of them (None: of all).

        Returns:
            float32, shape (rows, vocabulary_size): a view of llama.cpp's own buffer, that the next call overwrites.

        Raises:
            ValueError: too many tokens for the capacity, more rows than tokens or than a draft has, or an id that
                is not in the vocabulary. Nothing was evaluated.
            EvaluationCancelledError: `cancelled` said so; `tokens` tells what is held.
            OutOfMemoryError, LocalspecError: llama.cpp failed; `tokens` tells what is held.
        """
        count = len(tokens)
        wanted = count if rows is None else rows
        self._check(tokens, count, wanted)
        self._append(tokens, wanted, self.cancelled)
        return self._logits.rows(wanted)

    def truncate(self, length: int) -> None:
        """Forget every token from position `length` on.

        Where llama.cpp cannot (a recurrent state, a sliding window left behind), what stays is evaluated again.

        Raises:
            ValueError: `length` is negative or more than is held.
        """
        if not 0 <= length <= len(self._tokens):
            raise ValueError(f"cannot cut {len(self._tokens)} tokens to {length}")
        if length == len(self._tokens):
            return
        if length and self._cut(length):
            del self._tokens[length:]
            return
        kept = self._tokens[:length]
        if 0 < self._checkpoint.length <= length and self._checkpoint.restore():
            del self._tokens[self._checkpoint.length :]
            self._last_pass = 0
        else:
            self.clear()
        self._append(kept[len(self._tokens) :], 0, None)
        self._checkpoint_wanted = True

    def clear(self) -> None:
        """Forget everything."""
        low.llama_memory_clear(self._live_memory(), False)
        self._tokens.clear()
        self._checkpoint.drop()
        self._last_pass = 0

    def snapshot(self) -> Snapshot:
        """Copy what is held, to come back to it later or in another context of the same model and options."""
        size = low.llama_state_seq_get_size(self.pointer, 0)
        data = (ctypes.c_uint8 * size)()
        written = low.llama_state_seq_get_data(self.pointer, data, size, 0)
        return Snapshot(tuple(self._tokens), bytes(data[:written]) if written < size else bytes(data))

    def restore(self, snapshot: Snapshot) -> None:
        """Hold exactly what `snapshot` holds.

        Raises:
            ValueError: it is longer than the capacity, or of another model or other options; nothing is held then.
        """
        self.clear()
        if not snapshot.tokens:
            return
        if len(snapshot.tokens) > self._capacity:
            raise ValueError(f"{len(snapshot.tokens)} tokens do not fit into {self._capacity}")
        data = (ctypes.c_uint8 * len(snapshot.data)).from_buffer_copy(snapshot.data)
        if not low.llama_state_seq_set_data(self.pointer, data, len(snapshot.data), 0):
            self.clear()
            raise ValueError("the snapshot is of another model or was made with other options")
        self._tokens.extend(snapshot.tokens)

    def _check(self, tokens: Sequence[int], count: int, wanted: int) -> None:
        if not 0 <= wanted <= min(count, self._logits.most_rows):
            raise ValueError(f"{wanted} rows of logits wanted after {count} tokens; at most {self._logits.most_rows}")
        if len(self._tokens) + count > self._capacity:
            raise ValueError(f"{len(self._tokens)} + {count} tokens do not fit into {self._capacity}")
        if count and not (min(tokens) >= 0 and max(tokens) < self._vocabulary_size):
            raise ValueError(f"an id is not in the vocabulary of {self._vocabulary_size}")

    def _append(self, tokens: Sequence[int], rows: int, cancelled: Callable[[], bool] | None) -> None:
        """Evaluate `tokens` in as many passes as they need."""
        count, size = len(tokens), self._batch.size
        if count == 0:
            return
        # The first pass takes the odd rest, so that the last one is full and holds every row.
        first = count % size or size
        self._pass(tokens[:first] if first < count else tokens, rows if first == count else 0, cancelled)
        for start in range(first, count, size):
            self._pass(tokens[start : start + size], rows if start + size == count else 0, cancelled)

    def _pass(self, tokens: Sequence[int], rows: int, cancelled: Callable[[], bool] | None) -> None:
        """One `llama_decode`; afterwards `self._tokens` is what the cache holds, also when it failed."""
        pointer = self.pointer
        warnings = log.capture.warnings
        if self._stateful and len(tokens) == 1:
            self._keep_state()
        try:
            code = self._batch.decode(pointer, tokens, len(self._tokens), rows, cancelled)
        except BaseException:
            # Ctrl-C during a pass is raised right after it: ask whether it was still done.
            self._tokens.extend(tokens)
            self._settle()
            raise
        self._tokens.extend(tokens)
        self._last_pass = len(tokens)
        if code == 0:
            return
        self._settle()
        if code == ABORTED:
            raise self._batch.interruption or EvaluationCancelledError
        raise decode_failure(code, log.capture.since(warnings))

    def _keep_state(self) -> None:
        """Before a pass of one token, which a later cut may take back along with others: copy a recurrent state.

        Once after each step back, and again when the copy is as old as the longest draft.
        """
        length = len(self._tokens)
        if length and (self._checkpoint_wanted or length - self._checkpoint.length >= MOST_ROWS):
            self._checkpoint.take(length)
            self._checkpoint_wanted = False

    def _settle(self) -> None:
        """After a failed pass: llama.cpp keeps the micro-batches that went through, so ask how far it came."""
        memory = self._live_memory()
        held = int(low.llama_memory_seq_pos_max(memory, 0)) + 1
        if self._stateful or not self._reaches_back(held):
            self.clear()
        else:
            del self._tokens[held:]

    def _cut(self, length: int) -> bool:
        """Remove the tokens from `length` on in place; False when the cache is not then what it should be."""
        memory = self._live_memory()
        if self._stateful and len(self._tokens) - length >= self._last_pass:
            return False
        if not low.llama_memory_seq_rm(memory, 0, length, -1):
            return False
        self._last_pass = 0
        self._checkpoint_wanted = True
        return low.llama_memory_seq_pos_max(memory, 0) == length - 1 and self._reaches_back(length)

    def _reaches_back(self, length: int) -> bool:
        """Whether a token at position `length` finds all that it attends to.

        A sliding-window cache without the full length may have dropped what an earlier token looks back on, and says
        so only by its lowest position.
        """
        window = self.model.sliding_window
        if not window or self.options.full_window_cache or length == 0:
            return True
        return bool(0 <= low.llama_memory_seq_pos_min(self._live_memory(), 0) <= max(0, length - window))

    def _live_memory(self) -> Any:
        return self._memory if self.pointer else None
