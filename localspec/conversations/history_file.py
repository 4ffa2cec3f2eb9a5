"""The SQLite file that keeps the conversations: its tables, how it is opened, and its errors in words."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from localspec.errors import HistoryError

APPLICATION = 0x6C737063
"""Marks the file as ours (`PRAGMA application_id`): the letters "lspc"."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        f"PRAGMA application_id = {APPLICATION}",
        """CREATE TABLE conversation (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            head TEXT,
            pair TEXT NOT NULL,
            drop_oldest INTEGER NOT NULL,
            settings TEXT NOT NULL,
            system TEXT NOT NULL
        )""",
        "CREATE INDEX conversation_updated ON conversation (updated)",
        # AUTOINCREMENT: `words` may keep a number whose entry was deleted by a program that cannot read `words`.
        """CREATE TABLE entry (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            conversation TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
            parent TEXT REFERENCES entry (id),
            role TEXT NOT NULL,
            created REAL NOT NULL,
            indexed INTEGER NOT NULL DEFAULT 0,
            facts TEXT,
            text TEXT NOT NULL,
            attachments TEXT NOT NULL
        )""",
        "CREATE INDEX entry_conversation ON entry (conversation)",
        "CREATE INDEX entry_parent ON entry (parent)",
        "CREATE INDEX entry_not_indexed ON entry (number) WHERE NOT indexed",
        """CREATE TABLE rounds (
            entry TEXT NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
            first INTEGER NOT NULL,
            count INTEGER NOT NULL,
            data BLOB NOT NULL,
            PRIMARY KEY (entry, first)
        )""",
    ),
)
"""What leads from each version of the file (`PRAGMA user_version`) to the next, beginning with an empty one.

Times are seconds since 1970; `settings`, `facts` and `attachments` are JSON. `rounds` holds runs of rounds: `first` is
how many rounds of the answer come before the run. `entry.indexed` says whether `words` holds the text.
"""

_WORDS = "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize='trigram', detail='none')"
"""Which entries hold which three letters. No migration: an SQLite without FTS5 reads and writes the rest."""

_BUSY_SECONDS = 5.0

_ANEW = "Move it to another place, with the files beside it that end in -wal and -shm, and a new one is begun."
_DAMAGED = f"Nothing was changed in it. {_ANEW} `sqlite3 FILE .recover` may bring back what it holds."


_WORDS_FOR = {
    sqlite3.SQLITE_FULL: ("The disk is full", "Make room; what is not kept yet stays in memory."),
    sqlite3.SQLITE_IOERR: (
        "The disk failed",
        "Look whether it is full or was taken away; what is not kept yet stays in memory.",
    ),
    sqlite3.SQLITE_BUSY: (
        "Another program holds the file of conversations",
        "Close the other program, or wait until it is done.",
    ),
    sqlite3.SQLITE_NOTADB: ("The file of conversations is damaged", _DAMAGED),
    sqlite3.SQLITE_CORRUPT: ("The file of conversations is damaged", _DAMAGED),
    sqlite3.SQLITE_CONSTRAINT: (
        "This conversation was deleted meanwhile",
        "Another window may have done it. Export the conversation to a file to keep it.",
    ),
    sqlite3.SQLITE_READONLY: ("The conversations cannot be kept", ""),
    sqlite3.SQLITE_CANTOPEN: ("The conversations cannot be kept", ""),
}
"""Title and hint by the kind of SQLite's error; an empty hint is about the folder."""


class DeletedMeanwhileError(HistoryError):
    """What an entry follows is not in the file any more: another window deleted the conversation."""


