"""Keeps conversations in an SQLite file: every branch, every round of every answer, found again by any text in them."""

from __future__ import annotations

import builtins
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from localspec.chat.events import AnswerRound, Role
from localspec.conversations.conversation import About, Conversation, Entry
from localspec.conversations.encoding import (
    as_text,
    attachments_as_text,
    attachments_from,
    facts_as_text,
    facts_from,
    rounds_as_bytes,
    rounds_from,
    storable,
)
from localspec.conversations.history_file import HistoryConnection
from localspec.conversations.listing import Listed, Listing, searchable
from localspec.errors import HistoryError


class ConversationStore:
    """The conversations in one file. Any thread may call it; reading never waits for a thread that writes.

    The file is opened, and made, when it is first needed, and every method may raise `HistoryError`: the file cannot
    be read or written. After that the next call tries again. What a failed call was to write is not written at all.

    Args:
        path: the file, as `locations.history_file()`.
    """

    def __init__(self, path: Path) -> None:
        self._reader = HistoryConnection(path)
        self._writer = HistoryConnection(path)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Everything that is saved inside is kept in one piece, or not at all."""
        with self._writer.writing():
            yield

    def save_about(self, about: About, head: str | None, updated: float) -> None:
        """Keep what is known of a conversation, new or not.

        Args:
            about: as it is now.
            head: id of the last entry of the branch that is shown.
            updated: when something was last said in it, in seconds since 1970.
        """
        settings = as_text(dict(about.settings))
        title, system, pair = (storable(text) for text in (about.title, about.system, about.pair))
        with self._writer.writing() as connection:
            connection.execute(
                """INSERT INTO conversation (id, title, created, updated, head, pair, drop_oldest, settings, system)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET title = excluded.title, updated = excluded.updated, head = excluded.head,
                pair = excluded.pair, drop_oldest = excluded.drop_oldest, settings = excluded.settings,
                system = excluded.system""",
                (about.id, title, about.created, updated, head, pair, about.drop_oldest, settings, system),
            )

    def save_entry(self, conversation_id: str, entry: Entry) -> None:
        """Keep an entry as it is now; again and again while it grows.

        The conversation and the entry it follows have to be kept already.
        """
        facts, attachments = facts_as_text(entry.facts), attachments_as_text(entry.attachments)
        where = (entry.id, conversation_id, entry.parent, str(entry.role), entry.created)
        with self._writer.writing() as connection:
            number, indexed = connection.execute(
                """INSERT INTO entry (id, conversation, parent, role, created, facts, text, attachments)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET facts = excluded.facts, text = excluded.text,
                attachments = excluded.attachments RETURNING number, indexed""",
                (*where, facts, storable(entry.text), attachments),
            ).fetchone()
            # An answer that is still written would have to be taken out of the index again twice a second.
            settled = entry.facts is None or entry.facts.finish != "writing"
            if self._writer.finds_words and settled:
                text = searchable(entry.text, entry.attachments)
                connection.execute("INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)", (number, text))
                connection.execute("UPDATE entry SET indexed = 1 WHERE number = ?", (number,))
            elif indexed:
                self._take_out_of_index(connection, "number = ?", number)
                connection.execute("UPDATE entry SET indexed = 0 WHERE number = ?", (number,))

    def save_rounds(self, entry_id: str, first: int, rounds: Sequence[AnswerRound]) -> None:
        """Keep some more rounds of an answer.

        Args:
            entry_id: the answer, kept already.
            first: how many rounds of it come before these. The same number again replaces what it brought before.
            rounds: these and no others; not empty.
        """
        with self._writer.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO rounds (entry, first, count, data) VALUES (?, ?, ?, ?)",
                (entry_id, first, len(rounds), rounds_as_bytes(rounds)),
            )

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title."""
        with self._writer.writing() as connection:
            connection.execute("UPDATE conversation SET title = ? WHERE id = ?", (storable(title), conversation_id))

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation and all that belongs to it; nothing happens when it is not there."""
        with self._writer.writing() as connection:
            self._take_out_of_index(connection, "conversation = ?", conversation_id)
            connection.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))

    def open(self, conversation_id: str) -> Conversation:
        """A conversation with all its branches; the rounds of its answers stay where they are.

        Raises:
            HistoryError: also when it is not there (any more).
        """
        with self._reader.reading() as connection:
            found = connection.execute(
                "SELECT title, created, system, pair, settings, drop_oldest, head FROM conversation WHERE id = ?",
                (conversation_id,),
            ).fetchone()
            rows = connection.execute(
                "SELECT id, parent, role, text, created, attachments, facts FROM entry WHERE conversation = ? "
                "ORDER BY number",
                (conversation_id,),
            ).fetchall()
        if found is None:
            raise HistoryError("This conversation is not there any more", "It was deleted.")
        title, created, system, pair, settings, drop_oldest, head = found
        with self._reader.making_sense():
            about = About(conversation_id, title, created, system, pair, dict(json.loads(settings)), bool(drop_oldest))
            entries = [
                Entry(id_, parent, Role(role), text, created, attachments_from(attachments), facts_from(facts))
                for id_, parent, role, text, created, attachments, facts in rows
            ]
        if head is not None and all(entry.id != head for entry in entries):
            # The program was killed between this and the entry it names.
            head = entries[-1].id if entries else None
        return Conversation(about, entries, head)

    def rounds(self, entry_id: str) -> tuple[AnswerRound, ...]:
        """The rounds of an answer, as far as they were kept."""
        with self._reader.reading() as connection:
            runs = connection.execute(
                "SELECT first, data FROM rounds WHERE entry = ? ORDER BY first", (entry_id,)
            ).fetchall()
        rounds: builtins.list[AnswerRound] = []
        with self._reader.making_sense():
            for first, data in runs:
                # A run that was written again, longer, holds what the next one began with.
                rounds += rounds_from(data)[max(len(rounds) - first, 0) :]
        return tuple(rounds)

    def count_rounds(self, entry_id: str) -> int:
        """How many rounds of an answer are kept."""
        with self._reader.reading() as connection:
            return int(
                connection.execute(
                    "SELECT coalesce(max(first + count), 0) FROM rounds WHERE entry = ?", (entry_id,)
                ).fetchone()[0]
            )

    def list(self, limit: int, offset: int = 0) -> builtins.list[Listed]:
        """The conversations, those that were updated last first."""
        with self._reader.reading() as connection, self._reader.making_sense():
            return Listing(connection).newest(limit, offset)

    def latest(self) -> Listed | None:
        """The conversation that was updated last."""
        return next(iter(self.list(1)), None)

    def search(self, words: str, limit: int) -> builtins.list[Listed]:
        """The conversations in whose title, or in one of whose messages, all the words stand, newest first.

        Each word, also one letter or a part of a word, is looked for as it is; upper and lower case are the same.
        """
        with self._reader.reading() as connection, self._reader.making_sense():
            return Listing(connection).holding(words, limit, indexed=self._reader.finds_words)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._reader.close()
        self._writer.close()

    def _take_out_of_index(self, connection: sqlite3.Connection, which: str, value: str | int) -> None:
        if self._writer.finds_words:
            connection.execute(
                f"DELETE FROM words WHERE rowid IN (SELECT number FROM entry WHERE indexed AND {which})",  # noqa: S608 - a condition of ours
                (value,),
            )
