"""How fast this machine reads memory: measured for the processor, looked up for a graphics device."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np
import psutil  # type: ignore[import-untyped] # its stubs are a package of their own
from numpy.typing import NDArray

from localspec.bench.device_bandwidth import listed_bandwidth
from localspec.child import run_in_child
from localspec.errors import LocalspecError

_PATIENCE_SECONDS = 60.0
_SECONDS = 1.0
_LEAST_ROUNDS = 5
_MOST_BYTES = 1 << 30
_LEAST_BYTES = 256 << 20
"""Several times the largest caches of laptops and desktops: what was read a round ago has left the cache again."""

METHOD = (
    "each thread adds up its own part of {size} of numbers, far more than the caches hold; the best of {rounds} rounds"
)
NOT_MEASURED = "from the device table, not measured"


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes a second that can be read.

    Attributes:
        bytes_per_second: of the memory the model lies in.
        threads: that read it; 0 for a graphics device.
        measured: whether it was measured in this run.
        how: the method, or where the figure is from.
    """

    bytes_per_second: float
    threads: int
    measured: bool
    how: str


def bandwidth_of_device(description: str) -> Bandwidth | None:
    """The bandwidth of a graphics device by the name its driver gives it; None when the table does not know it."""
    found = listed_bandwidth(description)
    return None if found is None else Bandwidth(found * 1e9, 0, measured=False, how=NOT_MEASURED)


def measure_bandwidth(threads: int) -> Bandwidth:
    """Read main memory with so many threads, in a process of its own: it can be ended at any time.

    Raises:
        LocalspecError: there is too little free memory, or the process failed.
    """
    hint = "Close other programs and try again."
    try:
        run = run_in_child("localspec.bench.bandwidth:tell", str(threads), timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired as late:
        raise LocalspecError("The memory bandwidth could not be measured", "It took too long.", hint) from late
    if run.returncode != 0:
        why = run.stderr.strip().rpartition("\n")[2] or f"The process ended with code {run.returncode}."
        raise LocalspecError("The memory bandwidth could not be measured", why, hint)
    told = json.loads(run.stdout)
    how = METHOD.format(size=f"{told['bytes'] / 2**20:.0f} MiB", rounds=told["rounds"])
    return Bandwidth(told["bytes_per_second"], threads, measured=True, how=how)


def tell(threads: str) -> None:
    """In the child: measure, and print one JSON object. Ends the process with words when there is too little memory."""
    room = int(psutil.virtual_memory().available) // 4
    if room < _LEAST_BYTES:
        sys.exit(f"Only {4 * room / 1e9:.1f} GB of memory are free.")
    size = min(_MOST_BYTES, room) // int(threads)
    parts = [np.ones(size // 8, np.int64) for _ in range(int(threads))]
    seconds: list[float] = []
    deadline = time.perf_counter() + _SECONDS
    while len(seconds) < _LEAST_ROUNDS or time.perf_counter() < deadline:
        seconds.append(seconds_to_read(parts))
    total = sum(part.nbytes for part in parts)
    print(json.dumps({"bytes_per_second": total / min(seconds), "bytes": total, "rounds": len(seconds)}))


def seconds_to_read(parts: list[NDArray[np.int64]]) -> float:
    """Seconds until every thread has added up its part, from when the first began to when the last was done."""
    together = threading.Barrier(len(parts))
    times: list[tuple[float, float]] = []

    def read(part: NDArray[np.int64]) -> None:
        together.wait()
        began = time.perf_counter()
        # numpy adds whole registers at a time and lets go of the interpreter's lock: memory is the limit.
        np.add.reduce(part)
        times.append((began, time.perf_counter()))

    threads = [threading.Thread(target=read, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(ended for _, ended in times) - min(began for began, _ in times)
