"""The rounds of earlier answers, read from the disk in a thread: another program may hold the file for seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from localspec.chat.events import AnswerRound
from localspec.errors import HistoryError

_KEPT = 64
"""Answers whose rounds stay in memory: more than there is room for on a screen."""


class KeptRounds:
    """Gives what is at hand at once, and has the rest read; asked in the app's thread alone."""

    def __init__(
        self,
        read: Callable[[str], Sequence[AnswerRound]],
        *,
        begin: Callable[[Coroutine[Any, Any, None]], object],
        came: Callable[[str], None],
        failed: Callable[[HistoryError], None],
    ) -> None:
        """Begin with nothing read.

        Args:
            read: the rounds of an answer by its entry's id; called in a thread, may raise HistoryError.
            begin: runs what reads beside the app.
            came: told of each answer whose rounds are at hand now, or cannot be read.
            failed: told why they cannot.
        """
        self._read = read
        self._begin = begin
        self._came = came
        self._failed = failed
        self._at_hand: dict[str, Sequence[AnswerRound]] = {}
        self._unreadable: set[str] = set()
        self._asked: set[str] = set()

    def of(self, entry_id: str) -> Sequence[AnswerRound] | None:
        """The rounds of an answer, none when they cannot be read; None while they are being read."""
        if entry_id in self._unreadable:
            return ()
        if (found := self._at_hand.get(entry_id)) is not None:
            return found
        if entry_id not in self._asked:
            self._asked.add(entry_id)
            self._begin(self._fetch(entry_id))
        return None

    def try_again(self) -> None:
        """Read anew what could not be read, when it is asked for."""
        self._unreadable.clear()

    def forget(self, entry_id: str) -> None:
        """An answer was gone on with: what was read of it is not all."""
        self._at_hand.pop(entry_id, None)

    async def _fetch(self, entry_id: str) -> None:
        try:
            rounds = await asyncio.to_thread(self._read, entry_id)
        except HistoryError as error:
            self._unreadable.add(entry_id)
            self._failed(error)
        else:
            self._at_hand[entry_id] = rounds
            while len(self._at_hand) > _KEPT:
                del self._at_hand[next(iter(self._at_hand))]
        finally:
            self._asked.discard(entry_id)
        self._came(entry_id)
