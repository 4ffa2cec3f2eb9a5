"""The child process of the doctor: it asks llama.cpp and lets it decode, one JSON line for each step it survives."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from localspec.doctor.report import Build, Device, Pass
from localspec.engine.diagnosis import AMX_IN_USE
from localspec.errors import LocalspecError
from localspec.llama import devices, library
from localspec.llama.context import Context
from localspec.llama.context_options import ContextOptions
from localspec.llama.model import Model
from localspec.llama.threads import default_threads

WIDTHS = (1, 8)
"""Tokens in a pass: one, as without speculation, and as many as a long draft. Other kernels compute the latter."""

_REPEATS = 3


def examine(model_path: str = "") -> None:
    """Print a line for each step; with no path, only what llama.cpp says of itself."""
    try:
        _tell_build()
        if model_path:
            _tell_decode(Path(model_path))
    except LocalspecError as error:
        _tell("failed", {"title": error.title, "message": error.message, "hint": error.hint})


def _tell_build() -> None:
    built = library.build()
    if devices.uses_amx():
        # The explanation of a crash looks for this line.
        print(AMX_IN_USE, file=sys.stderr, flush=True)
    build = Build(
        version=built.version,
        bindings=built.bindings,
        features=built.features,
        gpu_offload=built.gpu_offload,
        amx_built=built.amx,
        amx_used=devices.uses_amx(),
        threads=default_threads(),
    )
    _tell("build", asdict(build))
    for device in devices.devices():
        kind = device.kind.name.lower().replace("_", " ")
        found = Device(device.name, device.description, kind, device.free_bytes, device.total_bytes)
        _tell("device", asdict(found))


def _tell_decode(path: Path) -> None:
    began = time.perf_counter()
    with Model(path) as model, Context(model, ContextOptions(length=64)) as context:
        _tell("loaded", {"seconds": time.perf_counter() - began})
        for width in WIDTHS:
            seconds = min(_pass_seconds(context, width) for _ in range(_REPEATS))
            _tell("pass", asdict(Pass(width, seconds)))


def _pass_seconds(context: Context, width: int) -> float:
    """Time of one pass on an empty cache.

    Raises:
        LocalspecError: it answered with something that is no number.
    """
    context.truncate(0)
    began = time.perf_counter()
    rows = context.evaluate(list(range(1, width + 1)))
    seconds = time.perf_counter() - began
    if not np.isfinite(rows).all():
        raise LocalspecError(
            f"A pass of {width} tokens gives nonsense",
            "llama.cpp answered with values that are no numbers.",
            "The model file may be damaged, or the device's driver faulty: try another model, then `--device cpu`.",
        )
    return seconds


def _tell(step: str, content: dict[str, object]) -> None:
    print(json.dumps({"step": step, "content": content}), flush=True)
