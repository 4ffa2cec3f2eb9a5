"""Why a process that held models died, in words, from its exit code and what it had logged."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from localspec.errors import EngineDiedError

AMX_IN_USE = "AMX kernels in use"
"""The engine logs this line at its start when llama.cpp will compute with AMX instructions."""

_NO_AMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
BUILD_WITHOUT_AMX = (
    f"CMAKE_ARGS=\"-DCMAKE_C_FLAGS='{_NO_AMX}' -DCMAKE_CXX_FLAGS='{_NO_AMX}'\" "
    "pip install --force-reinstall --no-deps --no-cache-dir --no-binary llama-cpp-python llama-cpp-python"
)
"""The command that builds the bindings again without AMX."""

_FAULTS = {signal.SIGSEGV, signal.SIGILL, getattr(signal, "SIGBUS", signal.SIGSEGV)}
_DAMAGED = "If a model was being loaded, its file is damaged or of a kind unknown here: fetch it again, or try another."
_NO_MEMORY = re.compile(
    r"bad_alloc|out of memory|failed to allocate|MemoryError|cudaErrorMemoryAllocation", re.IGNORECASE
)

# What says most first; of each kind the last line in the log.
_TELLING = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^.*GGML_ASSERT\(.*$",
        r"^.*(?:CUDA|Metal|Vulkan|HIP|SYCL) error.*$",
        r"^ *what\(\):.*$",
        r"^.*terminate called.*$",
        r"^[\w.]*(?:Error|Exception): .*$",
        r"^ERROR .*$",
    )
)


def explain_death(exit_code: int, log: str, log_file: Path) -> EngineDiedError:
    """Say why the process ended.

    Args:
        exit_code: as `subprocess` gives it: minus the signal's number when a signal ended the process.
        log: what the process had written.
        log_file: where that is, for the person.
    """
    quoted = telling_line(log)
    said = f" It had said: {quoted}" if quoted else ""
    where = f"The log is in {log_file}."
    number = _signal(exit_code)
    if number in _FAULTS and AMX_IN_USE in log:
        return EngineDiedError(
            f"The engine crashed ({_name(number)}) in AMX instructions",
            "llama.cpp was built to use AMX, and this machine (probably a virtual one) offers AMX but faults on it.",
            f"Build llama-cpp-python without it:\n{BUILD_WITHOUT_AMX}",
        )
    if number is signal.SIGILL:
        return EngineDiedError(
            "The engine crashed (SIGILL: an instruction this processor does not have)",
            f"llama.cpp was probably built on another machine, for another processor.{said}",
            f"Build llama-cpp-python again on this machine. {where}",
        )
    if number is getattr(signal, "SIGKILL", None) or (number is signal.SIGABRT and _NO_MEMORY.search(log)):
        return EngineDiedError(
            f"The engine was killed ({_name(number)}), most likely for lack of memory",
            f"When memory runs out, the system ends the process that takes most of it.{said}",
            f"Close other programs, ask for a shorter context, or choose a smaller model. {where}",
        )
    if number is signal.SIGABRT:
        return EngineDiedError(
            "llama.cpp gave up (SIGABRT)",
            said.strip() or "It gave no reason.",
            f"{_DAMAGED} Else start the engine again. {where}",
        )
    if number is not None:
        crashed = number in _FAULTS
        again = "Start the engine again; `localspec doctor` tests this machine."
        return EngineDiedError(
            f"The engine {'crashed' if crashed else 'was ended'} ({_name(number)})",
            said.strip() or "It gave no reason.",
            f"{_DAMAGED} {again} {where}" if crashed else f"{again} {where}",
        )
    return EngineDiedError(
        f"The engine ended by itself (exit code {exit_code})",
        said.strip() or "It gave no reason.",
        f"Start the engine again; `localspec doctor` tests this machine. {where}",
    )


def telling_line(log: str) -> str:
    """The line of a log that says most about a crash; "" when none does."""
    for pattern in _TELLING:
        lines = pattern.findall(log)
        if lines:
            return str(lines[-1]).strip()
    return ""


def _signal(exit_code: int) -> signal.Signals | None:
    try:
        return signal.Signals(-exit_code) if exit_code < 0 else None
    except ValueError:
        return None


def _name(number: signal.Signals | None) -> str:
    return number.name if number is not None else "unknown"
