from __future__ import annotations

from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.screen import ModalScreen

from localspec.errors import LocalspecError
from localspec.tui.screens.dialogs import Ask, AskText, Tell
from localspec.tui.widgets.prompt_area import PromptArea
from tests.tui.screen_text import MARKUP_TRAPS, screen_text

FOREIGN = "[b]bold[/b] \x1b]0;t\x07 [@click=app.quit]x[/]"
CHOICES = {"k": "keep it", "d": "delete it"}


class Host(App[None]):
    def __init__(self, dialog: ModalScreen[Any]) -> None:
        super().__init__()
        self.dialog = dialog
        self.results: list[object] = []

    def on_mount(self) -> None:
        self.push_screen(self.dialog, self.results.append)


@pytest.mark.parametrize(
    ("keys", "result"),
    [
        (["enter"], "k"),
        (["right", "enter"], "d"),
        (["down", "up", "enter"], "k"),
        (["d"], "d"),
        (["D"], "d"),
        (["escape"], None),
        (["x", "tab", "enter"], "d"),
    ],
)
async def test_a_question_is_answered_by_keys_alone(keys: list[str], result: str | None) -> None:
    app = Host(Ask("Delete it?", CHOICES))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys)

        assert app.results == [result]


async def test_a_question_is_answered_by_a_click() -> None:
    app = Host(Ask("Delete it?", CHOICES))
    async with app.run_test(size=(80, 24)) as pilot:
        rows = screen_text(app).splitlines()
        y = next(y for y, row in enumerate(rows) if "delete it" in row)
        await pilot.click(offset=(rows[y].index("delete it"), y))

        assert app.results == ["d"]


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 15)])
async def test_other_peoples_words_stay_words(size: tuple[int, int]) -> None:
    for dialog in (Ask(FOREIGN, {"a": FOREIGN}, FOREIGN), AskText(FOREIGN, FOREIGN), Tell(FOREIGN, FOREIGN, FOREIGN)):
        app = Host(dialog)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            shown = screen_text(app)

            assert "[b]bold[/b]" in shown
            assert not set(shown) & set("\x1b\x07")


@pytest.mark.parametrize("trap", MARKUP_TRAPS)
async def test_no_title_is_read_as_markup(trap: str) -> None:
    for dialog in (Ask(trap, {"a": trap}, trap), AskText(trap, trap), Tell(trap, trap, trap)):
        app = Host(dialog)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()

            assert trap in screen_text(app)


async def test_long_answers_stand_below_each_other_and_all_can_be_seen() -> None:
    choices = {"g": "go on without the oldest turns", "n": "new conversation", "l": "leave it so, and do nothing"}
    app = Host(Ask("The context is full. " * 20, choices))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        shown = screen_text(app)

        assert all(choice in shown for choice in choices.values())


async def test_a_line_is_changed_and_given_back() -> None:
    app = Host(AskText("Rename", "old title"))
    async with app.run_test() as pilot:
        await pilot.press("!", "enter")

        assert app.results == ["old title!"]


async def test_several_lines_are_changed_and_given_back() -> None:
    app = Host(AskText("System prompt", "a\nb", multi_line=True))
    async with app.run_test() as pilot:
        await pilot.press("ctrl+j", "c")
        app.screen.query_one(PromptArea).post_message(events.Paste("\x1b[31m" * 5000))
        await pilot.pause()
        await pilot.press("enter")

        assert app.results == ["a\nb\nc" + "\x1b[31m" * 5000]


@pytest.mark.parametrize("multi_line", [False, True])
async def test_escape_changes_nothing(multi_line: bool) -> None:
    app = Host(AskText("Rename", "old", multi_line=multi_line))
    async with app.run_test() as pilot:
        await pilot.press("x", "escape")

        assert app.results == [None]


async def test_an_error_is_told_whole_and_goes_away() -> None:
    app = Host(Tell.of(LocalspecError("It failed", "Because. " * 200, "Do this.")))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "It failed" in screen_text(app)
        await pilot.press("end")
        await pilot.pause()
        assert "Do this." in screen_text(app)
        await pilot.press("enter")

        assert app.results == [None]
