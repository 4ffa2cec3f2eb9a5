"""Writes conversations in a thread, so that nobody who streams an answer or draws a screen waits for a disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from localspec.chat.events import AnswerRound
from localspec.conversations.conversation import About, Entry
from localspec.conversations.store import ConversationStore
from localspec.errors import HistoryError


@dataclass(slots=True)
class _Change:
    """What of one conversation is not on the disk yet."""

    about: tuple[About, str | None, float] | None = None
    title: str | None = None
    entries: dict[str, Entry] = field(default_factory=dict)
    rounds: dict[str, list[AnswerRound]] = field(default_factory=dict)
    deleted: bool = False

    @property
    def entry_ids(self) -> set[str]:
        return self.entries.keys() | self.rounds.keys()

    def absorb(self, newer: _Change) -> None:
        """Add a newer change to this one."""
        if newer.deleted:
            self.about, self.title, self.deleted = None, None, True
            self.entries.clear()
            self.rounds.clear()
        if newer.about:
            self.about, self.title = newer.about, None
        if newer.title is not None:
            self.title = newer.title
        self.entries |= newer.entries
        for entry_id, rounds in newer.rounds.items():
            self.rounds.setdefault(entry_id, []).extend(rounds)


class Saver:
    """Takes what is to be kept, at any pace, and writes the latest of it a moment later.

    A kill loses at most what came in the last second. What cannot be written stays here, and is tried again until it
    can be.

    Args:
        store: where to write.
        every: seconds from a change until it is written, together with all that came meanwhile.
        retry: seconds from a failure until the next try.
        on_trouble: called in the saver's thread when `trouble` changed.
    """

    def __init__(
        self,
        store: ConversationStore,
        *,
        every: float = 0.5,
        retry: float = 3.0,
        on_trouble: Callable[[HistoryError | None], None] | None = None,
    ) -> None:
        self._store = store
        self._every = every
        self._retry = retry
        self._on_trouble = on_trouble
        self._trouble: HistoryError | None = None
        self._waiting: dict[str, _Change] = {}
        self._in_writing: dict[str, _Change] = {}
        self._conversations: dict[str, str] = {}
        """The conversation of each entry that was handed over."""
        self._kept_rounds: dict[str, int] = {}
        self._deleted: set[str] = set()
        self._tries = 0
        self._hurried = False
        self._closed = False
        self._state = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="saver", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> HistoryError | None:
        """Why something could not be written; None again once everything could."""
        return self._trouble

    @property
    def pending(self) -> int:
        """How many entries are not on the disk as they are."""
        with self._state:
            changes = (*self._waiting.values(), *self._in_writing.values())
            return len(set().union(*(change.entry_ids for change in changes)))

    def about(self, about: About, head: str | None, updated: float) -> None:
        """Keep what is known of a conversation; the latest counts."""
        self._add(about.id, _Change(about=(about, head, updated)))

    def entry(self, conversation_id: str, entry: Entry) -> None:
        """Keep an entry as it is now; the latest counts. What it follows is handed over too, before it or after."""
        self._conversations[entry.id] = conversation_id
        self._add(conversation_id, _Change(entries={entry.id: entry}))

    def rounds(self, entry_id: str, rounds: Sequence[AnswerRound]) -> None:
        """Keep more rounds of an answer, after those that came before, in an earlier program too.

        Raises:
            KeyError: the entry itself was never handed over.
        """
        if rounds:
            self._add(self._conversations[entry_id], _Change(rounds={entry_id: [*rounds]}))

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title; nothing happens when it is not there."""
        with self._state:
            self.reopen(conversation_id)
            self._add(conversation_id, _Change(title=title))

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation, and ignore what still comes for it, until the person goes back to it."""
        with self._state:
            self._deleted.discard(conversation_id)
            self._add(conversation_id, _Change(deleted=True))
            self._deleted.add(conversation_id)

    def reopen(self, conversation_id: str) -> None:
        """Keep what comes for a conversation again, and do no deletion of it that is still to be done."""
        with self._state:
            self._deleted.discard(conversation_id)
            for changes in (self._waiting, self._in_writing):
                if (change := changes.get(conversation_id)) is not None:
                    change.deleted = False

    def flush(self, timeout: float = 0.0) -> bool:
        """Write at once what is waiting.

        Args:
            timeout: seconds to wait for that; 0 only asks for it.

        Returns:
            Whether all that was handed over before is on the disk.
        """
        with self._state:
            if not self._waiting and not self._in_writing:
                return True
            # What is being written now may be older than what was handed over last.
            goal = self._tries + (2 if self._in_writing else 1)
            self._hurried = True
            self._state.notify_all()
            done = self._state.wait_for(lambda: self._tries >= goal or self._all_written(), timeout)
            return self._all_written() or (done and self._trouble is None)

    def close(self, timeout: float) -> bool:
        """Write what is waiting and end; when that fails nothing ends, and it can be called again.

        Returns:
            Whether everything is on the disk.
        """
        self.flush(timeout)
        with self._state:
            if not self._all_written():
                return False
            self._closed = True
            self._state.notify_all()
        self._thread.join()
        return True

    def _all_written(self) -> bool:
        return not self._waiting and not self._in_writing

    def _add(self, conversation_id: str, change: _Change) -> None:
        with self._state:
            if self._closed:
                raise RuntimeError("nothing can be kept any more: the saver was closed")
            if conversation_id in self._deleted:
                return
            if not self._waiting:
                self._state.notify_all()
            self._waiting.setdefault(conversation_id, _Change()).absorb(change)

    def _run(self) -> None:
        while self._wait_for_work():
            left, trouble = {}, None
            for conversation_id, change in self._in_writing.items():
                try:
                    self._write(conversation_id, change)
                except HistoryError as error:
                    left[conversation_id], trouble = change, error
                except Exception as error:  # noqa: BLE001 - a thread that ended would lose all that comes, without a word
                    left[conversation_id] = change
                    trouble = HistoryError(
                        "The conversation cannot be kept", f"An error of localspec itself: {error!r}."
                    )
            self._settle(left, trouble)

    def _wait_for_work(self) -> bool:
        """Sleep until something is to be written and its time has come; False when the saver was closed."""
        with self._state:
            self._state.wait_for(lambda: self._waiting or self._closed)
            if self._waiting:
                delay = self._every if self._trouble is None else self._retry
                self._state.wait_for(lambda: self._hurried, delay)
            self._hurried = False
            self._in_writing, self._waiting = self._waiting, {}
            return not self._closed

    def _write(self, conversation_id: str, change: _Change) -> None:
        if change.deleted:
            self._store.delete(conversation_id)
            return
        with self._store.together():
            if change.about:
                self._store.save_about(*change.about)
            if change.title is not None:
                self._store.rename(conversation_id, change.title)
            for entry in _parents_first(change.entries):
                self._store.save_entry(conversation_id, entry)
            counts = {id_: self._count(id_) for id_ in change.rounds}
            for id_, rounds in change.rounds.items():
                self._store.save_rounds(id_, counts[id_], rounds)
        self._kept_rounds |= {id_: counts[id_] + len(rounds) for id_, rounds in change.rounds.items()}

    def _count(self, entry_id: str) -> int:
        known = self._kept_rounds.get(entry_id)
        return self._store.count_rounds(entry_id) if known is None else known

    def _settle(self, left: dict[str, _Change], trouble: HistoryError | None) -> None:
        """Put back what could not be written, before what came meanwhile."""
        with self._state:
            for conversation_id, change in left.items():
                change.absorb(self._waiting.get(conversation_id, _Change()))
            self._waiting |= left
            self._in_writing = {}
            self._tries += 1
            changed = str(trouble) != str(self._trouble)
            self._trouble = trouble
            self._state.notify_all()
        if changed and self._on_trouble is not None:
            self._on_trouble(trouble)


def _parents_first(entries: dict[str, Entry]) -> Iterable[Entry]:
    """The entries in the order they were handed over, but each after the one it follows."""
    ordered: dict[str, Entry] = {}
    for entry in entries.values():
        chain: list[Entry] = []
        above: Entry | None = entry
        while above is not None and above.id not in ordered:
            chain.append(above)
            above = entries.get(above.parent) if above.parent else None
        ordered |= {each.id: each for each in reversed(chain)}
    return ordered.values()
