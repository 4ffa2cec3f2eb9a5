"""A disk that is too small, one that fills while a pull writes to it, and a data folder that cannot be written."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.errors import LocalspecError
from localspec.pairs.catalog import load_catalog
from localspec.pairs.memory_fit import Memory
from localspec.pairs.progress import Meter
from localspec.pairs.pull import carry_out, prepare
from localspec.pairs.remove import remove_pair
from localspec.records import write_whole
from tests.hub.in_process import sit_at
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


def test_a_data_folder_that_cannot_be_written_is_told_before_the_first_byte(desk):
    data = Path(desk.environment["LOCALSPEC_DATA_DIR"])
    data.write_text("a file where the folder should be")
    outcome = desk.pull()
    assert outcome.returncode == 1, outcome
    error = outcome.told("error")
    assert error["title"] == "What localspec fetches cannot be noted"
    assert f"Make room in {data}" in error["hint"]
    assert not any((seen.range or "").endswith("-") for seen in desk.hub.seen)
    assert not desk.cache.exists()


def test_a_pair_that_cannot_be_remembered_is_told_before_the_first_byte(desk, monkeypatch):
    sit_at(desk, monkeypatch)
    plan = planned(replace(load_catalog().pair("tiny"), source="remembered"))
    Path(desk.environment["LOCALSPEC_DATA_DIR"]).write_text("a file where the folder should be")
    with pytest.raises(LocalspecError, match="The pair tiny cannot be remembered"):
        carry_out(plan, Meter(lambda _: None))
    assert not desk.cache.exists()


def test_a_download_that_cannot_be_noted_is_kept_and_taken_up_and_noted_by_the_next_pull(desk, monkeypatch):
    sit_at(desk, monkeypatch)
    pair = load_catalog().pair("tiny")

    def fill(path, content):
        if desk.target.name.encode() in content:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write_whole(path, content)

    with monkeypatch.context() as patch:
        patch.setattr("localspec.pairs.fetched.write_whole", fill)
        with pytest.raises(LocalspecError, match="kept for the next pull"):
            carry_out(planned(pair), Meter(lambda _: None))
    assert list(desk.check_cache().values()) == [desk.target.stat().st_size]

    pulled = carry_out(planned(pair), Meter(lambda _: None))
    assert (pulled.fetched, pulled.resumed) == (desk.draft.stat().st_size, desk.target.stat().st_size)
    assert_pulled(desk)
    removed = remove_pair(pair, load_catalog())
    assert [file.kept_because for file in removed.files] == ["", ""]
    assert desk.check_cache() == {}


def planned(pair):
    return prepare(pair, Memory.of_machine(), Meter(lambda _: None))
