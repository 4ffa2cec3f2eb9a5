"""How much memory a pair takes, from its headers alone, and the longest context that a machine can hold.

What llama.cpp allocates, as measured on its own log lines and on the memory of processes that ran it on a CPU: weights
as in the file (repacking moves them, it does not copy them), keys and values of every layer, one buffer for the
intermediate results of a pass, rows of logits, and the vocabulary in the maps of a C++ program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psutil  # type: ignore[import-untyped] # its stubs are a package of their own

from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.errors import UsageError
from localspec.pairs.architectures import CAN_TAKE_BACK, HYBRID, RECURRENT
from localspec.pairs.gguf_types import TENSOR_TYPES
from localspec.pairs.sizes import gigabytes

if TYPE_CHECKING:
    from localspec.pairs.gguf_header import GgufHeader

_CPU_PASS, _GPU_PASS = 256, 512  # tokens computed at once, as the engine asks for
_ROWS = LONGEST_DRAFT + 1  # rows of logits, as the engine asks for
_STEP = 256  # llama.cpp rounds a context up to a multiple of this
_FLOAT = 4

_LIBRARY = 3 << 20
_TOKEN = 161  # bytes of the maps from text to token and back, measured
_MERGE = 155  # bytes of an entry of the map of merges, measured

_DEFAULT_INTERVAL = 4  # of full attention, in the Qwen3-Next family, where the file does not say


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory to fit into.

    Attributes:
        name: "memory" or "video memory".
        total: its size in bytes.
        usable: what of it two models may take: the system and this program, or the driver, need the rest.
        pass_tokens: tokens that a processor with this memory computes at once.
    """

    name: str
    total: int
    usable: int
    pass_tokens: int = _CPU_PASS

    @classmethod
    def of_machine(cls) -> Memory:
        """The main memory of this machine; a tenth of it, and 1 GB at least, is left to everything else."""
        total = psutil.virtual_memory().total
        return cls("memory", total, total - max(total // 10, 10**9))

    @classmethod
    def of_gpu(cls, total: int) -> Memory:
        """Video memory of `total` bytes; half a gigabyte is left to the driver and the screen."""
        return cls("video memory", total, max(0, total - (512 << 20)), _GPU_PASS)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of the caches.

    Attributes:
        context: tokens that both hold.
        kv_type: type of keys and values: "f16", "q8_0", ...
        flash_attention: whether attention runs without keeping its matrix; llama.cpp chooses so wherever it can.
    """

    context: int
    kv_type: str = "f16"
    flash_attention: bool = True

    @property
    def cells(self) -> int:
        """Tokens there is room for, as llama.cpp rounds them up."""
        return -(-self.context // _STEP) * _STEP


@dataclass(frozen=True, slots=True)
class ModelMemory:
    """What one loaded model takes, in bytes.

    Attributes:
        weights: all tensors.
        vocabulary: texts of the tokens and merges, as llama.cpp keeps them.
        cache: keys and values (and recurrent states) at the context.
        compute: intermediate results of a pass, and logits.
    """

    weights: int
    vocabulary: int
    cache: int
    compute: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.vocabulary + self.cache + self.compute


@dataclass(frozen=True, slots=True)
class PairFit:
    """Whether a pair fits.

    Attributes:
        target: what the target takes then.
        draft: what the draft takes then.
        wanted: what was asked for.
        largest_context: the most tokens that fit and the target was trained for, a multiple of 256; 0 when even 256
            do not fit.
        memory: what it has to fit into.
    """

    target: ModelMemory
    draft: ModelMemory
    wanted: Wanted
    largest_context: int
    memory: Memory

    @property
    def needed(self) -> int:
        """Bytes for both models."""
        return self.target.total + self.draft.total

    @property
    def fits(self) -> bool:
        """Whether both fit at the context that was asked for."""
        return self.needed <= self.memory.usable

    @property
    def machine_gigabytes(self) -> int:
        """Decimal gigabytes of main memory that a machine for this pair has."""
        return -(-max(self.needed * 10 // 9, self.needed + 10**9) // 10**9)

    @property
    def words(self) -> str:
        """The result as a sentence without a full stop."""
        needs = f"needs {gigabytes(self.needed)} at {self.wanted.context:,} tokens of context"
        has = f"{gigabytes(self.memory.usable)} of {gigabytes(self.memory.total)} {self.memory.name} can be used"
        if self.fits:
            return f"{needs}; {has}"
        if self.largest_context:
            return f"{needs}, and {has}; {self.largest_context:,} tokens would fit"
        return f"{needs}, and {has}; no context is short enough"


def pair_fit(target: GgufHeader, draft: GgufHeader, wanted: Wanted, memory: Memory) -> PairFit:
    """Whether both models fit into `memory`, and how long the context may be.

    Raises:
        UsageError: there is no such type of keys and values.
    """

    def needed(context: int) -> int:
        asked = replace(wanted, context=context)
        return sum(model_memory(header, asked, memory.pass_tokens).total for header in (target, draft))

    low, high = 0, max(1, (target.number("context_length") or wanted.context) // _STEP)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if needed(middle * _STEP) <= memory.usable else (low, middle - 1)
    return PairFit(
        model_memory(target, wanted, memory.pass_tokens),
        model_memory(draft, wanted, memory.pass_tokens),
        wanted,
        low * _STEP,
        memory,
    )


def model_memory(header: GgufHeader, wanted: Wanted, pass_tokens: int = _CPU_PASS) -> ModelMemory:
    """What llama.cpp takes for one model and one context of it.

    Raises:
        UsageError: there is no such type of keys and values.
    """
    merges = header.long_arrays.get("tokenizer.ggml.merges")
    tokens = len(header.tokens or ())
    return ModelMemory(
        weights=header.tensor_bytes,
        vocabulary=_LIBRARY + _TOKEN * tokens + _MERGE * (merges.count if merges else 0),
        cache=wanted.cells * cache_bytes_per_token(header, wanted.kv_type) + _state_bytes(header),
        compute=_compute_bytes(header, wanted, pass_tokens),
    )


def cache_bytes_per_token(header: GgufHeader, kv_type: str = "f16") -> int:
    """Bytes of keys and values of one token, over all layers that keep any (`llama_kv_cache`).

    Sliding-window layers count in full: the engine keeps their whole text, to be able to go back.
    """
    named = {kind.name.lower(): kind for kind in TENSOR_TYPES.values()}
    if kv_type not in named:
        raise UsageError(f"There is no KV type {kv_type!r}")
    kind = named[kv_type]
    values = 0 if header.number("attention.key_length_mla") else 1
    size = 0
    for heads, key, value in _layers_with_cache(header):
        size += -(-heads * key // kind.block) * kind.bytes + values * -(-heads * value // kind.block) * kind.bytes
    return size


def _layers_with_cache(header: GgufHeader) -> list[tuple[int, int, int]]:
    """(key-value heads, length of a key, length of a value) of each layer that keeps keys and values."""
    layers = header.layers
    heads = _heads(header, layers)
    head_length = (header.number("embedding_length") or 0) // max(1, max(heads, default=1))
    kv_heads = header.numbers("attention.head_count_kv", layers) or heads
    windowed = _windowed(header, layers)
    shared = header.number("attention.shared_kv_layers") or 0
    return [
        (
            kv_heads[layer],
            _length(header, "key", windowed=windowed[layer]) or head_length,
            _length(header, "value", windowed=windowed[layer]) or head_length,
        )
        for layer in range(layers - shared)
        if kv_heads[layer] and not _recurrent(header, layer)
    ]


def _length(header: GgufHeader, what: str, *, windowed: bool) -> int | None:
    """Length of a "key" or "value" of one head, which sliding-window layers may have of their own."""
    own = header.number(f"attention.{what}_length_swa") if windowed else None
    return own or header.number(f"attention.{what}_length")


def _heads(header: GgufHeader, layers: int) -> tuple[int, ...]:
    return header.numbers("attention.head_count", layers) or (1,) * layers


def _windowed(header: GgufHeader, layers: int) -> tuple[bool, ...]:
    """Which layers attend to a sliding window, where the file says so layer by layer."""
    pattern = header.metadata.get(f"{header.architecture}.attention.sliding_window_pattern")
    if isinstance(pattern, tuple) and len(pattern) >= layers:
        return tuple(bool(item) for item in pattern)
    return (False,) * layers


def _recurrent(header: GgufHeader, layer: int) -> bool:
    """Whether a layer sums up in a state instead of keeping keys and values."""
    if header.architecture in RECURRENT:
        return True
    if header.architecture not in HYBRID:
        return False
    layers = header.layers
    kv_heads = header.numbers("attention.head_count_kv", layers)
    if kv_heads is not None and 0 in kv_heads:
        return kv_heads[layer] == 0
    interval = header.number("full_attention_interval") or _DEFAULT_INTERVAL
    return (layer + 1) % interval != 0


def _state_bytes(header: GgufHeader) -> int:
    """Recurrent states (`llama_memory_recurrent`): one now, and one for each token that a round may take back."""
    layers = header.layers
    count = sum(_recurrent(header, layer) for layer in range(layers))
    if not count:
        return 0
    state = (header.number("ssm.state_size") or 0) * (header.number("ssm.inner_size") or 0)
    width = header.number("embedding_length") or 0
    if short := header.number("shortconv.l_cache"):
        convolution = width * (short - 1)
    else:
        groups = 2 * (header.number("ssm.group_count") or 0) * (header.number("ssm.state_size") or 0)
        convolution = ((header.number("ssm.conv_kernel") or 1) - 1) * ((header.number("ssm.inner_size") or 0) + groups)
    kept = 1 + (_ROWS if header.architecture in CAN_TAKE_BACK else 0)
    return count * kept * (state + convolution) * _FLOAT


def _compute_bytes(header: GgufHeader, wanted: Wanted, pass_tokens: int) -> int:
    """The buffer for one pass (`sched_reserve`), and the rows of logits that are copied out of it.

    The masks live all the time; the rest is the most of three moments: inside the feed-forward part (gate, up, their
    product and the stream of the layer), inside attention when it keeps its matrix, and at the logits.
    """
    layers = header.layers
    stream = pass_tokens * (header.number("embedding_length") or 0) * _FLOAT
    matrix = pass_tokens * wanted.cells * _FLOAT
    masks = (2 if header.number("attention.sliding_window") else 1) * matrix // (2 if wanted.flash_attention else 1)
    logits = _ROWS * len(header.tokens or ()) * _FLOAT
    feed_forward = 3 * pass_tokens * _widest_feed_forward(header, layers) * _FLOAT + 4 * stream
    attention = 0 if wanted.flash_attention else max(_heads(header, layers)) * matrix + 5 * stream
    return masks + max(feed_forward, attention, logits) + logits


def _widest_feed_forward(header: GgufHeader, layers: int) -> int:
    dense = max(header.numbers("feed_forward_length", layers) or (0,))
    experts = (header.number("expert_feed_forward_length") or 0) * (header.number("expert_used_count") or 0)
    return max(dense if not experts or dense < 2 * experts else experts, experts)
