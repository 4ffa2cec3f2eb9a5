"""On what a benchmark was made: machine, builds, models. JSON values, for the document and for comparisons."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from localspec import __version__, doctor
from localspec.bench.bandwidth import Bandwidth, bandwidth_of_device, measure_bandwidth
from localspec.bench.energy import EnergyMeter
from localspec.bench.roofline import work_of_file
from localspec.engine.messages import Loaded, LoadedModel, LoadPair, ModelSettings
from localspec.errors import LocalspecError
from localspec.pairs.progress import never
from localspec.pairs.verified import sha256_of


def machine_now(meter: EnergyMeter) -> dict[str, Any]:
    """Processor, memory, devices, and the versions and build flags of what computes; from a child process.

    Raises:
        OSError: the child cannot be started.
    """
    report = doctor.examine(None)
    build = asdict(report.build) if report.build else None
    machine = asdict(report.machine)
    machine.pop("memory_available_bytes")
    return {
        "localspec": __version__,
        "python": platform.python_version(),
        "machine": machine,
        "devices": [{"name": found.name, "description": found.description} for found in report.devices],
        "llama_cpp": {name: build[name] for name in ("version", "bindings", "features")} if build else None,
        "energy": meter.why_not or "measured: RAPL, processor packages",
    }


def models_of(loading: LoadPair, loaded: Loaded, hashes: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The files of a pair and how they are loaded.

    Args:
        loading: what was asked for.
        loaded: what came of it.
        hashes: sha256 by path, where it is known.
    """
    known = hashes or {}
    return {
        "target": _model(loading.target, loaded.target, known),
        "draft": _model(loading.draft, loaded.draft, known) if loading.draft and loaded.draft else None,
        "context": loaded.context_size,
        "threads": loaded.threads,
        "kv_type": loading.kv_type,
        "flash_attention": loading.flash_attention,
    }


def memory_of(loading: LoadPair, loaded: Loaded, machine: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a token of the target must read, and how fast this machine reads; None where either cannot be told.

    Args:
        loading: names the target's file.
        loaded: names its device.
        machine: what `machine_now` said.
    """
    try:
        work = work_of_file(loading.target.path, loading.kv_type)
        bandwidth = _bandwidth(loaded, machine)
    except LocalspecError:
        # The bound is an extra: a benchmark is worth its time without it.
        return None
    if bandwidth is None:
        return None
    return {
        "weight_bytes": work.weight_bytes,
        "kv_bytes": work.kv_bytes,
        "bytes_per_second": bandwidth.bytes_per_second,
        "measured": bandwidth.measured,
        "how": bandwidth.how,
    }


def _bandwidth(loaded: Loaded, machine: Mapping[str, Any]) -> Bandwidth | None:
    if loaded.target.device == "CPU":
        return measure_bandwidth(loaded.threads)
    found = [device["description"] for device in machine["devices"] if device["name"] == loaded.target.device]
    return bandwidth_of_device(found[0]) if found else None


def hashes_of(
    loading: LoadPair, report: Callable[[str], None], cancelled: Callable[[], bool] = never
) -> dict[str, str]:
    """The sha256 of a pair's files by path. A file is read once, seconds a gigabyte, until it changes.

    Args:
        loading: names the files.
        report: told the name of a file before it is read.
        cancelled: asked while one is.

    Raises:
        OSError: one cannot be read.
        DownloadStoppedError: `cancelled` said so.
    """
    hashes = {}
    for model in filter(None, (loading.target, loading.draft)):
        report(model.path.name)
        hashes[str(model.path)] = sha256_of(model.path, cancelled)
    return hashes


def _model(settings: ModelSettings, loaded: LoadedModel, hashes: Mapping[str, str]) -> dict[str, Any]:
    return {
        "file": settings.path.name,
        "name": loaded.name,
        "description": loaded.description,
        "bytes": loaded.bytes,
        "parameters": loaded.parameters,
        "device": loaded.device,
        "gpu_layers": settings.gpu_layers,
        "sha256": hashes.get(str(settings.path)),
    }
