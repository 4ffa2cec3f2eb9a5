"""Files that are on the machine already are used where they lie, once their contents are checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.hub.server import Fault


def home(desk):
    return Path(desk.environment["HOME"])


def place(desk, where):
    return {
        "lm studio": home(desk) / ".lmstudio" / "models" / "somebody" / "target-GGUF" / "big-q8.gguf",
        "lm studio, older": home(desk) / ".cache" / "lm-studio" / "models" / "somebody" / "x" / "other name.gguf",
        "llama.cpp": home(desk) / ".cache" / "llama.cpp" / "somebody_target-GGUF_big-q8.gguf",
        "another repo of the hub": desk.cache
        / "models--other--copy-GGUF"
        / "blobs"
        / desk.hub.file("somebody/target-GGUF", desk.target.name).etag,
        "our own": Path(desk.environment["LOCALSPEC_CACHE_DIR"]) / "models" / "big.gguf",
    }[where]


PLACES = ["lm studio", "lm studio, older", "llama.cpp", "another repo of the hub", "our own"]


@pytest.mark.parametrize("where", PLACES)
def test_a_file_of_another_tool_is_used_where_it_lies(desk, where):
    path = place(desk, where)
    path.parent.mkdir(parents=True)
    shutil.copy(desk.target, path)
    outcome = desk.pull()
    assert outcome.returncode == 0, outcome
    pulled = outcome.told("pulled")
    assert Path(pulled["target"]) == path
    assert pulled["fetched"] == desk.draft.stat().st_size
    assert f"checking {path.name}, which is on this machine already" in outcome.notes
    # Its hash is remembered: the next pull reads no gigabytes.
    again = desk.pull(HF_HUB_OFFLINE="1")
    assert again.returncode == 0, again
    assert "checking big" not in again.notes


@pytest.mark.parametrize("where", PLACES)
def test_a_file_of_the_same_name_and_length_with_other_contents_is_not_used(desk, where):
    path = place(desk, where)
    path.parent.mkdir(parents=True)
    content = bytearray(desk.target.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    outcome = desk.pull()
    assert outcome.returncode == 0, outcome
    assert Path(outcome.told("pulled")["target"]) == desk.cached("target")
    assert desk.cached("target").read_bytes() == desk.target.read_bytes()
    assert path.read_bytes() == content


def test_a_folder_that_llama_cpp_was_told_to_use_is_searched(desk):
    folder = desk.folder / "elsewhere"
    folder.mkdir()
    shutil.copy(desk.draft, folder / "x.gguf")
    outcome = desk.pull(LLAMA_CACHE=str(folder))
    assert Path(outcome.told("pulled")["draft"]) == folder / "x.gguf"


def test_lm_studio_may_be_elsewhere(desk):
    studio = desk.folder / "studio"
    (studio / "models").mkdir(parents=True)
    home(desk).mkdir()
    (home(desk) / ".lmstudio-home-pointer").write_text(str(studio))
    shutil.copy(desk.draft, studio / "models" / "x.gguf")
    assert Path(desk.pull().told("pulled")["draft"]) == studio / "models" / "x.gguf"


def test_a_file_that_is_not_pinned_is_recognised_once_the_hub_has_told_its_hash(desk):
    desk.write_catalog(revision="main", sha256="", bytes="")
    path = place(desk, "lm studio")
    path.parent.mkdir(parents=True)
    shutil.copy(desk.target, path)
    outcome = desk.pull()
    assert Path(outcome.told("pulled")["target"]) == path


def test_a_found_file_that_changes_later_is_noticed(desk):
    path = place(desk, "lm studio")
    path.parent.mkdir(parents=True)
    shutil.copy(desk.target, path)
    assert desk.pull().returncode == 0
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    desk.hub.faults = [Fault("status", status=500)]
    outcome = desk.pull()
    assert outcome.returncode == 1
    desk.hub.faults = []
    assert Path(desk.pull().told("pulled")["target"]) == desk.cached("target")
