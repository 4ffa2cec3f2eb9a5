"""Conversations as a list shows them, and the search for words in them."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from localspec.chat.thinking import split_thinking
from localspec.conversations.conversation import Attachment
from localspec.conversations.encoding import attachments_from, storable

Hits = tuple[tuple[int, int], ...]
"""Where in a text the words stand: begin and end of each, in characters, in order."""

_TRIGRAM = 3
_MOST_TRIGRAMS = 64
"""What is found by them is compared with the words anyway: more would only cost time."""

_LONGEST_PATTERN = 1000
"""Characters; LIKE refuses patterns of more than 50,000 bytes."""

_BEFORE = 30
_LENGTH = 160

_NEWEST = """SELECT id, title, updated, (SELECT count(*) FROM entry WHERE conversation = conversation.id), pair
FROM conversation WHERE EXISTS (SELECT 1 FROM entry WHERE conversation = conversation.id)
ORDER BY updated DESC, rowid DESC"""


@dataclass(frozen=True, slots=True)
class Listed:
    """A conversation in a list.

    Attributes:
        id: of the conversation.
        title: as it was called.
        updated: when something was last said in it, in seconds since 1970.
        messages: how many entries it has, those of all branches.
        pair: name of the pair it was last held with; "" when none was.
        entry_id: the entry `snippet` is from: the one that holds the words, or the last of the branch that is shown.
        snippet: a line of it.
        snippet_hits: the words that were searched for, in `snippet`.
        title_hits: the same in `title`.
    """

    id: str
    title: str
    updated: float
    messages: int
    pair: str
    entry_id: str | None = None
    snippet: str = ""
    snippet_hits: Hits = ()
    title_hits: Hits = ()


class Words:
    """Words to look for, each as it is, upper and lower case the same.

    Args:
        text: what the person typed; white space ends a word.
    """

    def __init__(self, text: str) -> None:
        self._words = list(dict.fromkeys(storable(text).split()))
        self._patterns = [re.compile(re.escape(word), re.IGNORECASE) for word in self._words]

    def all_in(self, text: str) -> bool:
        """Whether each of them stands in the text."""
        return all(pattern.search(text) for pattern in self._patterns)

    def hits(self, text: str) -> Hits:
        """Where they stand in the text; those that overlap are one."""
        merged: list[tuple[int, int]] = []
        for begin, end in sorted(found.span() for pattern in self._patterns for found in pattern.finditer(text)):
            if merged and begin <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((begin, end))
        return tuple(merged)

    def snippet(self, text: str) -> str:
        """A line of the text with the first of them in it."""
        first = min((found.start() for pattern in self._patterns if (found := pattern.search(text))), default=0)
        begin = max(first - _BEFORE, 0)
        if begin:
            # At a word, unless that is far away.
            begin = text.rfind(" ", max(begin - _BEFORE, 0), begin) + 1 or begin
        return ("…" if begin else "") + _line(text[begin:])

    def match(self) -> str | None:
        """An FTS5 query for texts that may hold them; None when no word is long enough for one."""
        trigrams = [
            word[place : place + _TRIGRAM]
            for word in self._words
            for place in range(len(word) - _TRIGRAM + 1)
            if "\0" not in word[place : place + _TRIGRAM]
        ]
        quoted = ('"' + trigram.replace('"', '""') + '"' for trigram in dict.fromkeys(trigrams[:_MOST_TRIGRAMS]))
        return " AND ".join(quoted) or None

    def like(self) -> tuple[str, list[str]]:
        """An SQL condition for entries that may hold the longest of them, and its arguments.

        To LIKE a text ends at a NUL, so what stands after one is found through the index alone.
        """
        word = max(self._words, key=len).split("\0")[0][:_LONGEST_PATTERN]
        # LIKE knows upper and lower case of ASCII only.
        spellings = dict.fromkeys((word, word.lower(), word.upper(), word.title()))
        # Attachments are JSON. To LIKE, % and _ stand for anything, also for themselves.
        forms = [form for each in spellings for form in (each, json.dumps(each, ensure_ascii=False)[1:-1])]
        condition = " OR ".join(["text LIKE ? OR attachments LIKE ?"] * len(spellings))
        return condition, [f"%{form}%" for form in forms]


class Listing:
    """Reads lists of conversations.

    Args:
        connection: to a file of conversations.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def newest(self, limit: int, offset: int) -> list[Listed]:
        """Those that were updated last, each with a line of what it ends with."""
        rows = self._connection.execute(f"{_NEWEST} LIMIT ? OFFSET ?", (limit, offset)).fetchall()
        return [_listed(row, *self._ending(row[0])) for row in rows]

    def holding(self, text: str, limit: int, *, indexed: bool) -> list[Listed]:
        """Those in whose title, or in one of whose entries, all the words of `text` stand.

        Args:
            text: the words; without any, each conversation holds them.
            limit: most conversations to find.
            indexed: whether there is an index of words to use.
        """
        if not text.split():
            return self.newest(limit, 0)
        words = Words(text)
        candidates = self._candidates(words, indexed=indexed)
        found: list[Listed] = []
        for row in self._connection.execute(_NEWEST).fetchall():
            id_, title = row[:2]
            entry_id, snippet = self._newest_holding(words, candidates.get(id_, ()))
            if entry_id is None and words.all_in(title):
                entry_id, snippet = self._ending(id_)
            elif entry_id is None:
                continue
            found.append(_listed(row, entry_id, snippet, words.hits(snippet), words.hits(title)))
            if len(found) == limit:
                break
        return found

    def _candidates(self, words: Words, *, indexed: bool) -> dict[str, list[int]]:
        """Numbers of the entries that may hold the words, by conversation, newest first."""
        query, arguments = words.like()
        query = f"SELECT conversation, number FROM entry WHERE ({query})"  # noqa: S608 - what is looked for is in the arguments
        match = words.match() if indexed else None
        if match is not None:
            by_index = (
                "SELECT conversation, number FROM entry WHERE number IN (SELECT rowid FROM words WHERE words MATCH ?)"
            )
            query, arguments = f"{by_index} UNION {query} AND NOT indexed", [match, *arguments]
        candidates: dict[str, list[int]] = {}
        for conversation_id, number in self._connection.execute(f"{query} ORDER BY number DESC", arguments):
            candidates.setdefault(conversation_id, []).append(number)
        return candidates

    def _newest_holding(self, words: Words, numbers: Iterable[int]) -> tuple[str | None, str]:
        """The first of these entries that holds all the words, and a line of it."""
        for number in numbers:
            id_, text, attachments = self._connection.execute(
                "SELECT id, text, attachments FROM entry WHERE number = ?", (number,)
            ).fetchone()
            whole = searchable(text, attachments_from(attachments))
            if words.all_in(whole):
                return id_, words.snippet(whole)
        return None, ""

    def _ending(self, conversation_id: str) -> tuple[str | None, str]:
        """The entry that ends the branch that is shown, and its first line."""
        found = self._connection.execute(
            "SELECT entry.id, entry.text, attachments FROM conversation JOIN entry ON entry.id = conversation.head "
            "WHERE conversation.id = ?",
            (conversation_id,),
        ).fetchone()
        if found is None:
            return None, ""
        id_, text, attachments = found
        said = split_thinking(text)[1] or ", ".join(file.name for file in attachments_from(attachments))
        return id_, _line(said)


def _listed(
    row: tuple[Any, ...], entry_id: str | None, snippet: str, snippet_hits: Hits = (), title_hits: Hits = ()
) -> Listed:
    id_, title, updated, messages, pair = row
    return Listed(id_, title, updated, messages, pair, entry_id, snippet, snippet_hits, title_hits)


def searchable(text: str, attachments: Iterable[Attachment]) -> str:
    """All of an entry in which words are looked for, as a text that FTS5 reads to its end."""
    parts = [text, *(part for file in attachments for part in (file.name, file.text))]
    return storable("\n".join(parts)).replace("\0", " ")


def _line(text: str) -> str:
    """The beginning of the text, on one line."""
    line = " ".join(text[: 4 * _LENGTH].split())
    return line if len(line) <= _LENGTH else line[:_LENGTH] + "…"
