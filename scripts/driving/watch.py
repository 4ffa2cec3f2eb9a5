"""What must be true all along: no word is lost, nothing grows, nothing strange is shown, nothing is left behind."""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
import statistics
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psutil  # type: ignore[import-untyped] # its stubs are a package of their own

from driving.program import Program

_SECONDS_TO_DISK = 15.0
"""Within which what was asked is on the disk; the program promises about one, on a machine that is not busy."""

_SECONDS_TO_DELETE = 60.0
"""Within which a conversation may vanish after the key for that was pressed."""

_SECONDS_LOST = 2.0
"""What a kill may cost."""

_MOST_COMPARED = 60
"""Samples of the memory that are compared with each other."""

_FORBIDDEN = ("Traceback (most recent call last)", "A mistake in localspec", "of localspec itself")


class ViolationError(Exception):
    """Something that must not be."""


@dataclass(slots=True)
class Asked:
    """A question that the program took.

    Attributes:
        marker: what only it holds.
        text: all of it.
        attached: what went along, when it was too large to edit.
        when: on the monotonic clock.
        seen_in: the conversation it was found in; "" until then.
        forgiven: why it may be missing; "" when it may not.
    """

    marker: str
    text: str
    attached: str
    when: float
    seen_in: str = ""
    forgiven: str = ""


@dataclass(slots=True)
class Sample:
    """The program's size at one moment: minutes since it began, bytes of memory, files and threads."""

    minutes: float
    bytes: int
    files: int
    threads: int


