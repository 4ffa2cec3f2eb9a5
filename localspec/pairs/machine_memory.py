"""The memory that models have on this machine."""

from __future__ import annotations

import subprocess
from functools import cache

from localspec.child import run_in_child
from localspec.pairs.memory_fit import Memory

_PATIENCE_SECONDS = 20.0


@cache
def machine_memory() -> Memory:
    """Video memory where llama.cpp has a graphics card with more of it than the machine has of its own, else that.

    A pair that fits neither whole can still be shared between the two (`--gpu-layers`); the larger decides what is
    proposed and refused. Asking llama.cpp takes a child process and about a third of a second, once.
    """
    return larger_memory(Memory.of_machine(), _video_bytes())


def larger_memory(main: Memory, video_bytes: int) -> Memory:
    """`main`, or the video memory of so many bytes when two models may take more of that."""
    video = Memory.of_gpu(video_bytes)
    return video if video.usable > main.usable else main


def print_video_bytes() -> None:
    """Print the bytes of all graphics cards together; run in a child process, which alone may load llama.cpp."""
    from localspec.llama.devices import DeviceKind, devices  # noqa: PLC0415 - only in the child, as said

    print(sum(device.total_bytes for device in devices() if device.kind is DeviceKind.GPU))


def _video_bytes() -> int:
    """As the child says; 0 when llama.cpp does not even start, which `chat` and `doctor` tell in words."""
    try:
        asked = run_in_child(f"{__name__}:{print_video_bytes.__name__}", timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return 0
    last = asked.stdout.split()[-1:]
    return int(last[0]) if asked.returncode == 0 and last and last[0].isdigit() else 0
