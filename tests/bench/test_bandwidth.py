"""Memory bandwidth: really measured on the processor, looked up for graphics devices, and never made up."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from localspec.bench import bandwidth
from localspec.bench.bandwidth import bandwidth_of_device, measure_bandwidth, seconds_to_read
from localspec.bench.device_bandwidth import listed_bandwidth
from localspec.errors import LocalspecError


def test_this_machine_reads_memory_at_a_possible_speed() -> None:
    found = measure_bandwidth(1)
    # From a slow, busy machine to the fastest that a thread could be.
    assert 0.1e9 < found.bytes_per_second < 2000e9
    assert (found.threads, found.measured) == (1, True)
    assert "MiB" in found.how


def test_the_time_is_that_of_the_slowest_thread() -> None:
    large, small = np.ones(8 << 20, np.int64), np.ones(8, np.int64)
    assert seconds_to_read([small, large]) > seconds_to_read([small, small])


def test_too_little_memory_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandwidth, "_LEAST_BYTES", 1 << 60)
    with pytest.raises(SystemExit, match=r"Only .* GB of memory are free"):
        bandwidth.tell("1")


@pytest.mark.parametrize(
    ("code", "stderr", "words"), [(1, "Only 0.1 GB of memory are free.\n", "Only 0.1 GB"), (-9, "", "code -9")]
)
def test_a_process_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, code: int, stderr: str, words: str) -> None:
    failed = subprocess.CompletedProcess([], code, "", stderr)
    monkeypatch.setattr(bandwidth, "run_in_child", lambda *_, **__: failed)
    with pytest.raises(LocalspecError, match="could not be measured") as caught:
        measure_bandwidth(1)
    assert words in caught.value.message


def test_a_process_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired([], 60)

    monkeypatch.setattr(bandwidth, "run_in_child", hang)
    with pytest.raises(LocalspecError, match="could not be measured"):
        measure_bandwidth(1)


@pytest.mark.parametrize(
    ("description", "gigabytes"),
    [
        ("NVIDIA H200", 4800),
        ("NVIDIA H100 80GB HBM3", 3350),
        ("NVIDIA H100 PCIe", 2000),
        ("NVIDIA A100-SXM4-40GB", 1555),
        ("NVIDIA A100-SXM4-80GB", 2039),
        ("NVIDIA GeForce RTX 4090", 1008),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 576),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", 672),
        ("NVIDIA L40S", 864),
        ("Apple M3", 100),
        ("Apple M3 Max", 400),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", 960),
    ],
)
def test_devices_are_known_by_the_names_their_drivers_give_them(description: str, gigabytes: float) -> None:
    assert listed_bandwidth(description) == gigabytes
    found = bandwidth_of_device(description)
    assert found is not None
    assert (found.bytes_per_second, found.measured) == (gigabytes * 1e9, False)
    assert "not measured" in found.how


@pytest.mark.parametrize("description", ["AMD EPYC", "", "NVIDIA GeForce RTX 9999", "AMD Radeon 780M Graphics", "M3"])
def test_an_unknown_device_has_no_figure(description: str) -> None:
    assert listed_bandwidth(description) is None
    assert bandwidth_of_device(description) is None
