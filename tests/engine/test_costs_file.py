"""The file of measured costs: what is found again, what is measured anew, and that nothing damages it."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from dataclasses import fields, replace
from pathlib import Path

import pytest

from localspec import locations
from localspec.engine import costs_file
from localspec.engine.costs_file import (
    MeasuredOn,
    identity_of,
    keep_costs,
    keep_threads,
    recall_costs,
    recall_threads,
)

ON = MeasuredOn("a1b2", "target", "llama.cpp 1, AVX2", "CPU; 8 logical processors", -1, "f16", "auto")
SECONDS = {1: 0.1, 2: 0.11, 4: 0.15}


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE_DIR", str(tmp_path / "cache"))


def test_what_was_kept_is_recalled_and_a_later_measurement_replaces_it() -> None:
    assert recall_costs(ON, 4) is None
    keep_costs(ON, 4, SECONDS, 32)
    found = recall_costs(ON, 4)
    assert found is not None
    assert (found.seconds, found.text) == (SECONDS, 32)
    assert found.made
    keep_costs(ON, 4, {1: 0.2}, 512)
    again = recall_costs(ON, 4)
    assert again is not None
    assert (again.seconds, again.text) == ({1: 0.2}, 512)


@pytest.mark.parametrize("name", [field.name for field in fields(MeasuredOn)])
def test_whatever_changes_is_measured_anew(name: str) -> None:
    keep_costs(ON, 4, SECONDS, 32)
    keep_threads(ON, 4)
    other = replace(ON, **{name: 7 if name == "gpu_layers" else "another"})
    assert recall_costs(other, 4) is None
    assert recall_threads(other) is None
    assert recall_costs(ON, 3) is None
    assert recall_costs(ON, 4) is not None


def test_the_best_number_of_threads_is_recalled() -> None:
    assert recall_threads(ON) is None
    keep_threads(ON, 6)
    assert recall_threads(ON) == 6


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"schema": 1}',
        b'{"schema": 1, "costs": [], "threads": 3}',
        b"[" * 5000,
    ],
)
def test_a_damaged_file_is_no_file_and_is_written_anew(content: bytes) -> None:
    path = locations.pass_costs_file()
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert recall_costs(ON, 4) is None
    assert recall_threads(ON) is None
    keep_costs(ON, 4, SECONDS, 32)
    assert recall_costs(ON, 4) is not None


def test_a_file_of_another_schema_is_no_file() -> None:
    keep_costs(ON, 4, SECONDS, 32)
    document = json.loads(locations.pass_costs_file().read_bytes())
    locations.pass_costs_file().write_text(json.dumps({**document, "schema": 2}))
    assert recall_costs(ON, 4) is None


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": {"1": 0}},
        {"seconds": {"1": -0.1}},
        {"seconds": {"1": float("nan")}},
        {"seconds": {"1": float("inf")}},
        {"seconds": {"0": 0.1}},
        {"seconds": {"one": 0.1}},
        {"seconds": {"1": "soon"}},
        {"seconds": {}},
        {"seconds": [0.1]},
        {"text": None},
    ],
)
def test_an_absurd_entry_is_ignored_and_the_others_stay(change: dict[str, object]) -> None:
    keep_costs(ON, 4, SECONDS, 32)
    keep_costs(ON, 8, SECONDS, 32)
    path = locations.pass_costs_file()
    document = json.loads(path.read_bytes())
    first = next(iter(document["costs"]))
    document["costs"][first] |= change
    path.write_text(json.dumps(document))
    assert recall_costs(ON, 4) is None
    assert recall_costs(ON, 8) is not None


@pytest.mark.parametrize("threads", [0, -1, "4", None, True, 10**9])
def test_an_absurd_number_of_threads_is_ignored(threads: object) -> None:
    keep_threads(ON, 4)
    path = locations.pass_costs_file()
    document = json.loads(path.read_bytes())
    next(iter(document["threads"].values()))["threads"] = threads
    path.write_text(json.dumps(document))
    assert recall_threads(ON) is None


def test_the_oldest_entries_go_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs_file, "_MOST_ENTRIES", 3)
    for threads in (1, 2, 3, 1, 4):
        keep_costs(ON, threads, SECONDS, 32)
    assert [threads for threads in (1, 2, 3, 4) if recall_costs(ON, threads)] == [1, 3, 4]


def _keep_many(first: int) -> None:
    for threads in range(first, first + 10):
        keep_costs(ON, threads, SECONDS, 32)


def test_two_processes_at_once_lose_nothing() -> None:
    started = [multiprocessing.get_context("spawn").Process(target=_keep_many, args=(first,)) for first in (1, 11)]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0, 0]
    assert all(recall_costs(ON, threads) for threads in range(1, 21))


def test_a_copy_is_the_same_file_and_a_changed_one_is_not(tmp_path: Path) -> None:
    original = tmp_path / "a.gguf"
    original.write_bytes(bytes(range(256)) * 4096)
    copy = shutil.copy(original, tmp_path / "b.gguf")
    assert identity_of(Path(copy)) == identity_of(original)
    longer, other, tiny = (tmp_path / name for name in ("longer", "other", "tiny"))
    longer.write_bytes(original.read_bytes() + b"x")
    other.write_bytes(b"x" + original.read_bytes()[1:])
    tiny.write_bytes(b"")
    assert len({identity_of(path) for path in (original, longer, other, tiny)}) == 4
    with pytest.raises(OSError, match="No such file"):
        identity_of(tmp_path / "missing")
