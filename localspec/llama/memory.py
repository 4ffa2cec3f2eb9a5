"""Where a model's and a context's memory went, and whether the next allocation can end well."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped] # its stubs are a package of their own

from localspec.llama.log import LogLine

# llama.h has no C function that tells (`llama_get_memory_breakdown` returns a C++ map): its log does.
_SIZE_LINE = re.compile(r"(?P<place>\S+)\s+(?P<use>\S+)\s+buffer size =\s*(?P<size>[\d.]+) MiB")

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Buffer:
    """One allocation of llama.cpp's.

    Attributes:
        place: where it lies, such as "CPU", "CPU_Mapped" (a view of the file), "CPU_REPACK", "CUDA0".
        use: "model", "KV", "RS" (recurrent state), "compute" or "output".
        size_bytes: as llama.cpp reports it, to a hundredth of a MiB.
    """

    place: str
    use: str
    size_bytes: int


def buffers_in(lines: Iterable[LogLine]) -> tuple[Buffer, ...]:
    """The allocations that llama.cpp's log tells of."""
    return tuple(
        Buffer(found["place"], found["use"], round(float(found["size"]) * _MIB))
        for line in lines
        if (found := _SIZE_LINE.search(line.text))
    )


def available_bytes() -> int:
    """Main memory that can be had without swapping. Beyond it, Linux ends the process instead of refusing."""
    return int(psutil.virtual_memory().available)


def gigabytes(size_bytes: float) -> str:
    """A size in words, such as "4.7 GB"."""
    return f"{size_bytes / 1e9:.1f} GB"
