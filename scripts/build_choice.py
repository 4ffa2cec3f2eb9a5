"""How llama.cpp is built on this machine: for which backend, with which CMake arguments.

`look_at_machine` asks the questions; everything else decides from its answers and runs nothing.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localspec.errors import LocalspecError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BACKENDS: Final = ("cpu", "cuda", "metal")

# Some virtual machines advertise AMX and fault on it: a native build then dies on every pass of 2 or more tokens.
# Laptops have no AMX, so nothing is lost where these are set.
_WITHOUT_AMX: Final = ("-mno-amx-tile", "-mno-amx-int8", "-mno-amx-bf16")

# The bindings build their image and audio library by default; this program never loads it.
_TEXT_ONLY: Final = "-DLLAVA_BUILD=OFF"


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides how to build.

    Attributes:
        system: "Linux", "Darwin", ... as `platform.system` says it.
        processor: "x86_64", "arm64", ... as `platform.machine` says it.
        knows_amx: the C++ compiler takes the flags that leave AMX out; an old one neither takes nor needs them.
        gpus: one line per NVIDIA GPU that answers the driver; a CUDA compiler alone is no GPU.
        cuda_compiler: nvcc, or None.
    """

    system: str
    processor: str
    knows_amx: bool = True
    gpus: tuple[str, ...] = ()
    cuda_compiler: Path | None = None

    @property
    def is_apple_silicon(self) -> bool:
        """Whether Metal is the right backend."""
        return self.system == "Darwin" and self.processor == "arm64"


@dataclass(frozen=True, slots=True)
class Backend:
    """The backend to build for, and a word to the person where the choice may surprise."""

    name: str
    note: str = ""


def choose_backend(machine: Machine, asked: str = "") -> Backend:
    """Picks the backend: the one `asked` for (LOCALSPEC_BACKEND), else the fastest that surely works here.

    Raises:
        UsageError: `asked` names no backend.
        LocalspecError: this machine cannot build the one asked for.
    """
    if asked and asked not in BACKENDS:
        raise UsageError(
            f"LOCALSPEC_BACKEND={asked} names no backend",
            f"It can be {', '.join(BACKENDS)}; unset, the set-up chooses.",
            "Others that llama.cpp has are built with CMAKE_ARGS, for example CMAKE_ARGS=-DGGML_VULKAN=ON.",
        )
    if asked == "metal" and machine.system != "Darwin":
        raise LocalspecError("Metal cannot be built here", "It is Apple's; this is no Mac.", "Unset LOCALSPEC_BACKEND.")
    if asked == "cuda" and machine.cuda_compiler is None:
        raise LocalspecError(
            "CUDA cannot be built here",
            "There is no CUDA compiler: nvcc is neither on the PATH nor in CUDA_HOME nor in /usr/local/cuda.",
            "Install NVIDIA's CUDA toolkit, or set LOCALSPEC_BACKEND=cpu.",
        )
    return Backend(asked) if asked else _fastest_backend(machine)


def _fastest_backend(machine: Machine) -> Backend:
    if machine.is_apple_silicon:
        return Backend("metal")
    if machine.gpus and machine.cuda_compiler is not None:
        return Backend("cuda", f"found {machine.gpus[0]}: building for CUDA, which takes longer")
    if machine.gpus:
        return Backend(
            "cpu",
            f"found {machine.gpus[0]} but no CUDA compiler (nvcc): building for the CPU. With the CUDA toolkit "
            "installed, LOCALSPEC_BACKEND=cuda scripts/setup builds for the GPU",
        )
    return Backend("cpu")


def cmake_arguments(machine: Machine, backend: Backend, own: str = "") -> str:
    """The CMAKE_ARGS to build with, quoted for a shell as scikit-build-core splits them.

    Args:
        machine: where.
        backend: for what.
        own: CMAKE_ARGS the person set. It comes last, and CMake heeds the last of two: the person's word holds. It also
            says which backends the person wants, so the chosen one is added only without it.
    """
    arguments = [_TEXT_ONLY]
    if machine.processor.lower() in {"x86_64", "amd64"} and machine.knows_amx:
        flags = " ".join(_WITHOUT_AMX)
        arguments += [f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}"]
    if not own:
        arguments += _backend_arguments(machine, backend)
    return " ".join([shlex.join(arguments), own]).strip()


def _backend_arguments(machine: Machine, backend: Backend) -> list[str]:
    if backend.name == "metal":
        return ["-DGGML_METAL=ON"]
    if backend.name == "cuda" and machine.cuda_compiler is not None:
        return ["-DGGML_CUDA=ON", f"-DCMAKE_CUDA_COMPILER={machine.cuda_compiler}"]
    return []


def look_at_machine(environment: Mapping[str, str]) -> Machine:
    """Asks this machine.

    Raises:
        LocalspecError: it has no C++ compiler that works.
    """
    compiler = working_compiler(environment)
    return Machine(
        system=platform.system(),
        processor=platform.machine(),
        knows_amx=_compiles([*compiler, *_WITHOUT_AMX]),
        gpus=_nvidia_gpus(environment),
        cuda_compiler=_cuda_compiler(environment),
    )


def working_compiler(environment: Mapping[str, str]) -> list[str]:
    """The command of a C++ compiler that compiles: CXX when set, else the first of the usual names that works.

    Raises:
        LocalspecError: there is none.
    """
    asked = shlex.split(environment.get("CXX", ""))
    for command in [asked] if asked else [["c++"], ["g++"], ["clang++"]]:
        if _compiles(command):
            return command
    named = f"CXX={environment['CXX']}" if asked else "c++, g++ or clang++"
    raise LocalspecError(
        "No C++ compiler works here",
        f"llama.cpp is compiled on this machine, and {named} did not compile a line that includes a standard header.",
        "Debian, Ubuntu: sudo apt install build-essential · Fedora: sudo dnf install gcc-c++ · "
        "macOS: xcode-select --install",
    )


def _compiles(command: Sequence[str]) -> bool:
    source = "#include <vector>\nint main() { return std::vector<int>(1)[0]; }\n"
    try:
        run = subprocess.run(
            [*command, "-x", "c++", "-fsyntax-only", "-"], input=source, text=True, capture_output=True, check=False
        )
    except OSError:
        return False
    return run.returncode == 0


def _nvidia_gpus(environment: Mapping[str, str]) -> tuple[str, ...]:
    command = shutil.which("nvidia-smi", path=environment.get("PATH"))
    if command is None:
        return ()
    try:
        run = subprocess.run([command, "-L"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    lines = run.stdout.splitlines() if run.returncode == 0 else []
    return tuple(line.split(" (UUID")[0] for line in lines if line.startswith("GPU "))


def _cuda_compiler(environment: Mapping[str, str]) -> Path | None:
    on_path = environment.get("CUDACXX") or shutil.which("nvcc", path=environment.get("PATH"))
    homes = [environment.get("CUDA_HOME"), environment.get("CUDA_PATH"), "/usr/local/cuda"]
    candidates = [Path(on_path)] if on_path else [Path(home) / "bin" / "nvcc" for home in homes if home]
    return next((path for path in candidates if os.access(path, os.X_OK)), None)
