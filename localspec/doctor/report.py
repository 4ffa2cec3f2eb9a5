"""What the doctor found: plain data, printed as words or as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Build:
    """Which llama.cpp there is.

    Attributes:
        version: llama.cpp's own.
        bindings: version of llama-cpp-python.
        features: for each backend, what it was built with.
        gpu_offload: whether it was built for a GPU.
        amx_built: whether AMX kernels were compiled in.
        amx_used: whether this machine lets them be used.
        threads: how many threads a pass uses by default.
    """

    version: str
    bindings: str
    features: dict[str, dict[str, str]]
    gpu_offload: bool
    amx_built: bool
    amx_used: bool
    threads: int


@dataclass(frozen=True, slots=True)
class Device:
    """A processor llama.cpp can compute on; sizes in bytes."""

    name: str
    description: str
    kind: str
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Pass:
    """One target pass over `tokens` tokens: the best of a few times."""

    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TestDecode:
    """What came of the test; passes that did not come to an end are missing."""

    model: str
    load_seconds: float | None = None
    passes: tuple[Pass, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """The computer; sizes in bytes."""

    system: str
    processor: str
    physical_cores: int | None
    logical_cores: int | None
    memory_bytes: int
    memory_available_bytes: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """In a word: whether this machine can chat, and what to do.

    Attributes:
        fine: False when something must be done first.
        title: one line.
        message: why; may be empty.
        hint: what to do; may be empty.
    """

    fine: bool
    title: str
    message: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything.

    Attributes:
        localspec: our version.
        python: Python's.
        machine: the computer.
        build: llama.cpp; None when it could not be loaded.
        devices: what it can compute on.
        folders: where things live, by what they are.
        decode: the test; None when there was no model to test with.
        verdict: what to make of it.
        advice: what could be better.
    """

    localspec: str
    python: str
    machine: Machine
    build: Build | None
    devices: tuple[Device, ...]
    folders: dict[str, str]
    decode: TestDecode | None
    verdict: Verdict
    advice: tuple[str, ...] = field(default=())
