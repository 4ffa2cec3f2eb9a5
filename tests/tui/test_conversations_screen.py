"""Saved conversations on the screen, over a real file of them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from localspec.chat.events import Role
from localspec.conversations.conversation import About, Conversation
from localspec.conversations.listing import Listed
from localspec.conversations.saver import Saver
from localspec.conversations.store import ConversationStore
from localspec.errors import HistoryError
from localspec.tui.screens.conversations import ConversationsScreen
from localspec.tui.screens.dialogs import Ask
from localspec.tui.widgets.conversation_list import ConversationList, when_said
from tests.tui.screen_text import screen_text

SIZES = [(80, 24), (200, 50)]


def keep(store: ConversationStore, title: str, *texts: str, updated: float) -> str:
    conversation = Conversation(About(id=title, title=title, pair="a pair"))
    parent = None
    for number, text in enumerate(texts):
        entry = conversation.add(Role.ASSISTANT if number % 2 else Role.USER, text, parent=parent)
        parent = entry.id
    store.save_about(conversation.about, parent, updated)
    for entry in conversation.entries:
        store.save_entry(title, entry)
    return title


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConversationStore]:
    store = ConversationStore(tmp_path / "history.sqlite3")
    now = time.time()
    with store.together():
        keep(store, "LRU cache", "How do I write one?", "With an OrderedDict.", updated=now - 60)
        keep(store, "Sky", "Why is it blue?", "Rayleigh scattering. [b]bold[/b] \x1b[31m", updated=now - 90_000)
        keep(store, "[red]title[/red] \x1b]0;x\x07", "漢字の質問", updated=now - 100 * 86_400)
    yield store
    store.close()


@pytest.fixture
def saver(store: ConversationStore) -> Iterator[Saver]:
    saver = Saver(store, every=0.01)
    yield saver
    saver.close(5)


class Host(App[None]):
    def __init__(self, screen: ConversationsScreen) -> None:
        super().__init__()
        self.first = screen
        self.results: list[str | None] = []

    def on_mount(self) -> None:
        self.push_screen(self.first, self.results.append)


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, screen_text(pilot.app)
        await asyncio.sleep(0.01)
    await pilot.pause()


async def seen(pilot: Pilot[None], *words: str) -> str:
    """Wait until all the words are on the screen."""
    await until(pilot, lambda: all(word in screen_text(pilot.app) for word in words))
    return screen_text(pilot.app)


@pytest.mark.parametrize("size", SIZES)
async def test_the_newest_stands_first_and_other_peoples_words_stay_words(
    store: ConversationStore, saver: Saver, size: tuple[int, int]
) -> None:
    app = Host(ConversationsScreen(store, saver))
    async with app.run_test(size=size) as pilot:
        shown = await seen(pilot, "Sky")

        assert shown.index("LRU cache") < shown.index("Sky") < shown.index("[red]title[/red] ␛]0;x␇")
        assert "[b]bold[/b] ␛[31m" in shown
        assert "yesterday" in shown or "Mon" in shown or shown.count(":") >= 2
        assert "2 messages" in shown
        assert "1 message " in shown
        assert ("a pair" in shown) == (size[0] > 100)
        assert not set(shown) & set("\x1b\x07")


async def test_the_chosen_one_is_opened(store: ConversationStore, saver: Saver) -> None:
    app = Host(ConversationsScreen(store, saver))
    async with app.run_test(size=(80, 24)) as pilot:
        await seen(pilot, "Sky")
        await pilot.press("down", "down", "down", "up", "enter")

        assert app.results == ["Sky"]


async def test_escape_opens_none(store: ConversationStore, saver: Saver) -> None:
    app = Host(ConversationsScreen(store, saver))
    async with app.run_test() as pilot:
        await seen(pilot, "Sky")
        await pilot.press("escape")

        assert app.results == [None]


async def test_a_click_chooses_and_another_one_opens(store: ConversationStore, saver: Saver) -> None:
    app = Host(ConversationsScreen(store, saver))
    async with app.run_test(size=(80, 24)) as pilot:
        shown = await seen(pilot, "Sky")
        y = next(y for y, row in enumerate(shown.splitlines()) if "Sky" in row)
        await pilot.click(offset=(20, y + 1))
        assert app.results == []
        await pilot.click(offset=(20, y))

        assert app.results == ["Sky"]


async def test_typing_searches_all_that_was_said_and_marks_it(store: ConversationStore, saver: Saver) -> None:
    app = Host(ConversationsScreen(store, saver))
    async with app.run_test(size=(80, 24)) as pilot:
        await seen(pilot, "Sky")
        await pilot.press(*"rayleigh")
        await until(pilot, lambda: "LRU cache" not in screen_text(pilot.app))
        list_ = app.screen.query_one(ConversationList)
        underlined = [
            segment.text
            for y in range(2)
            for segment in list_.render_line(y)
            if segment.style and segment.style.underline and segment.style.bold
        ]
        assert underlined == ["Rayleigh"]
        await pilot.press("enter")

        assert app.results == ["Sky"]


async def test_enter_means_what_the_last_letter_finds(store: ConversationStore, saver: Saver) -> None:
    app = Host(ConversationsScreen(store, saver))
    async with app.run_test(size=(80, 24)) as pilot:
        await seen(pilot, "Sky")
        await pilot.press(*"blue", "enter")
        await until(pilot, lambda: app.results)

        assert app.results == ["Sky"]


async def test_words_that_nothing_holds_say_so_and_the_list_comes_back(store: ConversationStore, saver: Saver) -> None:
    app = Host(ConversationsScreen(store, saver, "zebra"))
    async with app.run_test(size=(80, 24)) as pilot:
        await seen(pilot, "Nothing holds these words.", "zebra")
        await pilot.press("enter", "delete", "f2")
        assert app.results == []
        await pilot.press("ctrl+u")

        await seen(pilot, "Sky", "LRU cache")


async def test_an_empty_file_says_so(tmp_path: Path, saver: Saver) -> None:
    app = Host(ConversationsScreen(ConversationStore(tmp_path / "new.sqlite3"), saver))
    async with app.run_test() as pilot:
        await seen(pilot, "No conversation is saved yet.")


async def test_a_file_that_cannot_be_read_says_so(tmp_path: Path, saver: Saver) -> None:
    (tmp_path / "broken.sqlite3").write_bytes(b"no database" * 1000)
    app = Host(ConversationsScreen(ConversationStore(tmp_path / "broken.sqlite3"), saver))
    async with app.run_test(size=(120, 24)) as pilot:
        with pytest.raises(HistoryError) as failure:
            ConversationStore(tmp_path / "broken.sqlite3").list(1)
        await seen(pilot, failure.value.title[:40])


async def test_renaming_changes_list_and_file(store: ConversationStore, saver: Saver) -> None:
    screen = ConversationsScreen(store, saver)
    app = Host(screen)
    async with app.run_test(size=(80, 24)) as pilot:
        await seen(pilot, "Sky")
        await pilot.press("f2")
        await seen(pilot, "Rename")
        await pilot.press(*" 2", "enter")
        await seen(pilot, "LRU cache 2", "Sky")

        assert saver.flush(5)
        assert store.open("LRU cache").about.title == "LRU cache 2"
        assert screen.renamed == {"LRU cache": "LRU cache 2"}


async def test_deleting_asks_first_by_name(store: ConversationStore, saver: Saver) -> None:
    app = Host(ConversationsScreen(store, saver))
    async with app.run_test(size=(80, 24)) as pilot:
        await seen(pilot, "Sky")
        await pilot.press("down", "delete")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        assert "Delete “Sky”?" in screen_text(app)
        await pilot.press("enter")  # keep it
        await seen(pilot, "Sky")
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        await pilot.press("d")
        await until(pilot, lambda: "Sky" not in screen_text(pilot.app))

        assert saver.flush(5)
        assert [each.id for each in store.list(10)] == ["LRU cache", "[red]title[/red] \x1b]0;x\x07"]
        assert app.results == []


async def test_delete_within_the_words_deletes_a_letter(store: ConversationStore, saver: Saver) -> None:
    app = Host(ConversationsScreen(store, saver, "xSky"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("home", "delete")

        await seen(pilot, "Rayleigh")
        assert not isinstance(app.screen, Ask)


async def test_the_conversation_that_is_open_is_not_deleted(store: ConversationStore, saver: Saver) -> None:
    app = Host(ConversationsScreen(store, saver, current="LRU cache"))
    async with app.run_test(size=(80, 24)) as pilot:
        await seen(pilot, "Sky")
        await pilot.press("delete")

        await seen(pilot, "This conversation is open")


async def test_many_conversations_are_read_as_one_scrolls(tmp_path: Path, saver: Saver) -> None:
    store = ConversationStore(tmp_path / "many.sqlite3")
    with store.together():
        for number in range(450):
            keep(store, f"conversation {number:03}", "text", updated=1e9 - number)
    app = Host(ConversationsScreen(store, saver))
    async with app.run_test(size=(80, 24)) as pilot:
        await seen(pilot, "conversation 000")
        for _ in range(100):
            await pilot.press("pagedown")
            if "conversation 449" in screen_text(app):
                break
        await seen(pilot, "conversation 449")
        await pilot.press("enter")

        assert app.results == ["conversation 449"]


class SlowFinder:
    """Finds each word after a wait that the test ends."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.searched: list[str] = []
        self.at_once = 0
        self.most_at_once = 0

    def list(self, limit: int, offset: int = 0) -> list[Listed]:  # noqa: ARG002 - as in the store
        return [Listed("all", "all of them", 0.0, 1, "")]

    def search(self, words: str, limit: int) -> list[Listed]:  # noqa: ARG002
        self.searched.append(words)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.go.wait(10)
        self.at_once -= 1
        return [replace(*self.list(1), id=words, title=f"found {words}")]


