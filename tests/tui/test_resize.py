"""The terminal gets another size, or seems to."""

from __future__ import annotations

import re
from typing import Any

import pytest
from textual import events

from tests.tui.conftest import Start

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.mark.parametrize("over", [(), ("f1",), ("f4",)], ids=["chat", "help", "pairs"])
async def test_everything_is_drawn_again_in_a_terminal_that_has_the_size_it_had(
    start: Start, monkeypatch: pytest.MonkeyPatch, over: tuple[str, ...]
) -> None:
    async with start() as chatting:
        await chatting.ready()
        await chatting.press(*over)
        await chatting.until(lambda: len(chatting.app.screen_stack) == 2 + len(over))
        await chatting.pilot.pause()
        app, drawn = chatting.app, ""

        def display(_: object, update: Any) -> None:
            nonlocal drawn
            drawn += "" if update is None else update.render_segments(app.console)

        monkeypatch.setattr(app, "_display", display)
        app.post_message(events.Resize(app.size, app.size))

        words = set(chatting.screen.split())
        await chatting.until(lambda: words <= set(ESCAPES.sub("", drawn).split()), 10)
