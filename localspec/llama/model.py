"""A GGUF model in memory: loaded with progress and cancel, asked what it is, freed once."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from localspec.errors import LocalspecError, OutOfMemoryError
from localspec.llama import log
from localspec.llama.bindings import low
from localspec.llama.devices import GPU_KINDS, NO_GPU_NAMES, device_handle, devices
from localspec.llama.failures import load_failure
from localspec.llama.gguf_start import check_gguf_start
from localspec.llama.library import initialise
from localspec.llama.log import LogLine
from localspec.llama.memory import available_bytes, buffers_in, gigabytes

if TYPE_CHECKING:
    from localspec.llama.context import Context

Progress = Callable[[float], bool]
"""Called while a model loads, with the part done (0 to 1); False stops the loading."""

# enum llama_load_mode
_AUTO = -1
_READ = 0
_MAP = 1


class LoadCancelledError(LocalspecError):
    """The progress callback stopped the loading of a model."""

    exit_code = 130


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Where and how to keep a model's weights.

    Attributes:
        device: name of the one device to use (see `devices.devices`); "cpu" for none but the CPU; None for all.
        gpu_layers: layers to keep on the GPU; None for all that fit llama.cpp's own idea.
        memory_map: map the file instead of reading it. None leaves it to llama.cpp where a GPU is used, and reads on
            the CPU alone: its backend repacks weights to a copy of its own, and with a mapping both stay in memory.
        vocabulary_only: leave the weights out: enough to compare or tokenize, not to evaluate.
    """

    device: str | None = None
    gpu_layers: int | None = None
    memory_map: bool | None = None
    vocabulary_only: bool = False


class Model:
    """The weights and the vocabulary of one GGUF file. Use it in a `with` block, or call `close`."""

    def __init__(self, path: Path, options: ModelOptions | None = None, progress: Progress | None = None) -> None:
        """Load `path`.

        Args:
            path: a GGUF file; of a split model, the first part.
            options: where and how to keep the weights.
            progress: called as the weights come in; may return False to stop.

        Raises:
            UsageError: no such file, not a GGUF, or no such device.
            ModelFileError: the file is damaged, cut short, or of a kind this llama.cpp does not know.
            OutOfMemoryError: the weights do not fit.
            LoadCancelledError: `progress` returned False.
        """
        options = options or ModelOptions()
        initialise()
        self.path = path
        self.options = options
        self.contexts: weakref.WeakSet[Context] = weakref.WeakSet()
        check_gguf_start(path)
        self.uses_gpu = options.gpu_layers != 0 and _may_use_gpu(options.device)
        """Whether weights or KV cache may lie on a GPU."""
        mode = _load_mode(options.memory_map, self.uses_gpu)
        if mode == _READ and not options.vocabulary_only:
            _check_memory(path)
        self._pointer, lines = _load(path, _parameters(options, mode), progress)
        self._free = weakref.finalize(self, low.llama_model_free, self._pointer)
        self.buffers = buffers_in(lines)
        """Where its weights lie."""
        self.vocabulary_pointer: Any = low.llama_model_get_vocab(self._pointer)

    @property
    def pointer(self) -> Any:
        """llama.cpp's `llama_model *`.

        Raises:
            RuntimeError: the model is closed.
        """
        if not self._free.alive:
            raise RuntimeError(f"the model {self.path.name} is closed")
        return self._pointer

    def close(self) -> None:
        """Free the model and every context made of it; a second call does nothing."""
        for context in list(self.contexts):
            context.close()
        self._free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def metadata(self) -> dict[str, str]:
        """Every key of the GGUF with its value as text; arrays (token lists) are left out."""
        return {
            _sized(low.llama_model_meta_key_by_index, self.pointer, index): _sized(
                low.llama_model_meta_val_str_by_index, self.pointer, index
            )
            for index in range(low.llama_model_meta_count(self.pointer))
        }

    @cached_property
    def architecture(self) -> str:
        """Such as "llama", "qwen2", "gemma3"."""
        return self.metadata.get("general.architecture", "")

    @cached_property
    def description(self) -> str:
        """Architecture, size and quantization in llama.cpp's words, such as "qwen2 1.5B Q8_0"."""
        return _sized(low.llama_model_desc, self.pointer)

    @cached_property
    def chat_template(self) -> str | None:
        """The GGUF's default chat template (Jinja), if it has one."""
        text = low.llama_model_chat_template(self.pointer, None)
        return None if text is None else str(text.decode("utf-8", "replace"))

    @cached_property
    def size_bytes(self) -> int:
        """Bytes of all tensors (llama.h: `llama_model_size`)."""
        return int(low.llama_model_size(self.pointer))

    @cached_property
    def parameters(self) -> int:
        """How many weights it has."""
        return int(low.llama_model_n_params(self.pointer))

    @cached_property
    def vocabulary_size(self) -> int:
        """Columns of a row of logits, padding included."""
        return int(low.llama_vocab_n_tokens(self.vocabulary_pointer))

    @cached_property
    def trained_context(self) -> int:
        """The longest text it was trained on, in tokens."""
        return int(low.llama_model_n_ctx_train(self.pointer))

    @cached_property
    def layers(self) -> int:
        """How many layers it has."""
        return int(low.llama_model_n_layer(self.pointer))

    @cached_property
    def width(self) -> int:
        """Numbers in a token's hidden state."""
        return int(low.llama_model_n_embd(self.pointer))

    @cached_property
    def sliding_window(self) -> int:
        """Tokens that its sliding-window layers look back on; 0 when it has none."""
        return int(low.llama_model_n_swa(self.pointer))

    @cached_property
    def is_recurrent(self) -> bool:
        """Whether its memory is a state, not a cache of keys and values (Mamba, RWKV)."""
        return bool(low.llama_model_is_recurrent(self.pointer))

    @cached_property
    def is_hybrid(self) -> bool:
        """Whether some of its layers keep a state and others a cache (Qwen3.5, LFM2, Jamba)."""
        return bool(low.llama_model_is_hybrid(self.pointer))

    @property
    def has_state(self) -> bool:
        """Whether any of its layers sums the text up in a state."""
        return self.is_recurrent or self.is_hybrid