@dataclass(slots=True)
class Watch:
    """Remembers what was asked and seen; raises ViolationError when something is wrong."""

    folder: Path
    asked: list[Asked] = field(default_factory=list)
    processes: list[list[Sample]] = field(default_factory=list)
    """The samples of each process, in the order they were begun."""
    answers: dict[str, str] = field(default_factory=dict)
    """The texts of the answers as they were last seen, by their ids."""
    last_delete: float = -math.inf
    """When a key was pressed that can delete a conversation."""
    _sampled: float = 0.0

    @property
    def history(self) -> Path:
        """The file of conversations."""
        return self.folder / "data" / "history.sqlite3"

    def look(self, program: Program) -> None:
        """Check everything that can be checked while it runs.

        Raises:
            ViolationError: something is wrong.
        """
        self.look_at_screen(program)
        self.look_at_file()
        program.descendants_now()
        self._measure(program)

    def look_at_screen(self, program: Program) -> None:
        """Check that nothing strange is on the screen, or was written to the terminal."""
        shown = "\n".join(program.lines)
        for words in _FORBIDDEN:
            if words in shown:
                raise ViolationError(f"the screen says {words!r}")
        if program.screen.odd:
            raise ViolationError(f"control characters reached the terminal: {program.screen.odd[:5]}")
        failure = self.folder / "data" / "log" / "last-failure.txt"
        if failure.exists():
            raise ViolationError(f"a failure was written down:\n{failure.read_text()}")

    def look_at_file(self) -> None:
        """Check that every question and every word of an answer that was seen once is there."""
        if not self.history.exists():
            return
        with closing(sqlite3.connect(f"file:{self.history}?mode=ro", uri=True, timeout=10)) as connection:
            connection.execute("BEGIN")
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'entry'").fetchall():
                return  # it is being made
            conversations = {row[0] for row in connection.execute("SELECT id FROM conversation")}
            entries = connection.execute("SELECT id, conversation, role, text, attachments FROM entry").fetchall()
        questions = [(where, text, attached) for _, where, role, text, attached in entries if role == "user"]
        for asked in self.asked:
            self._look_for(asked, questions, conversations)
        self._compare_answers({id_: text for id_, _, role, text, _ in entries if role == "assistant"})

    def forgive_the_last_second(self) -> None:
        """The program was killed: what was asked just before may be lost, and what was answered."""
        for asked in self.asked:
            if not asked.seen_in and time.monotonic() - asked.when < _SECONDS_LOST:
                asked.forgiven = "asked in the last second before a kill"

    def begin_process(self) -> None:
        """Another process begins: its size is a matter of its own."""
        self.processes.append([])

    def look_at_the_end(self) -> None:
        """Check that the file of conversations is whole."""
        if self.history.exists():
            with closing(sqlite3.connect(self.history)) as connection:
                found = connection.execute("PRAGMA integrity_check").fetchall()
                broken = connection.execute("PRAGMA foreign_key_check").fetchall()
            if found != [("ok",)] or broken:
                raise ViolationError(f"the file of conversations is damaged: {found[:5]} {broken[:5]}")

    def growth(self) -> tuple[float, str]:
        """Megabytes a minute over the last third of the longest process, and that in words.

        The median of the slopes between samples (Theil and Sen): what leaks grows all the time, while the largest paste
        so far makes one step, that Python's allocator keeps for the next one, and caches fill for some fifteen minutes
        until they are full.
        """
        longest = max(self.processes, key=len)
        last_third = longest[len(longest) * 2 // 3 :]
        if len(last_third) < 5:
            return 0.0, "too few samples of its memory"
        picked = last_third[:: -(-len(last_third) // _MOST_COMPARED)]
        slope = statistics.median(
            (later.bytes - sooner.bytes) / 1e6 / (later.minutes - sooner.minutes)
            for sooner, later in itertools.combinations(picked, 2)
        )
        first, last = longest[0], longest[-1]
        tenths = [longest[(len(longest) - 1) * part // 10].bytes for part in range(11)]
        return slope, (
            f"memory of the longest process, {last.minutes:.1f} minutes, in tenths of it: "
            f"{' '.join(f'{each / 1e6:.0f}' for each in tenths)} MB, "
            f"{slope:+.2f} MB a minute over the last third; files {first.files} to {last.files}, "
            f"threads {first.threads} to {last.threads}"
        )

    @property
    def _may_delete(self) -> bool:
        return time.monotonic() - self.last_delete < _SECONDS_TO_DELETE

    def _look_for(self, asked: Asked, questions: list[tuple[str, str, str]], conversations: set[str]) -> None:
        found = [(where, text, attached) for where, text, attached in questions if asked.marker in text + attached]
        whole = [where for where, text, attached in found if _is_whole(asked, text, attached)]
        if whole:
            asked.seen_in = whole[0]
        elif asked.forgiven:
            return
        elif asked.seen_in and asked.seen_in not in conversations and self._may_delete:
            asked.forgiven = "its conversation was deleted"
        elif found:
            raise ViolationError(f"{asked.marker} was kept as {found[0][1:]!r}, and asked as {asked.text!r}")
        elif asked.seen_in or time.monotonic() - asked.when > _SECONDS_TO_DISK:
            when = "it was there before" if asked.seen_in else f"asked {time.monotonic() - asked.when:.0f} s ago"
            raise ViolationError(f"{asked.marker} is not in the file ({when}): {asked.text!r}")

    def _compare_answers(self, now: dict[str, str]) -> None:
        for id_, text in now.items():
            if not text.startswith(self.answers.get(id_, "")):
                raise ViolationError(f"answer {id_} was {self.answers[id_]!r} and is {text!r}")
        if not self._may_delete and (gone := self.answers.keys() - now.keys()):
            raise ViolationError(f"answers are gone: {gone}")
        self.answers = now

    def _measure(self, program: Program) -> None:
        if time.monotonic() - self._sampled < 2:
            return
        self._sampled = time.monotonic()
        try:
            process = psutil.Process(program.pid)
            minutes = (time.monotonic() - program.began) / 60
            size = process.memory_info().rss
            self.processes[-1].append(Sample(minutes, size, process.num_fds(), process.num_threads()))
        except psutil.NoSuchProcess:
            return


def _is_whole(asked: Asked, text: str, attached: str) -> bool:
    if asked.attached:
        return any(asked.attached == content for _, content in json.loads(attached))
    return text == asked.text
