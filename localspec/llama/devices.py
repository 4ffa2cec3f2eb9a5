"""The processors llama.cpp can compute on (`ggml_backend_dev_*`), which the bindings leave unbound."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from localspec.errors import UsageError
from localspec.llama.bindings import c_function
from localspec.llama.library import initialise

NO_GPU_NAMES = frozenset({"cpu", "none"})
"""Names of `--device` that keep a model off every GPU."""


class DeviceKind(IntEnum):
    """As `enum ggml_backend_dev_type`."""

    CPU = 0
    GPU = 1
    INTEGRATED_GPU = 2
    ACCELERATOR = 3
    META = 4


GPU_KINDS = frozenset({DeviceKind.GPU, DeviceKind.INTEGRATED_GPU})


@dataclass(frozen=True, slots=True)
class Device:
    """One processor.

    Attributes:
        name: as `--device` takes it, such as "CPU", "CUDA0", "Metal".
        description: the maker's words.
        kind: what it is.
        free_bytes: memory free on it now; for a CPU, of the machine.
        total_bytes: memory it has.
    """

    name: str
    description: str
    kind: DeviceKind
    free_bytes: int
    total_bytes: int


def devices() -> tuple[Device, ...]:
    """Every device llama.cpp found, with its memory as of now."""
    return tuple(_device(handle) for handle in _handles())


def device_handle(name: str) -> int:
    """The address of the device called `name` (letter case aside).

    Raises:
        UsageError: there is none of that name.
    """
    for handle in _handles():
        if _name(handle).casefold() == name.casefold():
            return handle
    known = ", ".join(_name(handle) for handle in _handles())
    raise UsageError(f"There is no device {name!r}", f"llama.cpp was built for: {known}.", "Choose one of those.")


def uses_amx() -> bool:
    """Whether the CPU backend would keep weights for AMX kernels: built in, and the system granted the use of it."""
    return "AMX" in weight_layouts()


@functools.cache
def weight_layouts() -> tuple[str, ...]:
    """The layouts the CPU backend can repack weights to for speed, such as ("CPU_REPACK",)."""
    address = c_function("ggml_backend_dev_backend_reg", [ctypes.c_void_p], ctypes.c_void_p)
    proc_address = c_function("ggml_backend_reg_get_proc_address", [ctypes.c_void_p, ctypes.c_char_p], ctypes.c_void_p)
    buffer_type_name = c_function("ggml_backend_buft_name", [ctypes.c_void_p], ctypes.c_char_p)
    cpu = next((handle for handle in _handles() if _kind(handle) is DeviceKind.CPU), None)
    if cpu is None:
        return ()
    found = proc_address(address(cpu), b"ggml_backend_dev_get_extra_bufts")
    if not found:
        return ()
    extra = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)(found)(cpu)
    names: list[str] = []
    while extra and (buffer_type := extra[len(names)]):
        names.append(buffer_type_name(buffer_type).decode())
    return tuple(names)


def _handles() -> list[int]:
    initialise()
    get = c_function("ggml_backend_dev_get", [ctypes.c_size_t], ctypes.c_void_p)
    return [get(index) for index in range(c_function("ggml_backend_dev_count", [], ctypes.c_size_t)())]


def _name(handle: int) -> str:
    return _text("ggml_backend_dev_name", handle)


def _kind(handle: int) -> DeviceKind:
    return DeviceKind(c_function("ggml_backend_dev_type", [ctypes.c_void_p], ctypes.c_int)(handle))


def _text(function: str, handle: int) -> str:
    text: Any = c_function(function, [ctypes.c_void_p], ctypes.c_char_p)(handle)
    return (text or b"").decode("utf-8", "replace")


def _device(handle: int) -> Device:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    size = ctypes.POINTER(ctypes.c_size_t)
    memory = c_function("ggml_backend_dev_memory", [ctypes.c_void_p, size, size], None)
    memory(handle, ctypes.byref(free), ctypes.byref(total))
    return Device(
        name=_name(handle),
        description=_text("ggml_backend_dev_description", handle),
        kind=_kind(handle),
        free_bytes=free.value,
        total_bytes=total.value,
    )
