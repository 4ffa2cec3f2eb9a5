from __future__ import annotations

import pytest

from localspec.child import run_in_child
from localspec.pairs.machine_memory import larger_memory, machine_memory
from localspec.pairs.memory_fit import Memory

GB = 10**9


@pytest.mark.parametrize(
    ("main", "video", "expected"),
    [(16 * GB, 0, "memory"), (16 * GB, 24 * GB, "video memory"), (64 * GB, 8 * GB, "memory")],
)
def test_the_larger_memory_decides(main: int, video: int, expected: str) -> None:
    assert larger_memory(Memory("memory", main, main - main // 10), video).name == expected


def test_a_machine_without_a_graphics_card_counts_its_own_memory() -> None:
    asked = run_in_child("localspec.pairs.machine_memory:print_video_bytes")
    video = int(asked.stdout)

    assert asked.returncode == 0
    assert machine_memory() == larger_memory(Memory.of_machine(), video)
