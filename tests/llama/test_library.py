from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localspec.errors import UsageError
from localspec.llama import threads
from localspec.llama.devices import DeviceKind, device_handle, devices, uses_amx, weight_layouts
from localspec.llama.library import Build, build, parse_system_info, system_info


def test_the_build_flags_are_told_by_backend() -> None:
    line = "CPU : SSE3 = 1 | AMX_INT8 = 1 | REPACK = 1 | CUDA : ARCHS = 890 | USE_GRAPHS = 1 |"

    assert parse_system_info(line) == {
        "CPU": {"SSE3": "1", "AMX_INT8": "1", "REPACK": "1"},
        "CUDA": {"ARCHS": "890", "USE_GRAPHS": "1"},
    }


def test_amx_shows_in_the_build_flags() -> None:
    def with_features(line: str) -> Build:
        return Build("0", "0", parse_system_info(line), gpu_offload=False, memory_map=True)

    assert with_features("CPU : AVX2 = 1 | AMX_INT8 = 1").amx
    assert not with_features("CPU : AVX2 = 1 | REPACK = 1").amx


def test_this_build_knows_itself() -> None:
    found = build()

    assert found.version
    assert found.bindings == importlib.metadata.version("llama-cpp-python")
    assert "CPU" in found.features
    assert found.features == parse_system_info(system_info())


def test_the_processor_is_a_device_with_memory() -> None:
    cpu = next(device for device in devices() if device.kind is DeviceKind.CPU)

    assert cpu.name == "CPU"
    assert cpu.description
    assert 0 < cpu.free_bytes <= cpu.total_bytes
    assert device_handle("cpu") == device_handle("CPU")


def test_an_unknown_device_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="CPU"):
        device_handle("CUDA99")


def test_amx_is_used_only_where_llama_cpp_keeps_weights_for_it() -> None:
    assert uses_amx() == ("AMX" in weight_layouts())
    if uses_amx():
        assert build().amx


def test_bindings_that_do_not_load_are_told_in_words(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import localspec.llama.library"],
        env={**os.environ, "LLAMA_CPP_LIB_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "LocalspecError: llama.cpp could not be loaded" in done.stderr
    assert "Run the set-up again" in done.stderr


def test_there_is_a_thread_for_each_core_that_may_be_used() -> None:
    assert 1 <= threads.default_threads() <= (os.cpu_count() or 1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process be kept to some processors")
def test_a_process_kept_to_one_processor_uses_one_thread() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert threads.default_threads() == 1
    finally:
        os.sched_setaffinity(0, allowed)
