"""Screens close once, and nothing but themselves, however many keys come at once."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.screen import ModalScreen, Screen

import localspec.tui
from localspec.conversations.saver import Saver
from localspec.conversations.store import ConversationStore
from localspec.settings import Sources
from localspec.settings.choice import choice_of_files
from localspec.tui.command_palette import Palette
from localspec.tui.screens.chat_base import ChatBase
from localspec.tui.screens.closing import ClosesOnce
from localspec.tui.screens.conversations import ConversationsScreen
from localspec.tui.screens.dialogs import Ask, AskText, Tell
from localspec.tui.screens.help import HelpScreen
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.screens.settings import SettingsScreen

CHOICES = {"k": "keep it", "d": "delete it"}


class Below(Screen[None]):
    """Where a dialog leads back to."""


class Host(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.results: list[object] = []

    def on_mount(self) -> None:
        self.push_screen(Below())

    def ask(self, dialog: Screen[Any]) -> None:
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


async def test_a_screen_whose_asker_was_stopped_closes() -> None:
    app = Host()
    async with app.run_test() as pilot:

        async def ask() -> None:
            await app.push_screen_wait(Ask("Delete it?", CHOICES))

        for _ in range(2):
            app.run_worker(ask(), exclusive=True)
            await pilot.pause()
        await pilot.press("d")
        await pilot.press("d")

        assert app._exception is None
        assert isinstance(app.screen, Below)


@pytest.fixture
def screens(tmp_path: Path) -> Iterator[dict[type[Screen[Any]], Callable[[], tuple[object, ...]]]]:
    """What each kind of screen is made with."""
    store = ConversationStore(tmp_path / "history.sqlite3")
    saver = Saver(store)
    sources = Sources({"target": tmp_path / "big.gguf"}, {}, {})
    yield {
        Ask: lambda: ("Delete it?", CHOICES),
        AskText: lambda: ("Title?", "a"),
        Tell: lambda: ("So it is",),
        HelpScreen: tuple,
        ConversationsScreen: lambda: (store, saver),
        PairsScreen: lambda: (sources,),
        SettingsScreen: lambda: (choice_of_files(sources),),
        Palette: tuple,
    }
    saver.close(5)


KINDS = [Ask, AskText, Tell, HelpScreen, ConversationsScreen, PairsScreen, SettingsScreen, Palette]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("leaves", ["screen", "app"])
async def test_a_screen_that_is_closed_before_it_is_whole_ends_nothing(
    screens: dict[type[Screen[Any]], Callable[[], tuple[object, ...]]], kind: type[Screen[Any]], leaves: str
) -> None:
    # As a key does that was meant for the screen below, and comes to the app when another one is on top.
    app = Host()
    async with app.run_test() as pilot:
        screen = kind(*screens[kind]())
        app.ask(screen)
        _ = screen.dismiss(None) if leaves == "screen" else app.exit()
        await pilot.pause()
        await pilot.pause()

    assert app.results == ([None] if leaves == "screen" else [])
    assert app._exception is None


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_that_comes_to_a_screen_before_it_is_whole_ends_nothing(
    screens: dict[type[Screen[Any]], Callable[[], tuple[object, ...]]], kind: type[Screen[Any]]
) -> None:
    actions = {binding.action for _, binding in kind(*screens[kind]())._bindings}
    assert actions
    for action in actions:
        app = Host()
        async with app.run_test() as pilot:
            screen = kind(*screens[kind]())
            app.ask(screen)
            await app.run_action(action, screen)
            await pilot.pause()

        assert app._exception is None, action


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delay", [0.0, 0.05])
async def test_escapes_at_any_time_lead_back(
    screens: dict[type[Screen[Any]], Callable[[], tuple[object, ...]]], kind: type[Screen[Any]], delay: float
) -> None:
    app = Host()
    async with app.run_test() as pilot:
        for above in ([], ["ctrl+p"], ["ctrl+p", "escape"], ["escape"]):
            app.ask(kind(*screens[kind]()))
            await asyncio.sleep(delay)
            for key in (*above, "escape", "escape"):
                app.post_message(events.Key(key, None))
                await asyncio.sleep(delay)
            deadline = time.monotonic() + 20
            while not isinstance(app.screen, Below):
                # As people do: a key that came before the screen had its keys did nothing.
                app.post_message(events.Key("escape", None))
                await pilot.pause(0.1)
                assert time.monotonic() < deadline, app.screen_stack
            await pilot.pause()
            assert app._exception is None
            assert app._batch_count == 0
