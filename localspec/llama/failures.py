"""llama.cpp's own words turned into errors for a person."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from localspec.errors import LocalspecError, ModelFileError, OutOfMemoryError
from localspec.llama.log import LogLine

_NO_MEMORY = re.compile(
    r"out of memory|failed to allocate|unable to allocate|insufficient memory|bad_alloc|cannot allocate memory"
    r"|could not reserve|not enough memory",
    re.IGNORECASE,
)
_DAMAGED = re.compile(
    r"not within the file bounds|corrupted|incomplete|unexpectedly reached end|failed to (read|seek)"
    r"|read error|invalid magic|invalid size|duplicate(d)? (key|tensor)",
    re.IGNORECASE,
)
_UNKNOWN_KIND = re.compile(
    r"unknown (model )?architecture|unknown (pre-?tokenizer|tokenizer)|unsupported model|invalid ggml type",
    re.IGNORECASE,
)
# Lines that say no more than that it failed; the reason stands in a line above.
_EMPTY_WORDS = re.compile(r"failed to load model( from file)?$|failed to initialize the context$")
# "llama_model_load: error loading model: ...": places in the source, which tell a person nothing.
_PLACES = re.compile(r"^(?:[a-z0-9]+_\w+: |error loading model: |failed to initialize the context: )+", re.IGNORECASE)


def load_failure(path: Path, lines: list[LogLine]) -> LocalspecError:
    """Why llama.cpp refused to load `path`, from what it logged meanwhile."""
    if said := _line_with(_NO_MEMORY, lines):
        return OutOfMemoryError(
            f"Not enough memory for the model {path.name}",
            said,
            "Close other programs, put fewer layers on the GPU, or choose a smaller model.",
        )
    if said := _line_with(_UNKNOWN_KIND, lines):
        return ModelFileError(
            f"This llama.cpp does not know the kind of model in {path.name}",
            said,
            "Update llama-cpp-python, or choose another model.",
        )
    if said := _line_with(_DAMAGED, lines):
        return ModelFileError(
            f"The model file {path.name} is incomplete or damaged", said, "Download it again, and check its size."
        )
    return ModelFileError(
        f"The model {path.name} could not be loaded",
        _last_words(lines),
        "Check that it is a GGUF of a language model, and whole.",
    )


def context_failure(context_length: int, kv_type: str, lines: list[LogLine]) -> LocalspecError:
    """Why llama.cpp refused to make a context, from what it logged meanwhile."""
    if said := _line_with(_NO_MEMORY, lines):
        return context_too_long(context_length, said)
    return LocalspecError(
        f"llama.cpp could not make a context of {context_length} tokens with KV type {kv_type}",
        _last_words(lines),
        "Try KV type f16 and flash attention auto.",
    )


def context_too_long(context_length: int, reason: str) -> OutOfMemoryError:
    """The KV cache does not fit."""
    return OutOfMemoryError(
        f"Not enough memory for a context of {context_length} tokens",
        reason,
        "Ask for a shorter context, or for a smaller KV type such as q8_0.",
    )


def decode_failure(code: int, lines: list[LogLine]) -> LocalspecError:
    """Why `llama_decode` answered `code` (not 0, not 2: see llama.h)."""
    said = _line_with(_NO_MEMORY, lines)
    if said or code == -2:
        return OutOfMemoryError(
            "Not enough memory for the next tokens",
            said or _last_words(lines),
            "Close other programs, or start with a shorter context.",
        )
    return LocalspecError(
        f"llama.cpp could not evaluate the next tokens (code {code})",
        _last_words(lines),
        "Start the models again; `localspec doctor` tests this machine.",
    )


def quantize_failure(source: Path, lines: list[LogLine]) -> LocalspecError:
    """Why llama.cpp could not write a requantized copy of `source`."""
    if _line_with(re.compile("iostream error|basic_ios"), lines):
        return LocalspecError(
            f"The requantized copy of {source.name} could not be written", "The disk may be full.", "Make room on it."
        )
    return ModelFileError(
        f"{source.name} could not be requantized", _last_words(lines), "Check that it is a whole GGUF model."
    )


def _line_with(pattern: re.Pattern[str], lines: list[LogLine]) -> str:
    telling = (line for line in reversed(lines) if pattern.search(line.text) and not _EMPTY_WORDS.search(line.text))
    return next(map(_quote, telling), "")


def _last_words(lines: list[LogLine]) -> str:
    """The last error that gives a reason, else the last warning."""
    for level in (logging.ERROR, logging.WARNING):
        for line in reversed(lines):
            if line.level == level and not _EMPTY_WORDS.search(line.text):
                return _quote(line)
    return "llama.cpp gave no reason."


def _quote(line: LogLine) -> str:
    return f"llama.cpp says: {_PLACES.sub('', line.text.strip())}"
