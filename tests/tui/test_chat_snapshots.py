"""The whole chat, in each state a person meets, at three sizes: what is on the screen and where it stands."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace

import psutil
import pytest
from syrupy.assertion import SnapshotAssertion

from localspec.conversations.conversation import About, Attachment, Conversation
from localspec.tui import memory
from localspec.tui.engine_state import Stage
from localspec.tui.glyphs import glyphs
from localspec.tui.widgets.readout import Readout
from tests.tui.conftest import Chatting, Start
from tests.tui.scripted_engine import ScriptedEngine

QUESTION = "Write a function that adds two numbers, and show three examples."
ANSWER = """<think>A function and a table: short.</think>Here is **the function**, with `type` hints:

```python
def add(a: int, b: int) -> int:
    # A comment that is long enough to be wrapped on a narrow screen, where the block of code has little room for it.
    return a + b
```

| a | b | add(a, b) |
|--:|--:|:----------|
| 1 | 2 | 3 |
| 20 | 22 | 42 |

1. It returns the sum.
2. It changes *nothing*.

日本語 and שלום keep their places.
"""

SIZES = [(80, 24), (120, 40), (200, 50)]
Reach = Callable[[Chatting], Awaitable[None]]


@pytest.fixture(autouse=True)
def same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One clock, one machine and one set of signs, wherever and whenever the tests run."""
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(38_520))
    machine = SimpleNamespace(
        Error=psutil.Error,
        Process=lambda *_: SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=5_600_000_000)),
        virtual_memory=lambda: SimpleNamespace(total=8_000_000_000),
    )
    monkeypatch.setattr(memory, "psutil", machine)
    monkeypatch.setenv("LOCALSPEC_ASCII", "0")
    glyphs.cache_clear()
    yield
    glyphs.cache_clear()


def as_shown(chatting: Chatting) -> str:
    """The screen, but for the one figure that a wall clock measures while an answer is written."""
    return re.sub(r"(first token +)\d\.\d\d s", r"\g<1>0.31 s", chatting.screen)


async def figures_of(chatting: Chatting, rounds: int) -> None:
    """Wait until the figures are those of so many rounds: they are shown a few times a second."""
    readout = chatting.chat.query_one(Readout)
    await chatting.until(lambda: readout._shown.figures.statistics.rounds == rounds)


async def empty(chatting: Chatting) -> None:
    await chatting.ready()


async def streaming(chatting: Chatting) -> None:
    chatting.engine.held = True
    await chatting.type(QUESTION)
    chatting.engine.step(12)
    await figures_of(chatting, 12)


async def finished(chatting: Chatting) -> None:
    await chatting.ask(QUESTION)


async def thinking_unfolded(chatting: Chatting) -> None:
    await finished(chatting)
    await chatting.press("f9")


async def who_wrote_it(chatting: Chatting) -> None:
    await finished(chatting)
    await chatting.press("ctrl+t")


async def chosen(chatting: Chatting) -> None:
    await finished(chatting)
    await chatting.press("ctrl+s")
    await chatting.ask("And again, without guesses?")
    await chatting.press("alt+up", "alt+up", "alt+up")
    chatting.app.clear_notifications()


async def died(chatting: Chatting) -> None:
    chatting.engine.dies_after = 9
    await chatting.ask(QUESTION)
    await chatting.until(lambda: chatting.services.engine.stage is Stage.FAILED)
    # In the answer, and in the notice that takes room from it.
    await chatting.until(lambda: "│ It was killed." in chatting.screen and "█ It was killed." in chatting.screen)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    "reach",
    [empty, streaming, finished, thinking_unfolded, who_wrote_it, chosen, died],
    ids=lambda reach: reach.__name__,
)
async def test_the_chat(start: Start, reach: Reach, size: tuple[int, int], snapshot: SnapshotAssertion) -> None:
    async with start(ScriptedEngine([ANSWER]), size=size) as chatting:
        await chatting.ready()
        await reach(chatting)
        await chatting.pilot.pause()
        assert as_shown(chatting) == snapshot


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_question_with_a_file_that_is_being_written(
    start: Start, size: tuple[int, int], snapshot: SnapshotAssertion
) -> None:
    about = Conversation(About(title="A conversation with a title that has no room on a narrow screen"))
    file = Attachment("notes.txt", "one\ntwo\nthree\n")
    async with start(size=size, conversation=about, attachments=(file,)) as chatting:
        await chatting.ready()
        await chatting.press(*"What is in it?", "ctrl+j", *"And why?")
        assert as_shown(chatting) == snapshot
