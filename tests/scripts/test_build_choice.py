from __future__ import annotations

import os
import platform
import shlex
from pathlib import Path

import pytest

from build_choice import Backend, Machine, choose_backend, cmake_arguments, look_at_machine, working_compiler
from localspec.errors import LocalspecError, UsageError

GPU = ("GPU 0: NVIDIA H200",)
NVCC = Path("/opt/cuda 12/bin/nvcc")
LAPTOP = Machine("Linux", "x86_64")
MAC = Machine("Darwin", "arm64")


def arguments(machine: Machine, own: str = "") -> list[str]:
    return shlex.split(cmake_arguments(machine, choose_backend(machine), own))


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("machine", "backend"),
    [
        (MAC, "metal"),
        (Machine("Darwin", "x86_64"), "cpu"),
        (LAPTOP, "cpu"),
        (Machine("Linux", "x86_64", gpus=GPU, cuda_compiler=NVCC), "cuda"),
        (Machine("Linux", "aarch64", gpus=GPU, cuda_compiler=NVCC), "cuda"),
        (Machine("Linux", "x86_64", cuda_compiler=NVCC), "cpu"),
        (Machine("Linux", "x86_64", gpus=GPU), "cpu"),
    ],
)
def test_unasked_it_builds_for_the_fastest_backend_that_surely_works(machine: Machine, backend: str) -> None:
    assert choose_backend(machine).name == backend


def test_a_gpu_left_unused_is_said() -> None:
    assert "LOCALSPEC_BACKEND=cuda" in choose_backend(Machine("Linux", "x86_64", gpus=GPU)).note


def test_what_is_asked_is_built_even_where_no_gpu_answers() -> None:
    machine = Machine("Linux", "x86_64", cuda_compiler=NVCC)

    assert choose_backend(machine, "cuda").name == "cuda"
    assert choose_backend(Machine("Linux", "x86_64", gpus=GPU, cuda_compiler=NVCC), "cpu").name == "cpu"


@pytest.mark.parametrize(("machine", "asked"), [(LAPTOP, "cuda"), (LAPTOP, "metal")])
def test_a_backend_that_cannot_be_built_is_refused(machine: Machine, asked: str) -> None:
    with pytest.raises(LocalspecError) as caught:
        choose_backend(machine, asked)

    assert caught.value.exit_code == 1
    assert caught.value.hint


def test_an_unknown_backend_is_a_wrong_call() -> None:
    with pytest.raises(UsageError, match="LOCALSPEC_BACKEND=rocm"):
        choose_backend(LAPTOP, "rocm")


def test_amx_is_left_out_on_x86_64_whatever_the_backend() -> None:
    for machine in (LAPTOP, Machine("Linux", "x86_64", gpus=GPU, cuda_compiler=NVCC)):
        flags = [argument for argument in arguments(machine) if "FLAGS=" in argument]

        assert flags == [
            f"-DCMAKE_{language}_FLAGS=-mno-amx-tile -mno-amx-int8 -mno-amx-bf16" for language in ("C", "CXX")
        ]


@pytest.mark.parametrize("machine", [MAC, Machine("Linux", "aarch64"), Machine("Linux", "x86_64", knows_amx=False)])
def test_a_compiler_that_does_not_know_amx_gets_no_flag_for_it(machine: Machine) -> None:
    assert "amx" not in cmake_arguments(machine, choose_backend(machine))


def test_a_path_with_a_space_stays_one_argument() -> None:
    machine = Machine("Linux", "x86_64", gpus=GPU, cuda_compiler=NVCC)

    assert f"-DCMAKE_CUDA_COMPILER={NVCC}" in arguments(machine)
    assert "-DGGML_CUDA=ON" in arguments(machine)


def test_the_persons_own_arguments_come_last_and_choose_the_backend() -> None:
    machine = Machine("Linux", "x86_64", gpus=GPU, cuda_compiler=NVCC)
    own = "-DGGML_VULKAN=ON -DCMAKE_C_FLAGS='-O1 -g'"

    assert arguments(machine, own)[-2:] == ["-DGGML_VULKAN=ON", "-DCMAKE_C_FLAGS=-O1 -g"]
    assert "-DGGML_CUDA=ON" not in arguments(machine, own)


def test_metal_is_asked_for_by_name() -> None:
    assert "-DGGML_METAL=ON" in shlex.split(cmake_arguments(MAC, Backend("metal")))


def test_this_machine_answers() -> None:
    machine = look_at_machine(os.environ)

    assert (machine.system, machine.processor) == (platform.system(), platform.machine())


def test_a_driver_that_finds_no_gpu_is_no_gpu(tmp_path: Path) -> None:
    program(tmp_path, "nvidia-smi", 'echo "NVIDIA-SMI has failed"; exit 9')
    program(tmp_path, "nvcc", "exit 0")

    machine = look_at_machine({"PATH": f"{tmp_path}:{os.environ['PATH']}"})

    assert machine.gpus == ()
    assert machine.cuda_compiler == tmp_path / "nvcc"
    assert choose_backend(machine).name in {"cpu", "metal"}


def test_gpus_are_named_without_their_serial_numbers(tmp_path: Path) -> None:
    program(tmp_path, "nvidia-smi", 'echo "GPU 0: NVIDIA H200 (UUID: GPU-1234)"')

    assert look_at_machine({"PATH": f"{tmp_path}:{os.environ['PATH']}"}).gpus == GPU


def test_a_compiler_that_takes_no_amx_flags_is_noticed(tmp_path: Path) -> None:
    old = program(tmp_path, "old c++", 'case "$*" in *amx*) exit 1;; esac; exec c++ "$@"')

    assert not look_at_machine({**os.environ, "CXX": shlex.quote(str(old))}).knows_amx


@pytest.mark.parametrize("compiler", ["/nowhere/c++", "false"])
def test_a_compiler_that_does_not_compile_is_told_in_words(compiler: str) -> None:
    with pytest.raises(LocalspecError, match="No C\\+\\+ compiler works here") as caught:
        working_compiler({"CXX": compiler})

    assert compiler in caught.value.message
    assert "build-essential" in caught.value.hint
