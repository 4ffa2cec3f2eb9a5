"""What a context can be asked for, in words, and what llama.cpp wants instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.errors import UsageError
from localspec.llama.bindings import low
from localspec.llama.model import Model
from localspec.llama.threads import default_threads

# The bindings name every ggml_type but bf16.
KV_TYPES: dict[str, int] = {
    "f32": low.GGML_TYPE_F32,
    "f16": low.GGML_TYPE_F16,
    "bf16": 30,
    "q8_0": low.GGML_TYPE_Q8_0,
    "q5_1": low.GGML_TYPE_Q5_1,
    "q5_0": low.GGML_TYPE_Q5_0,
    "iq4_nl": low.GGML_TYPE_IQ4_NL,
    "q4_1": low.GGML_TYPE_Q4_1,
    "q4_0": low.GGML_TYPE_Q4_0,
}
"""Names of the types that keys and values can be kept in, with their `ggml_type`; the ones llama-server takes."""

_WHOLE_KV_TYPES = frozenset({"f32", "f16", "bf16"})

_SPARSE = frozenset({"deepseek32", "deepseek4", "dots3note", "glm-dsa", "hy_v4", "minimax-m3"})
"""Architectures that choose by an index which tokens to look at: nobody tried whether the index knows branches."""

MOST_ROWS = LONGEST_DRAFT + 1
"""Rows of logits one evaluation may ask for: a whole draft and the token before it."""

MOST_BRANCHES = LONGEST_DRAFT
"""Branches of the widest tree: every guess of the longest draft for the same place."""


class FlashAttention(StrEnum):
    """Whether attention is computed without keeping its matrix."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


_FLASH_ATTENTION = {FlashAttention.AUTO: -1, FlashAttention.ON: 1, FlashAttention.OFF: 0}


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """How to set a context up.

    Attributes:
        length: most tokens a text may have; None for as many as the model was trained on.
        kv_type: a name of KV_TYPES.
        flash_attention: auto lets llama.cpp decide by backend.
        threads: for generating; None for one per full-speed core.
        batch_threads: for passes of several tokens; None for the same.
        batch: most tokens in one call of `llama_decode`.
        micro_batch: most tokens computed at once. The compute buffer grows with it: 512 took 54 MB more than 256 for
            a 1.5B and a 0.5B model together, and prompts 15 % less time on a CPU. None for 512 with a GPU, else 256.
        full_window_cache: keep all tokens in the cache of sliding-window layers too. Without it such a model cannot
            go back further than its window, and `truncate` evaluates the text again.
        branches: in how many ways the text may go on at once (see `BranchingModel`); 0 for one text alone. No pass gets
            slower, but llama.cpp then keeps room for so many rows of logits from the start (19 MB for 31 and a
            vocabulary of 152,000), which it else takes when they are first asked for.
        sequences: texts it holds side by side, each of that length; then none has branches.
        rows: most rows of logits that one pass puts out.
    """

    length: int | None = None
    kv_type: str = "f16"
    flash_attention: FlashAttention = FlashAttention.AUTO
    threads: int | None = None
    batch_threads: int | None = None
    batch: int = 512
    micro_batch: int | None = None
    full_window_cache: bool = True
    branches: int = 0
    sequences: int = 1
    rows: int = MOST_ROWS

    def __post_init__(self) -> None:
        if self.length is not None and self.length < 1:
            raise UsageError(f"A context of {self.length} tokens cannot hold a text", "", "Ask for 1 or more.")
        if self.kv_type not in KV_TYPES:
            raise UsageError(f"There is no KV type {self.kv_type!r}", f"There are: {', '.join(KV_TYPES)}.")
        if self.kv_type not in _WHOLE_KV_TYPES and self.flash_attention is FlashAttention.OFF:
            raise UsageError(
                f"KV type {self.kv_type} needs flash attention",
                "llama.cpp keeps values quantized only with flash attention, and it is off.",
                "Turn flash attention on or to auto, or take KV type f16.",
            )
        for name in ("threads", "batch_threads"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise UsageError(f"{count} threads cannot compute", "", "Ask for 1 or more.")
        if self.batch < 1 or (self.micro_batch is not None and self.micro_batch < 1):
            raise UsageError("A batch must hold 1 token or more")
        if not 0 <= self.branches <= MOST_BRANCHES:
            raise UsageError(f"A text cannot go on in {self.branches} ways", "", f"Ask for 0 to {MOST_BRANCHES}.")

    def why_no_branches(self, model: Model) -> str | None:
        """Why a text of this model cannot go on in several ways at once, in words; None when it can."""
        if model.has_state:
            return f"the architecture {model.architecture} sums the text up in a state, and a state has no branches"
        if model.architecture in _SPARSE:
            return f"the architecture {model.architecture} attends to a choice of tokens, and that was never tried"
        if model.sliding_window and not self.full_window_cache:
            return "its cache is cut to the sliding window, and llama.cpp would make room for a window of each branch"
        if not self.branches or self.sequences > 1:
            return "its context was made without branches"
        return None

    def parameters(self, model: Model, length: int) -> Any:
        """As `llama_context_params`, for texts of `length` tokens of `model`."""
        parameters = low.llama_context_default_params()
        parameters.n_ctx = length * self.sequences
        branches = 0 if self.why_no_branches(model) else self.branches
        # Branches share the cells of their text, and one more sequence has what was refused (`Branches`); texts side by
        # side have a cache each.
        parameters.kv_unified = branches > 0
        parameters.n_seq_max = branches + 1 if branches else self.sequences
        parameters.n_batch = max(self.batch, self.rows)
        parameters.n_ubatch = self.micro_batch or (512 if model.uses_gpu else 256)
        # llama.cpp keeps room for a row of each sequence in any case, and gives up where it may not.
        parameters.n_outputs_max = max(self.rows, parameters.n_seq_max)
        # A recurrent state cannot be cut: llama.cpp keeps the last ones, as many as one round may take back.
        parameters.n_rs_seq = MOST_ROWS if model.has_state else 0
        parameters.n_threads = self.threads or default_threads()
        parameters.n_threads_batch = self.batch_threads or parameters.n_threads
        parameters.type_k = parameters.type_v = KV_TYPES[self.kv_type]
        parameters.flash_attn_type = _FLASH_ATTENTION[self.flash_attention]
        parameters.swa_full = self.full_window_cache
        # llama.cpp's own timers cost calls to the clock in every pass, and nobody reads them.
        parameters.no_perf = True
        return parameters
