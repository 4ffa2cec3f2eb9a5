"""A disk that is too small, and one that fills while a pull writes to it."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from tests.hub.server import Fault
from tests.hub.test_interruptions import partial_of, wait_for_bytes
from tests.hub.test_pull import assert_pulled


@contextmanager
def small_disk(folder, megabytes):
    """A file system of its own with so much room."""
    folder.mkdir()
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small file system")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let root mount a small file system")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill_up(path):
    with path.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def test_a_pair_that_has_no_room_is_refused_before_its_first_byte(desk):
    disk = desk.folder / "disk"
    with small_disk(disk, 50):
        outcome = desk.pull(HF_HOME=str(disk / "hf"))
        assert outcome.returncode == 1, outcome
        error = outcome.told("error")
        assert error["title"] == "There is not enough room on the disk"
        assert "3 MB are to be fetched, and 52 MB are free" in error["message"]
        assert error["hint"].startswith("Make room for 51 MB more")
        assert not (disk / "hf").exists()
        assert not any((seen.range or "").endswith("-") for seen in desk.hub.seen)


def test_a_disk_that_fills_is_told_and_the_pull_goes_on_once_there_is_room(desk):
    disk = desk.folder / "disk"
    with small_disk(disk, 120):
        desk.environment["HF_HOME"] = str(disk / "hf")
        desk.hub.faults = [Fault("slow", rate=400_000, downloads_only=True)]
        pulling = desk.start()
        wait_for_bytes(desk, 100_000, pulling.process)
        filler = disk / "filler"
        with pytest.raises(OSError, match="No space left"):
            fill_up(filler)
        outcome = pulling.outcome()
        assert outcome.returncode == 1, outcome
        error = outcome.told("error")
        assert error["title"] == "The disk is full"
        assert "are kept for the next pull" in error["message"]
        assert partial_of(desk) is not None
        kept = sum(desk.check_cache().values())
        filler.unlink()
        desk.hub.faults = []
        again = desk.pull()
        assert again.returncode == 0, again
        assert again.told("pulled")["resumed"] == kept
        assert_pulled(desk)
