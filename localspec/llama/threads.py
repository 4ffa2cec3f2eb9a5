"""How many threads a decode should use: one for each full-speed core that this process may run on."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped] # its stubs are a package of their own

_INTEL_PERFORMANCE_CORES = Path("/sys/devices/cpu_core/cpus")


def default_threads() -> int:
    """The number of physical performance cores this process may use, at least 1.

    Hyper-threads and efficiency cores are left out: every thread of a pass waits for the slowest one.
    """
    cores = _performance_cores() or psutil.cpu_count(logical=False) or os.cpu_count() or 1
    return max(1, min(cores, _allowed_processors()))


def thread_counts() -> tuple[int, ...]:
    """Numbers of threads worth trying, the default first.

    Full-speed cores, all physical cores, all logical processors, and half of the full-speed cores: where memory is the
    limit, few threads reach it, and more only wait for each other.
    """
    allowed = _allowed_processors()
    default = default_threads()
    tried = {default // 2, psutil.cpu_count(logical=False) or default, allowed}
    return (default, *sorted(count for count in tried - {default} if 1 <= count <= allowed))


def _allowed_processors() -> int:
    """Logical processors this process may run on (a container or `taskset` may allow fewer than the machine has)."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _performance_cores() -> int | None:
    """Full-speed cores of a machine that has two kinds; None where all are alike or it cannot be told."""
    if sys.platform == "darwin":
        return _apple_performance_cores()
    if sys.platform == "linux" and _INTEL_PERFORMANCE_CORES.exists():
        return _cores_of(_INTEL_PERFORMANCE_CORES.read_text())
    return None


def _cores_of(processors: str) -> int:
    """Count the cores behind a kernel list of logical processors, such as "0-7,16": siblings share a core."""
    numbers: set[int] = set()
    for part in processors.strip().split(","):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    topology = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    return len({Path(topology.format(number)).read_text() for number in numbers})


def _apple_performance_cores() -> int | None:
    count, size = ctypes.c_int32(), ctypes.c_size_t(4)
    answer = ctypes.CDLL(None).sysctlbyname(
        b"hw.perflevel0.physicalcpu", ctypes.byref(count), ctypes.byref(size), None, ctypes.c_size_t(0)
    )
    return count.value if answer == 0 and count.value > 0 else None
