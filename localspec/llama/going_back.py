"""Taking back the last tokens of a text, where llama.cpp can and where it only says that it did."""

from __future__ import annotations

from typing import Any

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.llama.bindings import low
from localspec.llama.checkpoint import Checkpoint
from localspec.llama.context_options import MOST_ROWS, ContextOptions
from localspec.llama.model import Model


class GoingBack:
    """Cuts the text of sequence 0 of one context, and knows when the cache is not then what it should be."""

    def __init__(self, context: Any, memory: Any, model: Model, options: ContextOptions) -> None:
        self._memory = memory
        self._window = 0 if options.full_window_cache else model.sliding_window
        self._stateful = model.has_state
        self._checkpoint = Checkpoint(context, memory)
        self._checkpoint_wanted = True
        # How many tokens the last pass had, if no step back came after it.
        self._last_pass = 0
        self.why_not = self._reason(context, model)
        """Why `cut` by up to a draft is dear, in words; None when it is cheap."""

    def before_pass(self, held: int, count: int) -> None:
        """Before a pass of one token, which a later cut may take back along with others: copy a recurrent state.

        Once after each step back, and again when the copy is as old as the longest draft.
        """
        if not (self._stateful and count == 1 and held):
            return
        if self._checkpoint_wanted or held - self._checkpoint.length >= MOST_ROWS:
            self._checkpoint.take(held)
            self._checkpoint_wanted = False

    def after_pass(self, count: int) -> None:
        """`count` tokens were evaluated."""
        self._last_pass = count

    def settled(self) -> int:
        """How many tokens are held after a failed pass; 0 also when what is held cannot be used.

        llama.cpp keeps the micro-batches that went through.
        """
        held = int(low.llama_memory_seq_pos_max(self._memory, 0)) + 1
        return 0 if self._stateful or not self._reaches_back(held) else held

    def cut(self, held: int, length: int) -> bool:
        """Remove the tokens from `length` on in place; False when the cache is not then what it should be."""
        if self._stateful and held - length >= self._last_pass:
            return False
        if not low.llama_memory_seq_rm(self._memory, 0, length, -1):
            return False
        self._last_pass = 0
        self._checkpoint_wanted = True
        return low.llama_memory_seq_pos_max(self._memory, 0) == length - 1 and self._reaches_back(length)

    def restore(self, length: int) -> int:
        """Go back to the copied state, if it is of the first `length` tokens or fewer; of how many, or 0."""
        if not (0 < self._checkpoint.length <= length and self._checkpoint.restore()):
            return 0
        self._last_pass = 0
        return self._checkpoint.length

    def evaluated_again(self) -> None:
        """What was to stay is held again: the next state is to be copied."""
        self._checkpoint_wanted = True

    def forget(self) -> None:
        """The cache was emptied."""
        self._checkpoint.drop()
        self._last_pass = 0

    def _reaches_back(self, length: int) -> bool:
        """Whether a token at position `length` finds all that it attends to.

        A sliding-window cache without the full length may have dropped what an earlier token looks back on, and says
        so only by its lowest position.
        """
        if not self._window or length == 0:
            return True
        return bool(0 <= low.llama_memory_seq_pos_min(self._memory, 0) <= max(0, length - self._window))

    def _reason(self, context: Any, model: Model) -> str | None:
        if not self._stateful or low.llama_n_rs_seq(context) > LONGEST_DRAFT:
            return None
        return (
            f"the architecture {model.architecture} sums the text up in a state, and this llama.cpp cannot take "
            "its last tokens back: every rejected guess would mean to evaluate the whole text again"
        )
