"""Copies of a model in another precision or with fewer layers, written by llama.cpp."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from localspec.errors import LocalspecError, UsageError
from localspec.llama import log
from localspec.llama.bindings import low
from localspec.llama.failures import quantize_failure
from localspec.llama.gguf_start import PRUNED_KEY, check_gguf_start
from localspec.llama.library import initialise
from localspec.llama.log import LogLine
from localspec.llama.threads import default_threads

# Requantizing goes through float32; by default llama.cpp holds up to 8 GiB of it at once.
_MOST_BUFFER_BYTES = 256 * 1024 * 1024

# enum llama_model_kv_override_type
_TEXT_OVERRIDE = 3
_LONGEST_TEXT = 127  # bytes

_TENSOR_LINE = re.compile(r"^\[\s*(\d+)/\s*(\d+)\]")


def _named(prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): value for name, value in vars(low).items() if name.startswith(prefix)}


FILE_TYPES: dict[str, int] = _named("LLAMA_FTYPE_MOSTLY_")
"""Names of file types ("Q8_0", "Q4_K_M", ...) with their `llama_ftype`."""

TENSOR_TYPES: dict[str, int] = _named("GGML_TYPE_")
"""Names of tensor types ("Q8_0", "F16", ...) with their `ggml_type`."""


def quantize(  # noqa: PLR0913 # each is a choice of its own, and the last three go by name
    source: Path,
    destination: Path,
    file_type: str,
    *,
    output_type: str | None = None,
    embedding_type: str | None = None,
    progress: Callable[[float], object] | None = None,
) -> None:
    """Write `destination`, a copy of `source` with its weights in `file_type` (`llama_model_quantize`).

    `destination` appears only when it is whole. A quantized source may be quantized again; that loses a little more
    than quantizing the original would.

    Args:
        source: a GGUF model.
        destination: the file to write; replaced when it exists.
        file_type: a name of FILE_TYPES, in either letter case.
        output_type: a name of TENSOR_TYPES for the output matrix; None for what goes with `file_type`.
        embedding_type: the same for the token embeddings.
        progress: called with the part done, 0 to 1, once for each tensor; must not raise.

    Raises:
        UsageError: no such source, or no such type.
        ModelFileError: the source cannot be requantized.
        LocalspecError: the copy cannot be written.
    """
    initialise()
    check_gguf_start(source)
    parameters = low.llama_model_quantize_default_params()
    parameters.nthread = default_threads()
    parameters.ftype = _lookup(FILE_TYPES, file_type, "file")
    parameters.allow_requantize = True
    parameters.max_buf_size = _MOST_BUFFER_BYTES
    if output_type is not None:
        parameters.output_tensor_type = _lookup(TENSOR_TYPES, output_type, "tensor")
    if embedding_type is not None:
        parameters.token_embedding_type = _lookup(TENSOR_TYPES, embedding_type, "tensor")
    _copy(source, destination, parameters, progress)


def prune(source: Path, destination: Path, layers: Iterable[int], note: str) -> None:
    """Write `destination`, a copy of `source` without some of its layers (`prune_layers`); the others move up.

    What llama.cpp gives a layer by its number (a sliding window, its own key length) goes to the one that has the
    number then: whether that does harm is for the caller to judge.

    Args:
        source: a GGUF model, as `quantize` takes it.
        destination: the file to write; replaced when it exists. It appears only when it is whole.
        layers: numbers of the layers to leave out, from 0; none for a plain copy.
        note: what the copy is, for its metadata (PRUNED_KEY); cut at 127 bytes.

    Raises:
        UsageError: no such source.
        ModelFileError: the source cannot be copied.
        LocalspecError: the copy cannot be written.
    """
    initialise()
    check_gguf_start(source)
    parameters = low.llama_model_quantize_default_params()
    parameters.only_copy = True
    parameters.max_buf_size = _MOST_BUFFER_BYTES
    left_out = sorted(set(layers))
    numbers = (ctypes.c_int32 * (len(left_out) + 1))(*left_out, -1)
    parameters.prune_layers = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int32))
    overrides = (low.llama_model_kv_override * 2)()
    overrides[0].tag = _TEXT_OVERRIDE
    overrides[0].key = PRUNED_KEY.encode()
    overrides[0].value.val_str = note.encode()[:_LONGEST_TEXT]
    parameters.kv_overrides = ctypes.cast(overrides, ctypes.POINTER(low.llama_model_kv_override))
    _copy(source, destination, parameters, None)


def _copy(source: Path, destination: Path, parameters: object, progress: Callable[[float], object] | None) -> None:
    """Let llama.cpp write beside `destination`, and move what is whole there."""
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        part = destination.with_name(f".{destination.name}.{os.getpid()}.part")
        try:
            _write(source, part, parameters, progress)
            part.replace(destination)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise LocalspecError(
            f"{destination} could not be written", f"{error.strerror}.", "Check the folder's rights and its room."
        ) from error


def _write(source: Path, part: Path, parameters: object, progress: Callable[[float], object] | None) -> None:
    def on_line(line: LogLine) -> None:
        if progress is not None and (found := _TENSOR_LINE.match(line.text)):
            progress(int(found[1]) / int(found[2]))

    with ExitStack() as stack:
        lines = stack.enter_context(log.capture.recording())
        stack.enter_context(log.capture.listening(on_line))
        code = low.llama_model_quantize(os.fsencode(source), os.fsencode(part), ctypes.byref(parameters))  # type: ignore[arg-type] # a structure of the bindings
    if code != 0:
        raise quantize_failure(source, lines)


def _lookup(types: dict[str, int], name: str, kind: str) -> int:
    try:
        return types[name.upper()]
    except KeyError:
        raise UsageError(f"There is no {kind} type {name!r}", f"There are: {', '.join(types)}.") from None
