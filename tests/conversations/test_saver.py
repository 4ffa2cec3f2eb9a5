"""What is handed over reaches the disk a moment later, whole and in order, and nobody waits for it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from localspec.chat.events import Role
from localspec.conversations import history_file
from localspec.conversations.conversation import AnswerFacts
from localspec.conversations.saver import Saver
from localspec.conversations.store import ConversationStore
from localspec.errors import HistoryError
from tests.conversations.talks import FACTS, branching, keep, round_of, said
from tests.hub.test_disk import fill_up, small_disk


class Gate(ConversationStore):
    """A store whose writes can be held up, and counted."""

    def __init__(self, path):
        super().__init__(path)
        self.open_ = threading.Event()
        self.open_.set()
        self.begun = threading.Event()
        self.written = []

    def save_entry(self, conversation_id, entry):
        self.begun.set()
        self.open_.wait(60)
        self.written.append(entry.text)
        super().save_entry(conversation_id, entry)


@pytest.fixture
def store(history):
    store = Gate(history)
    yield store
    store.close()


@pytest.fixture
def saver(store):
    saver = Saver(store, every=0.01, retry=0.01)
    yield saver
    store.open_.set()
    assert saver.close(60)


def hand_over(saver, conversation):
    saver.about(conversation.about, conversation.head.id, 1.0)
    for entry in conversation.entries:
        saver.entry(conversation.about.id, entry)


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_what_is_handed_over_is_written_without_being_asked_for(saver, store):
    conversation = branching()
    hand_over(saver, conversation)
    until(lambda: saver.pending == 0)
    assert store.open(conversation.about.id).entries == conversation.entries
    assert saver.trouble is None


def test_nobody_waits_for_the_disk_and_the_latest_of_an_entry_counts(saver, store):
    conversation = said("question")
    hand_over(saver, conversation)
    assert saver.flush(60)
    answer = conversation.add(Role.ASSISTANT, "", parent=conversation.head.id, facts=AnswerFacts())
    store.begun.clear()
    store.open_.clear()
    saver.entry(conversation.about.id, answer)
    assert store.begun.wait(60)
    for number in range(1000):
        answer = conversation.change(answer.id, text=str(number), facts=AnswerFacts())
        saver.entry(conversation.about.id, answer)
        saver.rounds(answer.id, [round_of(str(number))])
    assert saver.pending == 1
    assert not saver.flush(0)
    store.open_.set()
    assert saver.flush(60)
    assert saver.pending == 0
    assert store.open(conversation.about.id)[answer.id].text == "999"
    assert store.rounds(answer.id) == tuple(round_of(str(number)) for number in range(1000))
    assert store.written == ["question", "", "999"]


def test_asking_for_it_does_not_wait_for_its_time(store):
    saver = Saver(store, every=3600)
    conversation = branching()
    hand_over(saver, conversation)
    assert saver.pending == 4
    assert saver.flush(60)
    assert store.open(conversation.about.id).entries == conversation.entries
    hand_over(saver, said("another"))
    assert saver.close(60)
    assert len(store.list(9)) == 2


def test_an_answer_that_is_continued_in_a_later_program_keeps_its_rounds(saver, store):
    conversation = branching()
    hand_over(saver, conversation)
    answer = conversation.head
    saver.rounds(answer.id, [round_of("a"), round_of("b")])
    assert saver.flush(60)
    later = Saver(store, every=0.01)
    later.entry(conversation.about.id, answer)
    later.rounds(answer.id, [round_of("c")])
    assert later.flush(60)
    later.rounds(answer.id, [round_of("d")])
    assert later.close(60)
    assert store.rounds(answer.id) == tuple(round_of(letter) for letter in "abcd")


def test_rounds_of_an_entry_that_nobody_handed_over_are_a_mistake_of_the_caller(saver):
    with pytest.raises(KeyError):
        saver.rounds("unknown", [round_of("a")])


def test_a_deleted_conversation_is_not_brought_back_by_what_still_comes(saver, store):
    conversation = branching()
    hand_over(saver, conversation)
    assert saver.flush(60)
    store.begun.clear()
    store.open_.clear()
    answer = conversation.change(conversation.head.id, text="in the middle", facts=AnswerFacts())
    saver.entry(conversation.about.id, answer)
    assert store.begun.wait(60)
    # Now one write is under way, and more are waiting.
    saver.entry(conversation.about.id, answer)
    saver.rounds(answer.id, [round_of("a")])
    saver.delete(conversation.about.id)
    saver.about(conversation.about, answer.id, 2.0)
    saver.entry(conversation.about.id, answer)
    saver.rounds(answer.id, [round_of("b")])
    store.open_.set()
    assert saver.flush(60)
    assert saver.pending == 0
    assert saver.trouble is None
    hand_over(saver, conversation)
    saver.rounds(answer.id, [round_of("c")])
    saver.rename(conversation.about.id, "back")
    assert saver.flush(60)
    assert store.latest() is None
    assert store.rounds(answer.id) == ()


def test_a_deleted_conversation_that_another_window_brought_back_is_kept_again(saver, store, history):
    conversation = branching()
    hand_over(saver, conversation)
    assert saver.flush(60)
    saver.delete(conversation.about.id)
    assert saver.flush(60)
    with closing(ConversationStore(history)) as other:
        keep(other, conversation)
        saver.rename(conversation.about.id, "back")
        assert saver.flush(60)
        assert store.latest().title == "back"
        saver.delete(conversation.about.id)
        assert saver.flush(60)
        assert store.latest() is None
        keep(other, conversation)
    saver.reopen(conversation.about.id)
    more = conversation.add(Role.ASSISTANT, "more", parent=conversation.head.id, facts=FACTS)
    saver.about(conversation.about, more.id, 2.0)
    saver.entry(conversation.about.id, more)
    saver.rounds(more.id, [round_of("a")])
    assert saver.flush(60)
    assert store.open(conversation.about.id).head == more
    assert store.rounds(more.id) == (round_of("a"),)


@pytest.mark.parametrize("when", ["between two tries", "during one"])
def test_a_deletion_that_could_not_be_done_yet_is_not_done_when_the_person_goes_back(saver, store, monkeypatch, when):
    conversation = branching()
    hand_over(saver, conversation)
    assert saver.flush(60)
    tried, go = threading.Event(), threading.Event()

    def refuse(_):
        tried.set()
        go.wait(60)
        raise HistoryError("The disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(store, "delete", refuse)
        saver.delete(conversation.about.id)
        assert tried.wait(60)
        if when == "between two tries":
            go.set()
            until(lambda: saver.trouble)
        saver.reopen(conversation.about.id)
        more = conversation.add(Role.ASSISTANT, "more", parent=conversation.head.id, facts=FACTS)
        saver.about(conversation.about, more.id, 2.0)
        saver.entry(conversation.about.id, more)
        go.set()
        until(lambda: saver.pending == 0)
    assert saver.flush(60)
    assert store.open(conversation.about.id).head == more
    assert saver.trouble is None


def test_what_was_waiting_for_a_deleted_conversation_does_not_wait_any_more(store):
    saver = Saver(store, every=3600)
    hand_over(saver, branching())
    conversation = said("question")
    hand_over(saver, conversation)
    assert saver.pending == 5
    saver.delete(conversation.about.id)
    assert saver.pending == 4
    assert saver.close(60)
    assert len(store.list(9)) == 1


def test_a_title_given_between_two_changes_stays_in_its_place(saver, store):
    conversation = branching()
    hand_over(saver, conversation)
    saver.rename(conversation.about.id, "first")
    assert saver.flush(60)
    assert store.latest().title == "first"
    saver.rename(conversation.about.id, "second")
    saver.about(replace(conversation.about, title="third"), None, 2.0)
    assert saver.flush(60)
    assert store.latest().title == "third"
    saver.about(replace(conversation.about, title="fourth"), None, 3.0)
    saver.rename(conversation.about.id, "fifth")
    assert saver.flush(60)
    assert store.latest().title == "fifth"


def test_what_cannot_be_written_waits_in_order_until_it_can_be(tmp_path):
    obstacle = tmp_path / "data"
    obstacle.touch()
    store = ConversationStore(obstacle / "history.sqlite3")
    told = []
    saver = Saver(store, every=0.01, retry=0.01, on_trouble=told.append)
    conversation = said("question")
    hand_over(saver, conversation)
    assert not saver.flush(60)
    assert saver.trouble.title == "The conversations cannot be kept"
    answer = conversation.add(Role.ASSISTANT, "", parent=conversation.head.id, facts=AnswerFacts())
    for number in range(20):
        answer = conversation.change(answer.id, text=answer.text + f"{number} ", facts=AnswerFacts())
        saver.entry(conversation.about.id, answer)
        saver.rounds(answer.id, [round_of(f"{number} ")])
        saver.flush(60)
    assert saver.pending == 2
    assert not saver.close(0)
    obstacle.unlink()
    until(lambda: saver.pending == 0)
    until(lambda: saver.trouble is None)
    assert store.open(conversation.about.id).entries == conversation.entries
    assert store.rounds(answer.id) == tuple(round_of(f"{number} ") for number in range(20))
    assert saver.close(60)
    assert [error and error.title for error in told] == ["The conversations cannot be kept", None]
    store.close()


def test_trouble_with_one_conversation_does_not_keep_another_from_being_kept(saver, store):
    lost, fine = branching(), said("fine")
    hand_over(saver, lost)
    assert saver.flush(60)
    ConversationStore.delete(store, lost.about.id)
    more = lost.add(Role.ASSISTANT, "more", parent=lost.head.id, facts=FACTS)
    saver.about(lost.about, more.id, 2.0)
    saver.entry(lost.about.id, more)
    hand_over(saver, fine)
    assert not saver.flush(60)
    assert saver.trouble.title == "This conversation was deleted meanwhile"
    assert [listed.id for listed in store.list(9)] == [fine.about.id]
    assert saver.pending == 1
    # Handed over whole, it is kept again.
    hand_over(saver, lost)
    assert saver.flush(60)
    assert saver.trouble is None
    assert store.open(lost.about.id).head == more


def test_a_file_that_another_program_holds_is_waited_for(saver, store, history, monkeypatch):
    monkeypatch.setattr(history_file, "_BUSY_SECONDS", 0.01)
    store.latest()
    other = sqlite3.connect(history, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    hand_over(saver, branching())
    assert not saver.flush(60)
    assert saver.trouble.title == "Another program holds the file of conversations"
    other.execute("ROLLBACK")
    other.close()
    until(lambda: saver.trouble is None)
    assert store.latest() is not None


def test_an_error_of_our_own_is_told_and_ends_nothing(saver, store, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(store, "save_about", lambda *_: 1 / 0)
        hand_over(saver, branching())
        assert not saver.flush(60)
        assert isinstance(saver.trouble, HistoryError)
        assert "ZeroDivisionError" in saver.trouble.message
    assert saver.flush(60)
    assert store.latest() is not None


def test_nothing_can_be_handed_over_after_the_end(store):
    saver = Saver(store)
    assert saver.close(1)
    assert saver.close(1)
    with pytest.raises(RuntimeError, match="closed"):
        hand_over(saver, said("late"))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="tells no thread's switches")
def test_a_saver_without_work_sleeps(saver):
    hand_over(saver, branching())
    assert saver.flush(60)

    def switches():
        status = Path(f"/proc/self/task/{saver._thread.native_id}/status").read_text(encoding="ascii")
        return next(line for line in status.splitlines() if line.startswith("voluntary_ctxt_switches"))

    # Until it has gone to sleep.
    before = None
    while before != (before := switches()):
        time.sleep(0.05)
    time.sleep(0.5)
    assert switches() == before


def test_a_disk_that_fills_loses_nothing_and_is_written_to_once_there_is_room(tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk, 2), closing(ConversationStore(disk / "history.sqlite3")) as store:
        saver = Saver(store, every=0.01, retry=0.01)
        conversation = said("question")
        hand_over(saver, conversation)
        assert saver.flush(60)
        filler = disk / "filler"
        with pytest.raises(OSError, match="No space left"):
            fill_up(filler)
        answer = conversation.add(Role.ASSISTANT, "", parent=conversation.head.id, facts=AnswerFacts())
        while saver.trouble is None:
            assert len(answer.text) < 10_000_000
            answer = conversation.change(answer.id, text=answer.text + "word " * 2000, facts=AnswerFacts())
            saver.entry(conversation.about.id, answer)
            saver.rounds(answer.id, [round_of("word ")])
            saver.flush(60)
        assert saver.trouble.title == "The disk is full"
        assert saver.pending == 1
        assert store.open(conversation.about.id).path[0] == conversation.path[0]
        filler.unlink()
        until(lambda: saver.pending == 0)
        assert store.open(conversation.about.id).entries == conversation.entries
        assert len(store.rounds(answer.id)) == len(answer.text) // len("word " * 2000)
        assert saver.close(60)


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a signal")
def test_a_killed_program_loses_at_most_its_last_second(history):
    command = [sys.executable, "-m", "tests.conversations.stream_in_child", str(history)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        handed = [json.loads(child.stdout.readline())]
        while handed[-1]["at"] < handed[0]["at"] + 2.5:
            handed.append(json.loads(child.stdout.readline()))
        child.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        handed += [json.loads(line) for line in child.stdout if line.endswith("\n")]
    # Where other work holds up the child itself, its saver is held up too.
    stalls = max(later["at"] - earlier["at"] for earlier, later in pairwise(handed))
    due = [frame["words"] for frame in handed if frame["at"] < killed - 1.0 - 2 * stalls]
    assert due
    store = ConversationStore(history)
    conversation = store.open(store.latest().id)
    assert conversation.path[0].text == "question"
    answer = conversation.head
    assert answer.facts.finish == "writing"
    kept = len(answer.text.split())
    assert kept >= due[-1]
    assert answer.text == "".join(f"{number} " for number in range(1, kept + 1))
    # Both were handed over one after the other, and the kill may have come between.
    rounds = "".join(token.text for each in store.rounds(answer.id) for token in each.tokens)
    assert 0 <= len(rounds.split()) - kept <= 1
    keep(store, said("and it can be written to"))
    store.close()
