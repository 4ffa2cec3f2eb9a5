"""What this machine is to llama.cpp, whether it decodes, and what to do if not."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped] # its stubs are a package of their own

from localspec import __version__, locations
from localspec.child import run_in_child
from localspec.doctor.report import Build, Device, Machine, Pass, Report, TestDecode, Verdict
from localspec.engine.diagnosis import explain_death

__all__ = ["examine"]

_PATIENCE_SECONDS = 300.0
_LITTLE_MEMORY = 2_000_000_000


def examine(model: Path | None, why_none: str = "") -> Report:
    """Ask llama.cpp what it is and let it decode, in a child process.

    Args:
        model: GGUF to decode with; None to leave that out.
        why_none: what to do to have a model.

    Raises:
        OSError: the child cannot be started.
    """
    seen = _ask(model)
    machine = _machine()
    return Report(
        localspec=__version__,
        python=platform.python_version(),
        machine=machine,
        build=seen.build,
        devices=tuple(seen.devices),
        folders=_folders(),
        decode=TestDecode(model.name, seen.load_seconds, tuple(seen.passes)) if model else None,
        verdict=seen.failure or _verdict(model, why_none, seen.unwritable),
        advice=tuple(_advice(seen, machine)),
    )


@dataclass(slots=True)
class _Seen:
    """What the child told before it ended, and why it ended if it should not have."""

    build: Build | None = None
    devices: list[Device] = field(default_factory=list)
    load_seconds: float | None = None
    passes: list[Pass] = field(default_factory=list)
    failure: Verdict | None = None
    unwritable: str = ""

    def take(self, line: str) -> None:
        """Add one step; a line that the child's death cut short is none."""
        try:
            told = json.loads(line)
        except ValueError:
            return
        content: dict[str, Any] = told["content"]
        match told["step"]:
            case "build":
                self.build = Build(**content)
            case "device":
                self.devices.append(Device(**content))
            case "loaded":
                self.load_seconds = content["seconds"]
            case "pass":
                self.passes.append(Pass(**content))
            case "failed":
                self.failure = Verdict(fine=False, **content)

    def reached(self) -> str:
        """How far it came, for a sentence that says what happened next."""
        if self.passes:
            return f"A pass of {self.passes[-1].tokens} token works; the next one, of 8, did not come back."
        if self.load_seconds is not None:
            return "The model was loaded; the first pass did not come back."
        return "llama.cpp was loaded; the model was not." if self.build else "llama.cpp itself was not loaded."


def _ask(model: Path | None) -> _Seen:
    seen = _Seen()
    arguments = [str(model)] if model else []
    try:
        run = run_in_child("localspec.doctor.patient:examine", *arguments, timeout=_PATIENCE_SECONDS)
        output, log, code = run.stdout, run.stderr, run.returncode
    except subprocess.TimeoutExpired as late:
        output, log, code = _text(late.stdout), _text(late.stderr), None
    log_file = locations.log_folder() / "doctor.log"
    try:
        log_file.parent.mkdir(parents=True, exist_ok=True)
        log_file.write_text(log, "utf-8")
    except OSError as error:
        # `chat` needs that folder, but all else that is to be said of this machine stays true.
        seen.unwritable = f"The system says: {error}."
    for line in output.splitlines():
        seen.take(line)
    if code is None:
        seen.failure = Verdict(False, "The test did not come to an end", seen.reached(), f"The log is in {log_file}.")
    elif code != 0:
        death = explain_death(code, log, log_file)
        seen.failure = Verdict(False, death.title, f"{seen.reached()} {death.message}", death.hint)
    return seen


def _text(output: bytes | str | None) -> str:
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else output or ""


def _verdict(model: Path | None, why_none: str, unwritable: str) -> Verdict:
    if unwritable:
        hint = "Set LOCALSPEC_DATA_DIR to a folder of yours."
        return Verdict(False, "The log folder cannot be written, and chat needs it", unwritable, hint)
    if model is None:
        return Verdict(True, "llama.cpp loads; nothing was decoded, for want of a model", "", why_none)
    return Verdict(True, "This machine is ready", "llama.cpp loads, and passes of 1 and of 8 tokens work.")


def _machine() -> Machine:
    memory = psutil.virtual_memory()
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=_processor(),
        physical_cores=psutil.cpu_count(logical=False),
        logical_cores=psutil.cpu_count(),
        memory_bytes=memory.total,
        memory_available_bytes=memory.available,
    )


def _processor() -> str:
    """The processor's own name where the system tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8", "replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _folders() -> dict[str, str]:
    from huggingface_hub.constants import HF_HUB_CACHE  # noqa: PLC0415 - slow, and the command's help has no time for it

    return {
        "settings": str(locations.settings_file()),
        "own pairs": str(locations.catalog_file()),
        "models": str(locations.models_folder()),
        "hub cache": HF_HUB_CACHE,
        "conversations": str(locations.data_folder()),
        "logs": str(locations.log_folder()),
    }


def _advice(seen: _Seen, machine: Machine) -> list[str]:
    """What works, but could be better."""
    advice = []
    if seen.build and not seen.build.gpu_offload and (gpu := _nvidia_gpu()):
        advice.append(
            f"{gpu} answers, but llama.cpp was built for the CPU alone. With the CUDA toolkit installed, "
            "`LOCALSPEC_BACKEND=cuda scripts/setup` builds it for the GPU; the README names ready-made builds."
        )
    if machine.memory_available_bytes < _LITTLE_MEMORY:
        advice.append(
            f"Only {machine.memory_available_bytes / 1e9:.1f} GB of memory are free: close other programs, or stay "
            "with small models."
        )
    return advice


def _nvidia_gpu() -> str:
    """The first NVIDIA GPU that answers its driver; "" when none does."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return ""
    try:
        run = subprocess.run(  # noqa: S603 - found on the PATH
            [command, "-L"], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.split(" (UUID")[0].strip() if run.returncode == 0 and run.stdout.startswith("GPU ") else ""
