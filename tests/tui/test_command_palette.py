from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol

import pytest
from textual import events
from textual.app import App
from textual.command import CommandInput
from textual.pilot import Pilot
from textual.screen import Screen

from localspec.chat.events import Role
from localspec.conversations.conversation import About, Conversation
from localspec.conversations.listing import Listed
from localspec.conversations.store import ConversationStore
from localspec.tui.actions import ACTIONS, Action
from localspec.tui.command_palette import Palette, providers
from tests.tui.conftest import Start
from tests.tui.screen_text import MARKUP_TRAPS, screen_text


class Store(Protocol):
    """What of the file of conversations the palette reads."""

    def list(self, limit: int) -> list[Listed]: ...


class FakeChat(Screen[None]):
    """What the palette needs of the chat's screen."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.services = SimpleNamespace(store=store)
        self.done: list[tuple[str, str]] = []

    async def carry_out(self, action: Action, argument: str = "") -> None:
        self.done.append((action.name, argument))

    async def open_conversation(self, conversation_id: str) -> None:
        self.done.append(("open", conversation_id))


class Host(App[None]):
    COMMANDS = providers()

    def __init__(self, screen: Screen[None]) -> None:
        super().__init__()
        self.first = screen

    def on_mount(self) -> None:
        self.push_screen(self.first)


@pytest.fixture
def store(tmp_path: Path) -> ConversationStore:
    store = ConversationStore(tmp_path / "history.sqlite3")
    for title in ("[b]LRU[/b] \x1b[31mcache", "Why is the sky blue?"):
        conversation = Conversation(About(id=title, title=title))
        entry = conversation.add(Role.USER, "[/red] text", parent=None)
        store.save_about(conversation.about, entry.id, 1.0)
        store.save_entry(title, entry)
    return store


async def find(pilot: Pilot[None], words: str, wanted: str) -> str:
    """Open the palette, type, and wait until what is wanted is there."""
    pilot.app.action_command_palette()
    await pilot.pause()
    await pilot.press(*words)
    deadline = time.monotonic() + 20
    while wanted not in screen_text(pilot.app):
        assert time.monotonic() < deadline, screen_text(pilot.app)
        await asyncio.sleep(0.02)
    return screen_text(pilot.app)


async def test_an_action_is_found_with_its_key_and_done(store: ConversationStore) -> None:
    chat = FakeChat(store)
    async with Host(chat).run_test(size=(100, 30)) as pilot:
        await find(pilot, "regenerate", "regenerate  /regenerate  ^r")
        await pilot.press("enter")
        await pilot.pause()

        assert chat.done == [("regenerate", "")]


async def test_an_action_is_found_by_its_slash_command(store: ConversationStore) -> None:
    async with Host(FakeChat(store)).run_test(size=(100, 30)) as pilot:
        await find(pilot, "/figures", "what the figures mean")


async def test_everything_is_offered_before_anything_is_typed(store: ConversationStore) -> None:
    async with Host(FakeChat(store)).run_test(size=(100, 110)) as pilot:
        shown = await find(pilot, "", "colours: ansi-dark")

        missing = [action.title for action in ACTIONS if action.title not in shown]
        assert missing in (["send", "theme"], ["send", "commands", "theme"])


async def test_a_conversation_is_found_and_its_title_stays_text(store: ConversationStore) -> None:
    chat = FakeChat(store)
    async with Host(chat).run_test(size=(100, 30)) as pilot:
        shown = await find(pilot, "lru", "open: [b]LRU[/b] ␛[31mcache")
        assert "[/red] text" in shown
        await pilot.press("enter")
        await pilot.pause()

        assert chat.done == [("open", "[b]LRU[/b] \x1b[31mcache")]


@pytest.mark.parametrize("trap", MARKUP_TRAPS)
async def test_nothing_that_was_said_is_read_as_markup(tmp_path: Path, trap: str) -> None:
    store = ConversationStore(tmp_path / "history.sqlite3")
    conversation = Conversation(About(title=f"title {trap}"))
    entry = conversation.add(Role.USER, f"said {trap}", parent=None)
    store.save_about(conversation.about, entry.id, time.time())
    store.save_entry(conversation.about.id, entry)
    async with Host(FakeChat(store)).run_test(size=(100, 30)) as pilot:
        shown = await find(pilot, "open", f"open: title {trap}")

        assert f"said {trap}" in shown


async def test_what_is_pasted_steers_no_terminal() -> None:
    app = Host(Screen())
    async with app.run_test(size=(100, 30)) as pilot:
        await app.push_screen(Palette())
        await pilot.pause()
        app.screen.query_one(CommandInput).post_message(
            events.Paste("bell\x07 back\x08space \x7f \x00 \x1b[31mred \x9b5n \u202e")
        )
        await pilot.pause()
        shown = screen_text(app)
        assert "bell␇" in shown
        assert not set(shown) & set("\x07\x08\x7f\x00\x1b\x9b\u202e")


async def test_colours_are_found_over_any_screen() -> None:
    app = Host(Screen())
    async with app.run_test(size=(100, 30)) as pilot:
        await find(pilot, "gruvbox", "colours: gruvbox")
        await pilot.press("enter")
        await pilot.pause()

        assert app.theme == "gruvbox"


async def test_a_file_that_cannot_be_read_leaves_the_rest(tmp_path: Path) -> None:
    (tmp_path / "history.sqlite3").write_bytes(b"no database at all" * 100)
    chat = FakeChat(ConversationStore(tmp_path / "history.sqlite3"))
    async with Host(chat).run_test(size=(100, 30)) as pilot:
        await find(pilot, "regenerate", "regenerate  /regenerate  ^r")


async def test_what_is_typed_before_the_conversations_are_read_is_found(store: ConversationStore) -> None:
    go = threading.Event()

    class SlowStore:
        def list(self, limit: int) -> list[Listed]:
            go.wait(20)
            return store.list(limit)

    chat = FakeChat(SlowStore())
    async with Host(chat).run_test(size=(100, 30)) as pilot:
        pilot.app.action_command_palette()
        await pilot.pause()
        await pilot.press(*"lru")
        go.set()
        deadline = time.monotonic() + 20
        while "open: [b]LRU[/b]" not in screen_text(pilot.app):
            assert time.monotonic() < deadline, screen_text(pilot.app)
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("opens", ["action_command_palette", "search_themes"])
async def test_the_app_can_be_left_while_the_palette_searches(start: Start, opens: str) -> None:
    async with start() as chatting:
        getattr(chatting.app, opens)()
        await chatting.until(lambda: isinstance(chatting.app.screen, Palette))


async def test_it_can_be_opened_again_while_it_closes(start: Start) -> None:
    async with start() as chatting:
        for _ in range(3):
            chatting.app.action_command_palette()
            chatting.app.screen.dismiss()
        chatting.app.action_command_palette()
        await chatting.until(lambda: isinstance(chatting.app.screen, Palette))
        await chatting.press("escape")
        await chatting.until(lambda: chatting.app.screen is chatting.chat)
