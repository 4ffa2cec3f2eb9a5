"""llama.cpp as a whole: started once, its version, and what it was built for."""

from __future__ import annotations

import atexit
import functools
import importlib.metadata
from dataclasses import dataclass

from localspec.llama import log
from localspec.llama.bindings import low


@functools.cache
def initialise() -> None:
    """Start llama.cpp, once in a process: its log goes to the logger `localspec.llama`, its backends register."""
    log.install()
    atexit.register(log.uninstall)
    low.llama_backend_init()


@dataclass(frozen=True, slots=True)
class Build:
    """Which llama.cpp this is.

    Attributes:
        version: llama.cpp's own version (`llama_version`).
        bindings: version of llama-cpp-python.
        features: for each backend, what it was built with, such as {"CPU": {"AVX2": "1", "REPACK": "1"}}.
        gpu_offload: whether it was built with a GPU backend.
        memory_map: whether it can map model files into memory on this system.
    """

    version: str
    bindings: str
    features: dict[str, dict[str, str]]
    gpu_offload: bool
    memory_map: bool

    @property
    def amx(self) -> bool:
        """Whether the AMX kernels were compiled in: on some virtual machines they fault (`devices.uses_amx`)."""
        return any(name.startswith("AMX") for name in self.features.get("CPU", {}))


def build() -> Build:
    """Ask llama.cpp what it is."""
    initialise()
    return Build(
        version=low.llama_version().decode(),
        bindings=importlib.metadata.version("llama-cpp-python"),
        features=parse_system_info(system_info()),
        gpu_offload=bool(low.llama_supports_gpu_offload()),
        memory_map=bool(low.llama_supports_mmap()),
    )


def system_info() -> str:
    """The build flags of every backend on one line, as llama.cpp prints them (`llama_print_system_info`)."""
    initialise()
    return str(low.llama_print_system_info().decode().strip().rstrip("|").strip())


def parse_system_info(line: str) -> dict[str, dict[str, str]]:
    """Take "CPU : SSE3 = 1 | AVX = 1 | CUDA : ARCHS = 890 |" apart, by backend."""
    features: dict[str, dict[str, str]] = {}
    backend = ""
    for part in line.split("|"):
        head, colon, rest = part.partition(" : ")
        if colon:
            backend, part = head.strip(), rest  # noqa: PLW2901 # what is left of the part is its first feature
        name, equals, value = part.partition("=")
        if equals:
            features.setdefault(backend, {})[name.strip()] = value.strip()
    return features
