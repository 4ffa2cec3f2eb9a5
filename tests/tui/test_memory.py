"""How much main memory is in use, looked at seldom."""

from __future__ import annotations

import os
import subprocess
import sys

from localspec.tui.memory import MemoryWatch


def test_the_engine_is_counted_with_the_app_and_both_against_the_machine() -> None:
    alone = MemoryWatch().look(None, 0.0)
    both = MemoryWatch().look(os.getpid(), 0.0)
    assert alone is not None
    assert both is not None
    assert 0 < alone.used < both.used < both.machine == alone.machine


def test_it_looks_every_two_seconds_at_most() -> None:
    watch = MemoryWatch()
    first = watch.look(None, 10.0)
    assert watch.look(os.getpid(), 11.9) is first
    assert watch.look(os.getpid(), 12.0) is not first


def test_an_engine_that_is_gone_leaves_no_figure() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        gone.wait()
    assert MemoryWatch().look(gone.pid, 0.0) is None
