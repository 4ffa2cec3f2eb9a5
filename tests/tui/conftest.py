"""A chat over a scripted engine: everything else in it is real, the file of conversations included."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.conversations.conversation import Attachment, Conversation
from localspec.conversations.saver import Saver
from localspec.conversations.store import ConversationStore
from localspec.settings import Sources
from localspec.tui.app import ChatApp
from localspec.tui.engine_link import EngineLink
from localspec.tui.engine_state import EngineState, Stage
from localspec.tui.pace import Pace
from localspec.tui.prompt_history import PromptHistory
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.services import Opening, Services
from localspec.tui.widgets.composer import Composer
from tests.tui.screen_text import screen_text
from tests.tui.scripted_engine import PAIR, ScriptedEngine
from tests.tui.waiting import settle


@pytest.fixture(autouse=True)
def _certain_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key press or a pause of Textual's pilot ends when the app has done what follows from it, not before."""
    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", settle)


@pytest.fixture(autouse=True)
def _quick_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes is drawn at once: beside an engine on a CPU the app lets up to half a second go by between frames."""
    for screen in ("chat", "compare"):
        monkeypatch.setattr(f"localspec.tui.screens.{screen}.Pace", partial(Pace, fastest=0.01, slowest=0.02))


@dataclass
class Chatting:
    """A running app, as a person at its keyboard sees it."""

    app: ChatApp
    pilot: Pilot[Any]
    engine: ScriptedEngine
    services: Services

    @property
    def chat(self) -> ChatScreen:
        return self.app.chat

    @property
    def screen(self) -> str:
        """What is on the screen, as text."""
        return screen_text(self.app)

    @property
    def texts(self) -> list[str]:
        """The messages of the branch that is shown."""
        return [entry.text for entry in self.chat.answering.talk.conversation.path]

    async def until(self, condition: Callable[[], object], seconds: float = 20.0) -> None:
        """Let the app run until `condition` is true."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"it did not come to this in time; the screen shows\n{self.screen}"
            await self.pilot.pause(0.01)

    async def ready(self) -> None:
        await self.until(lambda: self.services.engine.stage is Stage.READY)

    async def idle(self) -> None:
        """Wait until nothing is being answered, and the screen shows that."""
        await self.until(lambda: not self.chat.answering.busy)
        await self.until(lambda: not any(view.live for view in self.chat.transcript.column.views))
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        self.chat.query_one(Composer).set_text(text)
        await self.press("enter")

    async def ask(self, text: str) -> None:
        """Ask, and wait for the answer."""
        await self.type(text)
        await self.idle()


Start = Callable[..., Any]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Run the app: `async with start(engine, size=(120, 40)) as chatting`."""
    monkeypatch.setenv("LOCALSPEC_DATA_DIR", str(tmp_path / "data"))

    @asynccontextmanager
    async def run(
        engine: ScriptedEngine | None = None,
        *,
        size: tuple[int, int] = (120, 40),
        flags: dict[str, object] | None = None,
        conversation: Conversation | None = None,
        attachments: tuple[Attachment, ...] = (),
    ) -> AsyncIterator[Chatting]:
        engine = engine or ScriptedEngine()
        assert PAIR.draft is not None
        files = {"target": PAIR.target.path, "draft": PAIR.draft.path}
        store = ConversationStore(tmp_path / "history.sqlite3")
        link, saver = EngineLink(engine), Saver(store, every=0.05, retry=0.1)
        services = Services(
            link,
            EngineState(link),
            store,
            saver,
            PromptHistory(tmp_path / "asked.jsonl"),
            Sources({**files, **(flags or {})}, {}, {}),
        )
        app = ChatApp(services, Opening(conversation or Conversation(), attachments))
        try:
            async with app.run_test(size=size) as pilot:
                yield Chatting(app, pilot, engine, services)
        finally:
            link.close()
            saver.close(5)

    return run
