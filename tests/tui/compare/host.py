"""An app of the compare screen alone, and waiting for what its engine answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from localspec.chat.events import AnswerRequest, Message, Role
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.tui.comparison import NamedPair
from localspec.tui.engine_link import EngineLink
from localspec.tui.screens.compare import CompareResult, CompareScreen
from tests.tui.screen_text import screen_text
from tests.tui.scripted_engine import PAIR, ScriptedEngine

BIG = NamedPair("big", PAIR)
TINY = NamedPair("tiny [b]x[/b]", LoadPair(ModelSettings(Path("tiny.gguf")), PAIR.draft))
TEXT = "An answer of a few words, " * 8 + "to its end."
QUESTION = "How does [bold]it[/bold] work?"
PATIENCE = 20


class Host(App[None]):
    """Shows a comparison and remembers what it was left with."""

    def __init__(self, link: EngineLink, **options: Any) -> None:
        super().__init__()
        self.result: CompareResult | None = None
        request = AnswerRequest((Message(Role.USER, QUESTION),), SamplingSettings(seed=7))
        self.compare = CompareScreen(link, options.pop("request", request), BIG, **options)

    def on_mount(self) -> None:
        self.push_screen(self.compare, self._take)

    def _take(self, result: CompareResult | None) -> None:
        self.result = result


async def until(pilot: Pilot[Any], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, screen_text(pilot.app)
        await pilot.pause(0.01)
    await pilot.pause()


async def finished(pilot: Pilot[Any], engine: ScriptedEngine, answers: int) -> None:
    """Both sides have answered so often, and the screen shows it."""
    await until(pilot, lambda: len(engine.requests) >= answers and "answer in turn" not in screen_text(pilot.app))


def speculating(engine: ScriptedEngine) -> list[bool]:
    return [request.speculation.enabled for request in engine.requests]
