"""The file: made for its owner alone, brought up to date, and never overwritten when it is not what it should be."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from localspec.conversations import history_file
from localspec.conversations.store import ConversationStore
from localspec.errors import HistoryError
from tests.conversations.talks import branching, keep, said


def refused(path):
    """How a file that is not fit is refused, by reading and writing alike."""
    store = ConversationStore(path)
    with pytest.raises(HistoryError) as reading:
        store.list(9)
    with pytest.raises(HistoryError) as writing:
        keep(store, branching())
    assert str(reading.value) == str(writing.value)
    assert str(path) in reading.value.message
    assert reading.value.hint
    store.close()
    return reading.value


@pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")
def test_only_the_owner_may_read_the_file_and_those_beside_it(store, history):
    keep(store, branching())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in history.parent.iterdir()}
    assert modes == dict.fromkeys(modes, 0o600)
    assert {"history.sqlite3", "history.sqlite3-wal"} <= modes.keys()
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700


def test_an_empty_file_is_taken(history):
    history.parent.mkdir()
    history.touch()
    store = ConversationStore(history)
    keep(store, branching())
    assert store.latest() is not None
    store.close()


def test_closing_leaves_one_file_and_the_next_call_opens_it_again(store, history):
    keep(store, branching())
    store.close()
    assert [path.name for path in history.parent.iterdir()] == ["history.sqlite3"]
    assert store.latest() is not None


def test_a_file_that_is_no_database_is_left_as_it_is(history):
    history.parent.mkdir()
    history.write_bytes(b"These are my notes.\n" * 300)
    before = history.read_bytes()
    assert refused(history).title == "The file of conversations is damaged"
    assert history.read_bytes() == before


def test_a_file_with_its_beginning_destroyed_is_left_as_it_is(store, history):
    keep(store, branching())
    store.close()
    damaged = b"\xff" * 64 + history.read_bytes()[64:]
    history.write_bytes(damaged)
    assert refused(history).title == "The file of conversations is damaged"
    assert history.read_bytes() == damaged


def test_damage_in_the_middle_is_told(store, history):
    for number in range(40):
        keep(store, said(f"question {number} " * 50, "answer"))
    store.close()
    content = bytearray(history.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    history.write_bytes(content)
    assert refused(history).title == "The file of conversations is damaged"


def test_another_programs_database_is_left_as_it_is(history):
    history.parent.mkdir()
    with sqlite3.connect(history) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()
    before = history.read_bytes()
    assert refused(history).title == "The file of conversations is another program's"
    assert history.read_bytes() == before


def test_a_file_of_a_newer_version_is_left_as_it_is(store, history):
    keep(store, branching())
    store.close()
    with sqlite3.connect(history) as newer:
        newer.execute(f"PRAGMA user_version = {len(history_file.MIGRATIONS) + 1}")
    newer.close()
    before = history.read_bytes()
    assert refused(history).title == "The conversations were kept by a newer localspec"
    assert history.read_bytes() == before


def test_an_older_file_is_brought_up_to_date_with_all_it_holds(store, monkeypatch):
    conversation = branching()
    keep(store, conversation)
    store.close()
    more = ("ALTER TABLE conversation ADD COLUMN colour TEXT", "UPDATE conversation SET colour = 'green'")
    monkeypatch.setattr(history_file, "MIGRATIONS", (*history_file.MIGRATIONS, more))
    assert store.open(conversation.about.id).entries == conversation.entries
    with store._reader.reading() as connection:
        assert connection.execute("SELECT colour FROM conversation").fetchall() == [("green",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(history_file.MIGRATIONS),)


def test_a_migration_that_fails_changes_nothing(store, monkeypatch):
    conversation = branching()
    keep(store, conversation)
    store.close()
    with monkeypatch.context() as patch:
        broken = ("ALTER TABLE conversation ADD COLUMN colour TEXT", "UPDATE no_table SET colour = 'green'")
        patch.setattr(history_file, "MIGRATIONS", (*history_file.MIGRATIONS, broken))
        with pytest.raises(HistoryError, match="no such table"):
            store.latest()
    assert store.open(conversation.about.id).entries == conversation.entries


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    error = refused(tmp_path / "file" / "history.sqlite3")
    assert error.title == "The conversations cannot be kept"
    assert "LOCALSPEC_DATA_DIR" in error.hint


def test_a_folder_in_place_of_the_file_is_told(history):
    history.mkdir(parents=True)
    assert refused(history).title == "The conversations cannot be kept"


def test_a_disk_that_is_full_is_told_and_nothing_of_the_change_is_kept(store):
    keep(store, branching())
    with store._writer.reading() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    long = said("long " * 100_000)
    with pytest.raises(HistoryError, match="The disk is full"):
        keep(store, long)
    assert store.latest().title != long.about.title
    with store._writer.reading() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    keep(store, long)
    assert store.open(long.about.id).entries == long.entries


def test_who_holds_the_file_too_long_is_told_of_and_reading_goes_on(store, history, monkeypatch):
    monkeypatch.setattr(history_file, "_BUSY_SECONDS", 0.05)
    conversation = branching()
    keep(store, conversation)
    other = sqlite3.connect(history, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(HistoryError, match="Another program holds"):
        keep(store, said("more"))
    assert store.open(conversation.about.id).entries == conversation.entries
    assert len(store.search("LRU", 9)) == 1
    other.execute("ROLLBACK")
    other.close()
    keep(store, said("more"))


def test_reading_does_not_wait_for_a_thread_that_writes(store):
    keep(store, branching())
    writing, read = threading.Event(), threading.Event()

    def write():
        with store.together():
            keep(store, said("slowly"))
            writing.set()
            read.wait(60)

    thread = threading.Thread(target=write)
    thread.start()
    assert writing.wait(60)
    assert len(store.list(9)) == 1
    read.set()
    thread.join()
    assert len(store.list(9)) == 2


_KEEP_MANY = """
import sys, pathlib
from localspec.conversations.store import ConversationStore
from tests.conversations.talks import keep, said, round_of
store = ConversationStore(pathlib.Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(30):
    conversation = said(f"question {number}", "answer")
    keep(store, conversation)
    store.save_rounds(conversation.head.id, 0, [round_of("a")])
store.close()
"""


def test_programs_that_begin_at_once_and_write_at_once_lose_nothing(history):
    command = [sys.executable, "-c", _KEEP_MANY, str(history)]
    programs = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for program in programs:
        assert program.stdout.readline() == "ready\n"
    # All are there: now the file is made, by whoever is first.
    for program in programs:
        program.stdin.write("go\n")
        program.stdin.flush()
    for program in programs:
        _, errors = program.communicate(timeout=120)
        assert program.returncode == 0, errors
    store = ConversationStore(history)
    listed = store.list(1000)
    assert len(listed) == 120
    assert all(store.rounds(each.entry_id) for each in listed)
    assert len(store.search("question 29", 99)) == 4
    store.close()
