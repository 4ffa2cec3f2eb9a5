"""Making llama.cpp's context, or saying why it cannot be."""

from __future__ import annotations

from typing import Any

from localspec.llama import log
from localspec.llama.bindings import low
from localspec.llama.context_options import ContextOptions
from localspec.llama.failures import context_failure, context_too_long
from localspec.llama.log import LogLine
from localspec.llama.memory import available_bytes, buffers_in, gigabytes
from localspec.llama.model import Model

_PROBE_LENGTH = 1024


def allocate(model: Model, options: ContextOptions, length: int) -> tuple[Any, list[LogLine]]:
    """Make a context for `length` tokens: its `llama_context *`, and what llama.cpp logged meanwhile.

    Raises:
        OutOfMemoryError: it does not fit.
        LocalspecError: llama.cpp refuses these options for this model.
    """
    with log.capture.recording() as lines:
        pointer = low.llama_init_from_model(model.pointer, options.parameters(model, length))
    if not pointer:
        raise context_failure(length, options.kv_type, lines)
    return pointer, lines


def check_kv_memory(model: Model, options: ContextOptions, length: int) -> None:
    """Refuse a KV cache that is larger than the free memory: Linux would not refuse it, but end the process.

    llama.cpp itself says how much a token takes, asked with a small context, and only when the question is open.

    Raises:
        OutOfMemoryError: it does not fit.
    """
    if model.uses_gpu or (model.sliding_window and not options.full_window_cache):
        # A GPU refuses by itself; and a cache cut to the window does not grow with the length.
        return
    free = available_bytes()
    # A token has at most one key and one value of the model's width in each layer, of 4 bytes an element.
    if length * model.layers * model.width * 2 * 4 < free / 2:
        return
    probe = min(length, _PROBE_LENGTH)
    pointer, lines = allocate(model, options, probe)
    low.llama_free(pointer)
    needed = sum(buffer.size_bytes for buffer in buffers_in(lines) if buffer.use == "KV") * length / probe
    if needed > free:
        raise context_too_long(length, f"Its KV cache takes {gigabytes(needed)}, and {gigabytes(free)} are free.")
