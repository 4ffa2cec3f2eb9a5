from __future__ import annotations

import random
from typing import Any

import pytest
from textual.events import MouseScrollUp
from textual.pilot import Pilot

from tests.tui.screen_text import screen_text
from tests.tui.transcript_made import ANSWER, TranscriptApp, answer, long_talk, question, rounds_of, unwritten

SIZE = (80, 24)


async def rows(pilot: Pilot[Any]) -> list[str]:
    await pilot.pause()
    text = screen_text(pilot.app).rstrip("\n").split("\n")
    # The scroll bar is in the last column.
    return [row[: pilot.app.size.width - 1].rstrip() for row in [*text, *[""] * pilot.app.size.height]][
        : pilot.app.size.height
    ]


async def test_a_conversation_opens_at_its_end_with_only_the_end_rendered() -> None:
    app = TranscriptApp(long_talk(500))
    async with app.run_test(size=SIZE) as pilot:
        assert any("quoted" in row for row in await rows(pilot))
        views = app.transcript.column.views
        assert sum(view.is_rendered for view in views) < 10


async def test_scrolling_up_moves_what_is_in_view_by_one_line_whatever_was_guessed() -> None:
    app = TranscriptApp(long_talk(12))
    async with app.run_test(size=SIZE) as pilot:
        before = await rows(pilot)
        while app.transcript.scroll_offset.y > 0:
            app.transcript.action_scroll_up()
            after = await rows(pilot)
            assert after[1:] == before[:-1]
            before = after
        assert "Question 0" in before[1]
        while not app.transcript.follows:
            app.transcript.action_scroll_down()
            after = await rows(pilot)
            assert after[:-1] == before[1:]
            before = after
        assert any("quoted" in row for row in before)


async def test_keys_and_wheel_reach_both_ends() -> None:
    app = TranscriptApp(long_talk(60))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("home")
        assert "Question 0" in (await rows(pilot))[1]
        await pilot.press("pagedown", "pageup")
        assert app.transcript.scroll_offset.y == 0
        await pilot.press("end")
        assert any("quoted" in row for row in await rows(pilot))
        assert app.transcript.follows
        app.transcript.post_message(MouseScrollUp(app.transcript, 1, 1, 0, -1, 0, False, False, False))
        await pilot.pause()
        assert not app.transcript.follows


async def test_the_end_is_followed_until_a_person_scrolls_up() -> None:
    app = TranscriptApp([*long_talk(6), unwritten("new")])
    rounds = rounds_of(ANSWER * 3)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for each in rounds[:100]:
            app.transcript.stream("new", [each])
        assert app.transcript.scroll_offset.y == app.transcript.max_scroll_y
        await pilot.press("up", "up", "up")
        before = await rows(pilot)
        assert "↓ more below" in before[-1]
        for each in rounds[100:150]:
            app.transcript.stream("new", [each])
        after = await rows(pilot)
        assert after[:-1] == before[:-1]
        await pilot.press("end")
        for each in rounds[150:]:
            app.transcript.stream("new", [each])
        after = await rows(pilot)
        assert any("quoted" in row for row in after)
        assert not any("more below" in row for row in after)


@pytest.mark.parametrize("width", [60, 100, 200])
async def test_another_width_keeps_the_place(width: int) -> None:
    entries = [answer(f"a{i}", f"marker{i} " + "some words that wrap " * 30) for i in range(30)]
    app = TranscriptApp(entries)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        transcript = app.transcript
        transcript.scroll_to(y=transcript.column.top(12) + 1)
        assert (await rows(pilot))[0].startswith("  marker12")
        await pilot.resize_terminal(width, 24)
        assert (await rows(pilot))[0].startswith("  marker12")
        await pilot.resize_terminal(*SIZE)
        assert (await rows(pilot))[0].startswith("  marker12")


async def test_another_size_keeps_the_end_while_it_streams() -> None:
    app = TranscriptApp([*long_talk(6), unwritten("new")])
    pick = random.Random(1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for each in rounds_of(ANSWER * 2):
            app.transcript.stream("new", [each])
            if pick.random() < 0.1:
                await pilot.resize_terminal(pick.randint(30, 200), pick.randint(6, 60))
                await pilot.pause()
                assert app.transcript.scroll_offset.y == app.transcript.max_scroll_y
        done = answer("new", ANSWER * 2)
        app.transcript.finish(done)
        await pilot.resize_terminal(*SIZE)
        streamed = await rows(pilot)
        app.transcript.show([*long_talk(6), done])
        assert streamed == await rows(pilot)


async def test_showing_who_wrote_it_keeps_the_place() -> None:
    entries = [answer(f"a{i}", f"marker{i} and some words that wrap and wrap " * 6) for i in range(30)]
    app = TranscriptApp(entries)
    app.rounds = {each.entry.id: rounds_of(each.entry.text) for each in entries}
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.transcript.scroll_to(y=app.transcript.column.top(12) + 1)
        app.transcript.origins = True
        assert (await rows(pilot))[0].startswith("  marker12")


async def test_memory_is_bounded() -> None:
    app = TranscriptApp(long_talk(1500))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for _ in range(60):
            for _ in range(20):
                app.transcript.scroll_to(y=app.transcript.scroll_offset.y - 23)
            await pilot.pause()
        assert sum(len(view.lines) for view in app.transcript.column.views) < 8000
        assert len(app.transcript.painter._strips) <= 1000


async def test_an_answer_that_grows_out_of_view_is_whole_when_it_is_looked_at() -> None:
    app = TranscriptApp([*long_talk(20), unwritten("new")])
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("home")
        for each in rounds_of(f"beginning\n\n{ANSWER}\nlast words"):
            app.transcript.stream("new", [each])
        await pilot.press("end")
        assert any("last words" in row for row in await rows(pilot))


async def test_random_use_never_breaks_it() -> None:
    pick = random.Random(7)
    app = TranscriptApp(long_talk(12))
    live: list[Any] = []
    count = 0
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        transcript = app.transcript
        for _ in range(120):
            if not live and pick.random() < 0.3:
                count += 1
                before = [view.shown for view in transcript.column.views]
                transcript.show([*before, question(f"x{count}", "?"), unwritten(f"y{count}")])
                live = rounds_of(ANSWER, seed=count)
            elif live:
                part, live = live[:9], live[9:]
                transcript.stream(f"y{count}", part)
                if not live:
                    transcript.finish(answer(f"y{count}", ANSWER))
            match pick.randrange(9):
                case 0:
                    await pilot.resize_terminal(pick.randint(1, 220), pick.randint(1, 70))
                case 1:
                    transcript.origins = not transcript.origins
                case 2:
                    transcript.show_thinking = not transcript.show_thinking
                case 3:
                    transcript.waiting = pick.choice(["", "reading"])
                case 4:
                    app.theme = pick.choice(["textual-dark", "textual-light"])
                case _:
                    await pilot.press(pick.choice(["up", "down", "pageup", "home", "end", "[", "]", "left", "right"]))
            await pilot.pause()
            assert 0 <= transcript.scroll_offset.y <= transcript.max_scroll_y
