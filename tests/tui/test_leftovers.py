"""Nothing of a dialog or a screen stays in memory when it is closed, however often one opens it."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator

import pytest

from localspec.tui.screens.dialogs import Ask, Tell
from tests.tui.conftest import Chatting, Start
from tests.tui.scripted_engine import ScriptedEngine

TIMES = 2
FEW = 50
"""Objects that one opening may leave in Textual's caches of colours, sizes and places; hundreds make a dialog."""

_OURS = ("localspec.", "textual.", "rich.")
_DRAWN = ("textual.cache.FIFOCache", "textual.strip.Strip", "rich.segment.Segment")
"""What lines are kept as once they are drawn, hundreds of objects for some: the chat may draw some of its own anew."""


@pytest.fixture(autouse=True)
def _only_what_comes_is_counted() -> Iterator[None]:
    """What was there before is left out: counting it takes ten times as long."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def live() -> Counter[str]:
    """How many objects of each type there are of what an app is made of."""
    gc.collect()
    # A counter of names: one of types would keep what it counts.
    names = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    return Counter(name for name in names if name.startswith(_OURS) and name not in _DRAWN)


async def closed(chatting: Chatting) -> None:
    """Press Escape until the chat is on top, and wait until the rest is gone."""
    while chatting.app.screen is not chatting.chat:
        await chatting.press("escape")
    await chatting.until(lambda: chatting.app.screen_stack[1:] == [chatting.chat])


def by_key(key: str) -> Callable[[Chatting], Awaitable[None]]:
    async def open_(chatting: Chatting) -> None:
        depth = len(chatting.app.screen_stack)
        await chatting.press(key)
        await chatting.until(lambda: len(chatting.app.screen_stack) > depth)

    return open_


def by_word(word: str) -> Callable[[Chatting], Awaitable[None]]:
    async def open_(chatting: Chatting) -> None:
        await chatting.type(word)
        await chatting.until(lambda: chatting.app.screen is not chatting.chat)

    return open_


async def question(chatting: Chatting) -> None:
    await chatting.app.push_screen(Ask("Delete it?", {"k": "keep it", "d": "delete it"}))


async def message(chatting: Chatting) -> None:
    await chatting.app.push_screen(Tell("So it is", "Because.", "Live with it."))


async def list_of_pairs(chatting: Chatting) -> None:
    await by_key("f4")(chatting)
    await chatting.until(lambda: "NAME" in chatting.screen and "demo" in chatting.screen)


async def drop_down(chatting: Chatting) -> None:
    await by_key("f3")(chatting)
    await chatting.press("down", "down", "enter", "escape")


async def comparison(chatting: Chatting) -> None:
    await by_key("ctrl+g")(chatting)
    await chatting.until(lambda: "same text" in chatting.screen)


async def sides_of_a_comparison(chatting: Chatting) -> None:
    await comparison(chatting)
    await by_key("e")(chatting)


async def suggestions(chatting: Chatting) -> None:
    await chatting.press("/", "r", "e")
    await chatting.until(lambda: "/regenerate" in chatting.screen)
    await chatting.press("backspace", "backspace", "backspace")


async def left_by(chatting: Chatting, open_: Callable[[Chatting], Awaitable[None]]) -> Counter[str]:
    """What is in memory after some more openings, beside what was there after the first two."""
    for _ in range(2):
        await open_(chatting)
        await closed(chatting)
    before = live()
    for _ in range(TIMES):
        await open_(chatting)
        await closed(chatting)
    # What closes a screen goes on for a moment after another one is on top.
    deadline = time.monotonic() + 10
    while (left := live() - before).total() > FEW * TIMES and time.monotonic() < deadline:
        await chatting.pilot.pause(0.01)
    return left


OPENINGS = {
    "help": by_key("f1"), "settings": by_key("f3"), "drop-down": drop_down, "pairs": list_of_pairs,
    "conversations": by_key("f5"), "palette": by_key("ctrl+p"), "edit": by_key("f7"), "attach": by_key("ctrl+o"),
    "rename": by_word("/rename"), "system": by_word("/system"), "export": by_word("/export"), "question": question,
    "message": message, "compare": comparison, "sides": sides_of_a_comparison, "suggestions": suggestions,
}  # fmt: skip
IN_ONE_APP = 4


@pytest.mark.parametrize("first", range(0, len(OPENINGS), IN_ONE_APP))
async def test_what_was_opened_and_closed_is_gone(start: Start, first: int) -> None:
    async with start(ScriptedEngine(["Paris."])) as chatting:
        await chatting.ready()
        await chatting.ask("Where?")
        for name in list(OPENINGS)[first : first + IN_ONE_APP]:
            left = await left_by(chatting, OPENINGS[name])
            assert left.total() <= FEW * TIMES, f"{name} leaves {left.most_common(9)}"
