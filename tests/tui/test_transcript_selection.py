from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.tui.widgets.transcript import Transcript
from tests.tui.screen_text import screen_text
from tests.tui.transcript_made import ANSWER, TranscriptApp, answer, long_talk, question

SIZE = (80, 40)


async def drag(pilot: Pilot[Any], start: tuple[int, int], end: tuple[int, int]) -> str | None:
    """Select with the mouse; what would be copied."""
    await pilot.pause()
    await pilot.mouse_down(Transcript, offset=start)
    await pilot.hover(Transcript, offset=end)
    await pilot.mouse_up(Transcript, offset=end)
    await pilot.pause()
    return pilot.app.screen.get_selected_text()


def row_of(app: TranscriptApp, text: str) -> int:
    return next(y for y, row in enumerate(screen_text(app).split("\n")) if text in row)


async def test_words_of_a_line_are_selected() -> None:
    app = TranscriptApp([answer("a", "some **bold** words")])
    async with app.run_test(size=SIZE) as pilot:
        assert await drag(pilot, (7, 1), (10, 1)) == "bold"
        assert app.transcript.selected is None  # a drag is no click


async def test_wrapped_text_is_copied_as_one_line() -> None:
    words = "some words that wrap " * 12
    app = TranscriptApp([answer("a", words), question("q", "next")])
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert await drag(pilot, (0, 0), (77, row_of(app, "next") - 3)) == words.strip()


async def test_frames_heads_and_padding_are_not_copied() -> None:
    app = TranscriptApp([answer("a", "> quoted\n\n```python\nx = 1\n\n    y\n```\n\n- item\n  - inner\n\n---\n\nend")])
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        copied = await drag(pilot, (0, 0), (79, row_of(app, "end")))
    assert copied is not None
    assert [line.rstrip() for line in copied.split("\n") if line.strip()] == [
        "quoted", "x = 1", "    y", "• item", "  ◦ inner", "end",
    ]  # fmt: skip


async def test_wide_characters_are_selected_whole() -> None:
    app = TranscriptApp([answer("a", "漢字かな text")])
    async with app.run_test(size=SIZE) as pilot:
        assert await drag(pilot, (4, 1), (6, 1)) == "字か"


async def test_a_selection_is_marked_and_stays_when_heights_change() -> None:
    app = TranscriptApp(long_talk(20))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        row = row_of(app, "first")
        before = await drag(pilot, (5, row), (9, row))
        assert before == "first"
        await pilot.press("pageup", "pageup", "pageup", "end")
        await pilot.pause()
        assert app.screen.get_selected_text() == "first"
        marked = app.screen.get_component_rich_style("screen--selection").bgcolor
        cells = [
            segment.text for segment in app.transcript._page[row] if segment.style and segment.style.bgcolor == marked
        ]
        assert cells == ["first"]


async def test_everything_can_be_selected() -> None:
    app = TranscriptApp(long_talk(30))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.transcript.text_select_all()
        copied = app.screen.get_selected_text()
    assert copied is not None
    assert all(f"Question {i}" in copied for i in range(0, 30, 2))
    assert copied.count("return a + b") == 15


async def test_a_selection_across_messages_that_are_out_of_view_is_whole() -> None:
    app = TranscriptApp(long_talk(30))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("home")
        await pilot.pause()
        await pilot.mouse_down(Transcript, offset=(0, 0))
        await pilot.hover(Transcript, offset=(5, 3))
        await pilot.press("end")
        await pilot.pause()
        await pilot.hover(Transcript, offset=(70, 39))
        await pilot.mouse_up(Transcript, offset=(70, 39))
        await pilot.pause()
        copied = app.screen.get_selected_text()
    assert copied is not None
    assert all(f"Question {i}" in copied for i in range(0, 30, 2))


@pytest.mark.parametrize("size", [(40, 20), (120, 40)])
async def test_another_size_drops_the_selection(size: tuple[int, int]) -> None:
    app = TranscriptApp([answer("a", ANSWER)])
    async with app.run_test(size=SIZE) as pilot:
        assert await drag(pilot, (3, 1), (6, 1))
        await pilot.resize_terminal(*size)
        await pilot.pause()
        assert app.screen.get_selected_text() is None
