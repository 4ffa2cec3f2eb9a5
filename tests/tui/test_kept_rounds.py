"""Who wrote an earlier answer is on the disk, which another program may hold: nobody waits for it at the keyboard."""

from __future__ import annotations

import threading
from typing import Any

from localspec.errors import HistoryError
from localspec.tui.widgets.composer import Composer
from tests.tui.conftest import Chatting, Start
from tests.tui.scripted_engine import ScriptedEngine

READING = "reading who wrote this"
LEGEND = "correction"


async def open_again(chatting: Chatting) -> None:
    """Ask, and open the conversation as one of an earlier run."""
    await chatting.ready()
    await chatting.ask("Where?")
    await chatting.chat.open_conversation(chatting.chat.answering.talk.about.id)
    await chatting.until(lambda: "Paris" in chatting.screen)


def hold(chatting: Chatting, failure: Exception | None = None) -> threading.Event:
    """Hold the file of conversations until the event is set; then reading it fails, if so wished."""
    free, store, read = threading.Event(), chatting.services.store, chatting.services.store.rounds

    def rounds(entry_id: str) -> Any:
        assert free.wait(60)
        vars(store).pop("rounds", None)
        if failure is not None:
            raise failure
        return read(entry_id)

    vars(store)["rounds"] = rounds
    chatting.chat._rounds._at_hand.clear()
    return free


async def test_who_wrote_an_earlier_answer_is_read_while_one_types(start: Start) -> None:
    async with start(ScriptedEngine(["Paris."])) as chatting:
        await open_again(chatting)
        free = hold(chatting)

        await chatting.press("ctrl+t")
        await chatting.press("x", "y")
        assert chatting.chat.query_one(Composer).text == "xy"
        assert READING in chatting.screen
        assert "Paris." in chatting.screen
        assert LEGEND not in chatting.screen

        free.set()
        await chatting.until(lambda: LEGEND in chatting.screen, 20)
        assert READING not in chatting.screen


async def test_what_cannot_be_read_is_told_once_and_tried_again_on_the_next_wish(start: Start) -> None:
    async with start(ScriptedEngine(["Paris."])) as chatting:
        await open_again(chatting)
        hold(chatting, HistoryError("The file of conversations cannot be read", "It is damaged.", "")).set()

        await chatting.press("ctrl+t")
        await chatting.until(lambda: len(chatting.app._notifications), 20)
        await chatting.until(lambda: READING not in chatting.screen, 20)
        assert "Paris." in chatting.screen
        assert ["damaged" in told.message for told in chatting.app._notifications] == [True]

        await chatting.press("ctrl+t", "ctrl+t")
        await chatting.until(lambda: LEGEND in chatting.screen, 20)
