"""The engine's own side, without a process: what one command leaves to the next."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from localspec.chat.events import AnswerRequest, Message, Role
from localspec.engine import worker
from localspec.engine.messages import Command, LoadPair
from localspec.engine.pair import LoadedPair


class Inbox:
    """Commands that are there already; those whose number is odd are cancelled."""

    def __init__(self, *bodies: object) -> None:
        self._commands = [Command(number, body) for number, body in enumerate(bodies)]

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands)

    def cancelled(self, number: int) -> bool:
        return number % 2 == 1


def test_what_cancelled_an_answer_does_not_cut_passes_of_the_next_command_short(
    pair: LoadPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[LoadedPair] = []

    class Watched(LoadedPair):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            loaded.append(self)

    monkeypatch.setattr(worker, "LoadedPair", Watched)
    replies = BytesIO()
    engine = worker.Engine(tmp_path / "log", Inbox(pair, AnswerRequest((Message(Role.USER, "hi"),))), replies)
    engine.serve()

    assert b"cancelled" in replies.getvalue()
    assert [context.cancelled for context in loaded[0].contexts] == [None] * len(loaded[0].contexts)
    engine.close()
