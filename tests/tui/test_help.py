"""The help: every action, figure and terminal is in it, and typing finds it."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.containers import VerticalScroll

from localspec.tui.actions import ACTIONS
from localspec.tui.explanations import EXPLANATIONS
from localspec.tui.screens.help import HelpScreen, key_name
from localspec.tui.terminals import TERMINALS
from tests.tui.screen_text import screen_text


class Host(App[None]):
    def on_mount(self) -> None:
        self.push_screen(HelpScreen())


async def test_every_action_figure_and_terminal_is_in_it() -> None:
    app = Host()
    async with app.run_test(size=(140, 250)) as pilot:
        await pilot.pause()
        shown = " ".join(screen_text(app).split())
    for action in ACTIONS:
        assert action.help in shown
        for key in action.keys:
            assert key_name(key) in shown
        assert f"/{action.slash}" in shown
    for name in (*EXPLANATIONS, *TERMINALS):
        assert name in shown


@pytest.mark.parametrize(
    ("key", "printed"), [("ctrl+s", "Ctrl+S"), ("f10", "F10"), ("escape", "Esc"), ("alt+left", "Alt+Left")]
)
def test_keys_are_named_as_on_keyboards(key: str, printed: str) -> None:
    assert key_name(key) == printed


async def test_typing_finds_the_rows_with_all_the_words_and_hides_empty_sections() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"Code NUM")
        await pilot.pause()
        shown = screen_text(app)
        assert "/code number" in shown
        assert "/copy-all" not in shown
        assert "Terminals" not in shown
        await pilot.press(*"zzz")
        await pilot.pause()
        assert "Nothing here has these words." in screen_text(app)
        await pilot.press(*["backspace"] * 11)
        await pilot.pause()
        assert "Keys and commands" in screen_text(app)
        assert "Nothing here" not in screen_text(app)


@pytest.mark.parametrize("size", [(50, 20), (80, 24), (200, 50)])
async def test_it_scrolls_while_words_are_typed_and_reaches_its_end(size: tuple[int, int]) -> None:
    app = Host()
    async with app.run_test(size=size) as pilot:
        await pilot.press("down", "down", "up")
        assert app.screen.query_one(VerticalScroll).scroll_y == 1
        await pilot.press("pagedown", "ctrl+end")
        await pilot.pause()
        assert "few colours" in screen_text(app)
        assert "colour alone." in screen_text(app)


@pytest.mark.parametrize("key", ["escape", "f1"])
async def test_it_closes(key: str) -> None:
    app = Host()
    async with app.run_test() as pilot:
        assert isinstance(app.screen, HelpScreen)
        await pilot.press(key)
        await pilot.pause()
        assert not isinstance(app.screen, HelpScreen)
