"""Screens close once, and nothing but themselves, however many keys come at once."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.screen import ModalScreen, Screen

import localspec.tui
from localspec.tui.command_palette import Palette
from localspec.tui.screens.chat_base import ChatBase
from localspec.tui.screens.closing import ClosesOnce
from localspec.tui.screens.dialogs import Ask, AskText, Tell
from localspec.tui.screens.help import HelpScreen

CHOICES = {"k": "keep it", "d": "delete it"}


class Below(Screen[None]):
    """Where a dialog leads back to."""


class Host(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.results: list[object] = []

    def on_mount(self) -> None:
        self.push_screen(Below())

    def ask(self, dialog: ModalScreen[Any]) -> None:
        self.push_screen(dialog, self.results.append)


def screens_of_ours(of: type[Screen[Any]] = Screen) -> Iterator[type[Screen[Any]]]:
    for module in pkgutil.walk_packages(localspec.tui.__path__, "localspec.tui."):
        importlib.import_module(module.name)
    for kind in of.__subclasses__():
        yield from screens_of_ours(kind)
        if kind.__module__.startswith("localspec."):
            yield kind


def test_every_screen_but_the_chat_closes_once() -> None:
    kinds = {kind for kind in screens_of_ours() if not issubclass(kind, ChatBase)}
    assert Palette in kinds
    assert [kind for kind in kinds if not issubclass(kind, ClosesOnce)] == []
    modal = [kind for kind in kinds if issubclass(kind, ModalScreen)]
    assert [kind for kind in modal if kind.__bases__[0] is ClosesOnce] == []


@pytest.mark.parametrize(
    ("dialog", "keys"),
    [
        (Ask("Delete it?", CHOICES), ["d", "k", "d"]),
        (Ask("Delete it?", CHOICES), ["enter", "enter", "escape"]),
        (AskText("Title?", "a"), ["enter", "enter", "enter"]),
        (AskText("Title?", "a"), ["escape", "escape", "enter"]),
        (Tell("So it is"), ["escape", "q", "enter"]),
        (HelpScreen(), ["f1", "escape", "escape"]),
    ],
)
async def test_keys_in_a_hurry_close_one_screen(dialog: ModalScreen[Any], keys: list[str]) -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.ask(dialog)
        await pilot.pause()
        for key in keys:
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        await pilot.pause()

        assert len(app.results) == 1
        assert isinstance(app.screen, Below)


async def test_a_screen_that_is_covered_stays_until_it_is_on_top() -> None:
    app = Host()
    async with app.run_test() as pilot:
        covered, above = Ask("Delete it?", CHOICES), Tell("So it is")
        app.ask(covered)
        app.ask(above)
        await pilot.pause()

        covered.dismiss("d")
        await pilot.pause()
        assert app.screen is above
        await pilot.press("escape", "k")

        assert app.results == [None, "k"]
        assert isinstance(app.screen, Below)
