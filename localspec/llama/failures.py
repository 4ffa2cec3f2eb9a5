"""llama.cpp's own words turned into errors for a person."""

from __future__ import annotations

import re
from pathlib import Path

from localspec.errors import LocalspecError, ModelFileError, OutOfMemoryError
from localspec.llama.log import LogLine, words_of

_NO_MEMORY = re.compile(
    r"out of memory|failed to allocate|unable to allocate|insufficient memory|bad_alloc|cannot allocate memory"
    r"|could not reserve|\bOOM\b|not enough memory",
    re.IGNORECASE,
)
_CUT_SHORT = re.compile(
    r"not within the file bounds|corrupted or incomplete|unexpectedly reached end|failed to (read|seek)|read error",
    re.IGNORECASE,
)
_UNKNOWN_KIND = re.compile(
    r"unknown (model )?architecture|unknown (pre-?tokenizer|tokenizer)|unsupported model|invalid ggml type",
    re.IGNORECASE,
)


def ran_out_of_memory(lines: list[LogLine]) -> bool:
    """Whether llama.cpp said so."""
    return any(_NO_MEMORY.search(line.text) for line in lines)


def load_failure(path: Path, lines: list[LogLine]) -> LocalspecError:
    """Why llama.cpp refused to load `path`, from what it logged meanwhile."""
    text = "\n".join(line.text for line in lines)
    said = _quote(lines)
    if ran_out_of_memory(lines):
        return OutOfMemoryError(
            f"Not enough memory for the model {path.name}",
            said,
            "Close other programs, put fewer layers on the GPU, or choose a smaller model.",
        )
    if _CUT_SHORT.search(text):
        return ModelFileError(
            f"The model file {path.name} is incomplete or damaged", said, "Download it again, and check its size."
        )
    if _UNKNOWN_KIND.search(text):
        return ModelFileError(
            f"This llama.cpp does not know the kind of model in {path.name}",
            said,
            "Update llama-cpp-python, or choose another model.",
        )
    return ModelFileError(
        f"The model {path.name} could not be loaded", said, "Check that it is a GGUF of a language model, and whole."
    )


def context_failure(context_length: int, kv_type: str, lines: list[LogLine]) -> LocalspecError:
    """Why llama.cpp refused to make a context, from what it logged meanwhile."""
    said = _quote(lines)
    if ran_out_of_memory(lines):
        return OutOfMemoryError(
            f"Not enough memory for a context of {context_length} tokens",
            said,
            "Ask for a shorter context, or for a smaller KV type such as q8_0.",
        )
    return LocalspecError(
        f"llama.cpp could not make a context of {context_length} tokens with KV type {kv_type}",
        said,
        "Try KV type f16 and flash attention auto.",
    )


def decode_failure(code: int, lines: list[LogLine]) -> LocalspecError:
    """Why `llama_decode` answered `code` (not 0, not 2: see llama.h)."""
    said = _quote(lines)
    if code == -2 or ran_out_of_memory(lines):
        return OutOfMemoryError(
            "Not enough memory for the next tokens", said, "Close other programs, or start with a shorter context."
        )
    return LocalspecError(
        f"llama.cpp could not evaluate the next tokens (code {code})",
        said,
        "Start the models again; `localspec doctor` tests this machine.",
    )


def _quote(lines: list[LogLine]) -> str:
    words = words_of(lines)
    return f"llama.cpp says: {words}" if words else "llama.cpp gave no reason."
