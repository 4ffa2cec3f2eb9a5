"""A model's KV cache and its logits: a `localspec.decoding.language_model.LanguageModel`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from localspec.decoding.language_model import LogitRows
from localspec.llama import log
from localspec.llama.allocation import allocate, check_kv_memory
from localspec.llama.batch import ABORTED, TokenBatch
from localspec.llama.bindings import low
from localspec.llama.branches import Branches
from localspec.llama.context_options import MOST_ROWS, ContextOptions
from localspec.llama.failures import decode_failure
from localspec.llama.going_back import GoingBack
from localspec.llama.logits import LogitBuffer
from localspec.llama.memory import buffers_in
from localspec.llama.model import Model
from localspec.llama.snapshot import Snapshot


class EvaluationCancelledError(Exception):
    """`Context.cancelled` stopped a long pass; the context holds what was evaluated before."""


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
        self._back = GoingBack(self._pointer, self._memory, model, options)
        self._branches = Branches(self._pointer, self._memory, self._batch, self._tokens, options.branches)
        self.why_no_branches = options.why_no_branches(model)
        """Why it holds one text alone, in words; None when `evaluate_tree` is possible."""
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
        self._require_open()
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
        return self._back.why_not

    @property
    def can_branch(self) -> bool:
        """Whether a text can go on in several ways at once."""
        return self.why_no_branches is None

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
        wanted = len(tokens) if rows is None else rows
        self._check(tokens, wanted)
        self._require_no_branches()
        self._append(tokens, wanted, self.cancelled)
        return self._logits.rows(wanted)

    def evaluate_tree(self, tokens: Sequence[int], parents: Sequence[int], rows: int | None = None) -> LogitRows:
        """Let the text go on in several ways at once, in one pass; see `BranchingModel`. After a failure none is held.

        Returns:
            As `evaluate`.

        Raises:
            ValueError: as `evaluate`, more tokens than one pass takes, more branches than ContextOptions has, parents
                that are none, or `why_no_branches`. Nothing was evaluated.
            EvaluationCancelledError, OutOfMemoryError, LocalspecError: as `evaluate`.
        """
        if self.why_no_branches is not None:
            raise ValueError(f"no branches: {self.why_no_branches}")
        wanted = len(tokens) if rows is None else rows
        self._check(tokens, wanted)
        if len(tokens) > self._batch.size:
            raise ValueError(f"a tree of {len(tokens)} tokens; one pass takes {self._batch.size}")
        if tokens:
            warnings = log.capture.warnings
            self._require(self._branches.evaluate(tokens, parents, wanted, self.cancelled), warnings)
        return self._logits.rows(wanted)

    def keep(self, path: Sequence[int]) -> None:
        """Make one path of the branches part of the text; see `BranchingModel`. Nothing is evaluated again.

        Raises:
            ValueError: these tokens do not follow each other from the text on. Nothing has changed.
        """
        self._branches.keep(path)

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
        self._require_open()
        self._branches.leave(length)
        if length and self._back.cut(len(self._tokens), length):
            del self._tokens[length:]
            return
        kept = self._tokens[:length]
        restored = self._back.restore(length)
        if restored:
            del self._tokens[restored:]
        else:
            self.clear()
        self._append(kept[restored:], 0, None)
        self._back.evaluated_again()

    def clear(self) -> None:
        """Forget everything."""
        self._require_open()
        low.llama_memory_clear(self._memory, False)
        self._tokens.clear()
        self._branches.forget()
        self._back.forget()

    def snapshot(self) -> Snapshot:
        """Copy what is held, to come back to it later or in another context of the same model and options."""
        self._require_no_branches()
        return Snapshot.of(self.pointer, self._tokens)

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
        if not snapshot.put_into(self.pointer):
            self.clear()
            raise ValueError("the snapshot is of another model or was made with other options")
        self._tokens.extend(snapshot.tokens)

    def _check(self, tokens: Sequence[int], wanted: int) -> None:
        count = len(tokens)
        if not 0 <= wanted <= min(count, self._logits.most_rows):
            raise ValueError(f"{wanted} rows of logits wanted after {count} tokens; at most {self._logits.most_rows}")
        if len(self._tokens) + count > self._capacity:
            raise ValueError(f"{len(self._tokens)} + {count} tokens do not fit into {self._capacity}")
        if count and not (min(tokens) >= 0 and max(tokens) < self._vocabulary_size):
            raise ValueError(f"an id is not in the vocabulary of {self._vocabulary_size}")

    def _require_no_branches(self) -> None:
        if self._branches.held:
            raise ValueError("branches are held: keep one, or cut back to the text before them")

    def _append(self, tokens: Sequence[int], rows: int, cancelled: Callable[[], bool] | None) -> None:
        """Evaluate `tokens` in as many passes as they need."""
        count, size = len(tokens), self._batch.size
        if count == 0:
            return
        self._branches.make_room(count)
        # The first pass takes the odd rest, so that the last one is full and holds every row.
        first = count % size or size
        self._pass(tokens[:first] if first < count else tokens, rows if first == count else 0, cancelled)
        for start in range(first, count, size):
            self._pass(tokens[start : start + size], rows if start + size == count else 0, cancelled)

    def _pass(self, tokens: Sequence[int], rows: int, cancelled: Callable[[], bool] | None) -> None:
        """One `llama_decode`; afterwards `self._tokens` is what the cache holds, also when it failed."""
        pointer = self.pointer
        warnings = log.capture.warnings
        self._back.before_pass(len(self._tokens), len(tokens))
        try:
            code = self._batch.decode(pointer, tokens, len(self._tokens), rows, cancelled)
        except BaseException:
            # Ctrl-C during a pass is raised right after it: ask whether it was still done.
            self._tokens.extend(tokens)
            self._settle()
            raise
        self._tokens.extend(tokens)
        self._back.after_pass(len(tokens))
        if code != 0:
            self._settle()
        self._require(code, warnings)

    def _require(self, code: int, warnings: int) -> None:
        """Raise what an answer of `llama_decode` other than 0 means, told by what llama.cpp logged since."""
        if code == ABORTED:
            raise self._batch.interruption or EvaluationCancelledError
        if code != 0:
            raise decode_failure(code, log.capture.since(warnings))

    def _settle(self) -> None:
        """After a failed pass: hold what it left, if that can be used."""
        held = self._back.settled()
        if held:
            del self._tokens[held:]
        else:
            self.clear()

    def _require_open(self) -> None:
        if not self._free.alive:
            raise RuntimeError(f"the context of {self.model.path.name} is closed")
