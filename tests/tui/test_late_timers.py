"""On a busy machine a timer is looked at when its time is over; it rings all the same."""

from __future__ import annotations

import itertools

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Static

from localspec.tui.late_timers import let_late_timers_ring


class OneLine(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("as wide as the terminal")


@pytest.fixture
def a_slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fiftieth of a second passes from each look at the clock to the next."""
    looks = itertools.count()
    monkeypatch.setattr("textual.timer._time.get_time", lambda: next(looks) / 50)


@pytest.mark.usefixtures("a_slow_machine")
async def test_a_size_that_a_terminal_takes_on_is_taken_over_though_time_has_passed() -> None:
    let_late_timers_ring()
    app = OneLine()
    async with app.run_test(size=(80, 24)) as pilot:
        for width in (60, 100):
            await pilot.resize_terminal(width, 24)
            await pilot.pause(0.1)
            assert app.query_one(Static).size.width == width


@pytest.mark.usefixtures("a_slow_machine")
async def test_what_is_to_be_done_soon_is_done() -> None:
    let_late_timers_ring()
    rung: list[str] = []
    app: App[None] = App()
    async with app.run_test() as pilot:
        app.set_timer(0.005, lambda: rung.append("once"))
        await pilot.pause(0.1)
    assert rung == ["once"]