async def test_a_slow_search_is_one_at_a_time_and_the_newest_words_win(saver: Saver) -> None:
    finder = SlowFinder()
    app = Host(ConversationsScreen(finder, saver))
    async with app.run_test(size=(80, 24)) as pilot:
        await seen(pilot, "all of them")
        await pilot.press("a")
        await until(pilot, lambda: finder.searched == ["a"])
        await pilot.press(*"bcdef")
        finder.go.set()
        await seen(pilot, "found abcdef")

        assert finder.most_at_once == 1
        assert finder.searched[-1] == "abcdef"
        assert len(finder.searched) < 6


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ((2026, 3, 4, 9, 5), "09:05"),
        ((2026, 3, 3, 23, 59), "yesterday 23:59"),
        ((2026, 3, 1, 0, 0), "Sun 00:00"),
        ((2026, 2, 25, 12, 0), "25 Feb"),
        ((2025, 12, 31, 12, 0), "31 Dec 2025"),
        ((2026, 3, 5, 1, 0), "5 Mar"),
    ],
)
def test_a_time_is_said_as_people_say_it(then: tuple[int, ...], said: str) -> None:
    now = datetime(2026, 3, 4, 14, 2).timestamp()

    assert when_said(datetime(*then).timestamp(), now) == said  # type: ignore[arg-type]