class HistoryConnection:
    """A connection to the file, opened when it is first used; one thread uses it at a time.

    Args:
        path: the file; it and its folder are made when they are missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self.finds_words = False
        """Whether there is an index to search; known once the connection was used."""

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone.

        Raises:
            HistoryError: the file cannot be opened or read.
        """
        with self._lock, _in_words(self._path):
            if self._connection is None:
                self._connection, self.finds_words = _connect_patiently(self._path)
            yield self._connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection in a transaction: all that is written in it is kept, or nothing. May be nested.

        Raises:
            HistoryError: the file cannot be opened or written.
        """
        with self.reading() as connection:
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def making_sense(self) -> Iterator[None]:
        """What is done with values that were read, for the case that they are not what was written.

        Raises:
            HistoryError: they are not.
        """
        try:
            yield
        except (ValueError, TypeError, KeyError, zlib.error) as error:
            raise HistoryError(
                "The file of conversations is damaged", f"{self._path} holds something senseless: {error}.", _DAMAGED
            ) from error

    def close(self) -> None:
        """Close it; the next use opens it again."""
        with self._lock, _in_words(self._path):
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _connect_patiently(path: Path) -> tuple[sqlite3.Connection, bool]:
    """As `_connect`, tried again while another program makes the file: SQLite itself does not wait for that."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return _connect(path)
        except sqlite3.OperationalError as error:
            if _kind(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _connect(path: Path) -> tuple[sqlite3.Connection, bool]:
    """A connection to an up-to-date file, and whether it has an index of words."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            # SQLite gives the files beside it the same permissions.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        title = _WORDS_FOR[sqlite3.SQLITE_CANTOPEN][0]
        raise HistoryError(title, f"{path}: {error.strerror or error}.", _unwritable_hint(path)) from error
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        # Before anything is written: a file that is not ours must stay as it is.
        # At one moment, too: another program may be making it.
        connection.execute("BEGIN")
        version = _version(connection, path)
        connection.execute("COMMIT")
        if _pragma(connection, "journal_mode") != "wal":
            _pragma(connection, "journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        if version < len(MIGRATIONS):
            _migrate(connection, path)
        return connection, _has_words(connection)
    except BaseException:
        connection.close()
        raise


def _pragma(connection: sqlite3.Connection, name: str) -> str | int:
    value: str | int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the file, 0 for an empty one."""
    version = int(_pragma(connection, "user_version"))
    ours = _pragma(connection, "application_id") == APPLICATION
    empty = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    if not ours and (version or not empty):
        raise HistoryError(
            "The file of conversations is another program's",
            f"{path} is an SQLite file that localspec did not make.",
            _ANEW,
        )
    if version > len(MIGRATIONS):
        raise HistoryError(
            "The conversations were kept by a newer localspec",
            f"{path} has version {version} of the format, and this program knows {len(MIGRATIONS)}.",
            f"Update localspec. {_ANEW}",
        )
    return version


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another program may have done it meanwhile.
        version = _version(connection, path)
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _has_words(connection: sqlite3.Connection) -> bool:
    """Make the index of words where SQLite can."""
    try:
        connection.execute(_WORDS)
        connection.execute("SELECT 1 FROM words LIMIT 0")
    except sqlite3.OperationalError as error:
        # An SQLite without FTS5, or with one before 3.34, knows no such module or tokenizer.
        if _kind(error) != sqlite3.SQLITE_ERROR:
            raise
        return False
    return True


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into errors for people."""
    try:
        yield
    except sqlite3.Error as error:
        raise _told(error, path) from error


def _told(error: sqlite3.Error, path: Path) -> HistoryError:
    kind = DeletedMeanwhileError if _kind(error) == sqlite3.SQLITE_CONSTRAINT else HistoryError
    title, hint = _WORDS_FOR.get(_kind(error), ("The file of conversations cannot be used", _ANEW))
    return kind(title, f"{path}: {error}.", hint or _unwritable_hint(path))


def _kind(error: sqlite3.Error) -> int:
    # The low byte of a code is the kind of the error, the rest the place where it arose.
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def _unwritable_hint(path: Path) -> str:
    return f"Make {path.parent} a folder that can be written, or set LOCALSPEC_DATA_DIR to one."
