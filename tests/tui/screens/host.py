"""An app that shows one screen and keeps what it leaves with."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from tests.tui.screen_text import screen_text

Result = TypeVar("Result")


class HostApp(App[None]):
    """Nothing but a place for a screen."""


@dataclass
class Shown(Generic[Result]):
    """A screen, as a person at its keyboard sees it.

    Attributes:
        results: what it left with, once it did.
    """

    app: HostApp
    pilot: Pilot[Any]
    results: list[Result | None] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What is on the screen."""
        return screen_text(self.app)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        """Let the app run until `condition` is true."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"it did not come to this in time; the screen shows\n{self.text}"
            await self.pilot.pause(0.01)
        await self.pilot.pause()


@asynccontextmanager
async def showing(screen: Screen[Result], size: tuple[int, int] = (80, 24)) -> AsyncIterator[Shown[Result]]:
    """Show a screen."""
    app = HostApp()
    async with app.run_test(size=size) as pilot:
        shown: Shown[Result] = Shown(app, pilot)
        await app.push_screen(screen, shown.results.append)
        await pilot.pause()
        yield shown