def _may_use_gpu(device: str | None) -> bool:
    if device is not None and device.casefold() in NO_GPU_NAMES:
        return False
    return any(found.kind in GPU_KINDS for found in devices())


def _load_mode(memory_map: bool | None, uses_gpu: bool) -> int:
    if memory_map is None:
        return _AUTO if uses_gpu else _READ
    return _MAP if memory_map else _READ


def _check_memory(path: Path) -> None:
    """Refuse weights that are larger than the free memory: Linux would not refuse them, but end the process later."""
    needed, free = path.stat().st_size, available_bytes()
    if needed > free:
        raise OutOfMemoryError(
            f"Not enough memory for the model {path.name}",
            f"It takes {gigabytes(needed)}, and {gigabytes(free)} are free.",
            "Close other programs, or choose a smaller model.",
        )


def _parameters(options: ModelOptions, mode: int) -> Any:
    parameters = low.llama_model_default_params()
    parameters.load_mode = mode
    parameters.vocab_only = options.vocabulary_only
    if options.gpu_layers is not None:
        parameters.n_gpu_layers = options.gpu_layers
    if options.device is not None:
        chosen = [] if options.device.casefold() in NO_GPU_NAMES else [device_handle(options.device)]
        # llama.cpp wants the list to end in NULL; it reads it while it loads, and `parameters` keeps it alive.
        parameters.kept_devices = (ctypes.c_void_p * (len(chosen) + 1))(*chosen, None)
        parameters.devices = ctypes.cast(parameters.kept_devices, ctypes.c_void_p)
    return parameters


def _load(path: Path, parameters: Any, progress: Progress | None) -> tuple[Any, list[LogLine]]:
    """Load, and turn a NULL into the error it stands for."""
    stopped: list[BaseException] = []

    @low.llama_progress_callback  # type: ignore[untyped-decorator] # the bindings are untyped here
    def on_progress(part: float, _user_data: Any) -> bool:
        try:
            if progress is None or progress(part):
                return True
            stopped.append(LoadCancelledError("The loading was stopped"))
        except BaseException as error:  # noqa: BLE001 # ctypes would print and drop it; raised again below
            stopped.append(error)
        return False

    # Always set, so that Ctrl-C is noticed between tensors.
    parameters.progress_callback = on_progress
    with log.capture.recording() as lines:
        pointer = low.llama_model_load_from_file(os.fsencode(path), parameters)
    if pointer:
        return pointer, lines
    if stopped:
        raise stopped[0]
    raise load_failure(path, lines)


def _sized(function: Any, *arguments: Any) -> str:
    """Call one of llama.h's "write to a buffer, return the full length" functions."""
    size = 256
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = function(*arguments, buffer, size)
        if length < 0:
            return ""
        if length < size:
            return buffer.raw[:length].decode("utf-8", "replace")
        size = length + 1
