"""Writing: lines, keys, commands, earlier prompts, and what keeps a question from being sent."""

from __future__ import annotations

import pytest
from textual import events
from textual.message import Message

from localspec.conversations.conversation import Attachment
from localspec.tui.actions import ACTIONS, BY_SLASH
from localspec.tui.prompt_history import PromptHistory
from localspec.tui.terminal_input import InputParser
from localspec.tui.widgets.composer import Composer
from tests.tui.composer_host import ComposerHost
from tests.tui.screen_text import screen_text

SIZES = [(80, 24), (200, 50), (30, 12)]


async def test_enter_sends_and_empties() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        await pilot.press(*"hello", "enter")
        await pilot.press("enter")  # nothing is left to send
        await pilot.press(*" ", "enter")

        assert app.sent == [("hello", 0)]
        assert app.composer.text == " "


@pytest.mark.parametrize("key", ["ctrl+j", "alt+enter", "shift+enter"])
async def test_other_enters_begin_a_new_line(key: str) -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        await pilot.press("a", key, "b", "enter")

        assert app.sent == [("a\nb", 0)]


@pytest.mark.parametrize("size", SIZES)
async def test_it_grows_with_the_text_and_leaves_room_for_the_conversation(size: tuple[int, int]) -> None:
    app = ComposerHost()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert app.area.size.height == 1
        app.composer.set_text("\n".join("line" for _ in range(3)))
        await pilot.pause()
        assert app.area.size.height == 3
        app.composer.set_text("\n".join("line" for _ in range(300)))
        await pilot.pause()
        assert app.area.size.height == int(size[1] * 0.4)
        assert app.area.cursor_screen_offset.y < size[1]
        app.composer.clear()
        await pilot.pause()
        assert app.area.size.height == 1


async def test_every_key_of_an_action_reaches_the_screen_while_one_writes() -> None:
    keys = {key: action.name for action in ACTIONS for key in action.keys if action.name != "send"}
    app = ComposerHost()
    async with app.run_test() as pilot:
        await pilot.press(*"some text")
        app.area.move_cursor((0, 4))
        await pilot.press(*keys)

        assert app.host.done == [*keys.values()]
        assert app.composer.text == "some text"


async def test_keys_of_a_page_are_the_screens_unless_the_text_needs_them() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        app.composer.set_text("\n".join(map(str, range(100))))
        await pilot.pause()
        await pilot.press("pageup")
        assert app.area.cursor_location[0] < 99
        app.composer.set_text("short")
        await pilot.pause()
        app.host._bindings.bind("pageup", "do('page')")
        await pilot.press("pageup")

        assert app.host.done == ["page"]


async def test_undo_redo_and_word_moves_work() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        await pilot.press(*"one two")
        await pilot.press("ctrl+left", "x", "ctrl+z")
        assert app.composer.text == "one two"
        await pilot.press("alt+z")
        assert app.composer.text == "one xtwo"
        await pilot.press("alt+a")
        assert app.composer.selected_text == "one xtwo"


async def test_while_an_answer_is_written_the_text_stays_and_commands_work() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        app.composer.hold = "An answer is being written: Esc stops it."
        await pilot.press(*"next question", "enter")
        assert app.composer.text == "next question"
        [refused] = app.host.messages
        assert isinstance(refused, Composer.Refused)
        assert "Esc stops it" in refused.reason
        app.composer.set_text("/stop")
        await pilot.press("enter")
        assert app.host.messages[-1] == Composer.Commanded(BY_SLASH["stop"], "")
        app.composer.hold = ""
        app.composer.set_text("next question")
        await pilot.press("enter")

        assert app.sent == [("next question", 0)]


async def test_commands_are_listed_as_they_are_written() -> None:
    app = ComposerHost()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"/re")
        shown = screen_text(app)
        assert "/regenerate" in shown
        assert "/rename title" in shown
        await pilot.press("down", "tab")
        assert app.composer.text == "/rename "
        assert "/regenerate" not in screen_text(app)
        await pilot.press(*"My title", "enter")

        assert app.host.messages == [Composer.Commanded(BY_SLASH["rename"], "My title")]
        assert app.composer.text == ""


async def test_enter_takes_the_listed_command_that_is_chosen() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        await pilot.press(*"/comp", "enter")
        assert app.host.messages == [Composer.Commanded(BY_SLASH["compare"], "")]
        await pilot.press(*"/at", "enter")
        assert app.composer.text == "/attach "
        app.composer.clear()
        await pilot.press("/", "up", "enter")
        assert app.host.messages[-1] == Composer.Commanded(BY_SLASH["quit"], "")
        await pilot.press("/", "enter")  # a slash alone asks for nothing

        assert app.sent == [("/", 0)]


async def test_a_command_that_needs_nothing_more_runs_although_it_could_take_something() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        await pilot.press(*"/conversations", "enter")

        assert app.host.messages == [Composer.Commanded(BY_SLASH["conversations"], "")]


async def test_an_unknown_command_is_told_and_two_slashes_send_one() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        await pilot.press(*"/qit", "enter")
        [refused] = app.host.messages
        assert isinstance(refused, Composer.Refused)
        assert "/quit" in refused.reason
        assert app.composer.text == "/qit"
        await pilot.press("home", "/", "enter")

        assert app.sent == [("/qit", 0)]


async def test_up_and_down_walk_through_earlier_prompts_and_lose_no_draft() -> None:
    history = PromptHistory(None)
    for prompt in ("first", "several\nlines\nlong", "/stop"):
        history.add(prompt)
    app = ComposerHost(history)
    async with app.run_test() as pilot:
        await pilot.press(*"draft")
        seen = []
        for _ in range(4):
            await pilot.press("up")
            seen.append(app.composer.text)
        assert seen == ["/stop", "several\nlines\nlong", "first", "first"]
        for _ in range(6):
            await pilot.press("down")

        assert app.composer.text == "draft"


async def test_up_inside_a_text_moves_the_cursor() -> None:
    history = PromptHistory(None)
    history.add("earlier")
    app = ComposerHost(history)
    async with app.run_test(size=(30, 12)) as pilot:
        app.composer.set_text("word " * 12)  # one line, wrapped to several rows
        await pilot.pause()
        await pilot.press("up")
        assert app.composer.text == "word " * 12
        for _ in range(5):
            await pilot.press("up")

        assert app.composer.text == "earlier"


async def test_what_was_sent_is_remembered_with_its_lines() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        await pilot.press("a", "ctrl+j", "b", "enter")
        await pilot.press("up")

        assert app.composer.text == "a\nb"


@pytest.mark.parametrize("size", SIZES)
async def test_attachments_are_shown_and_can_be_taken_away(size: tuple[int, int]) -> None:
    app = ComposerHost()
    async with app.run_test(size=size) as pilot:
        for number in range(5):
            app.composer.attach(Attachment(f"[b]{number}[/b]\x1b[31m.txt", "line\n" * 12))
        await pilot.pause()
        shown = screen_text(app)
        assert "[b]4[/b]␛[31m.txt" in shown
        assert "3 more" in shown
        assert "\x1b" not in shown
        await pilot.press(*"ab", "backspace", "backspace")
        assert len(app.composer.attachments) == 5
        app.composer._last_backspace = 0.0  # later
        await pilot.press("backspace")
        assert len(app.composer.attachments) == 4
        await pilot.press("x", "enter")

        assert app.sent == [("x", 4)]
        assert app.composer.attachments == ()


async def test_backspace_held_down_takes_no_attachment_away() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        app.composer.attach(Attachment("a", "x"))
        await pilot.press("a")
        app.composer._last_backspace = 1e12  # a repetition of the key
        await pilot.press("backspace", "backspace")

        assert len(app.composer.attachments) == 1


async def test_an_attachment_is_taken_away_by_a_click_on_its_cross() -> None:
    app = ComposerHost()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.attach(Attachment("a", "x"))
        app.composer.attach(Attachment("b", "x"))
        await pilot.pause()
        rows = screen_text(app).splitlines()
        y = next(y for y, row in enumerate(rows) if "▪ a" in row)
        await pilot.click(offset=(rows[y].index("✕"), y))

        assert [each.name for each in app.composer.attachments] == ["b"]


async def test_an_attachment_alone_can_be_sent() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        app.composer.attach(Attachment("a", "x"))
        await pilot.press("enter")

        assert app.sent == [("", 1)]


async def test_keys_act_in_the_order_they_were_pressed_however_busy_the_app_is() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        for event in typed("cats\x7fr\x1b[D\x7ft\x1b[Fy"):
            app.post_message(event)
        await pilot.pause()

        assert app.composer.text == "catry"


async def test_alt_with_a_letter_writes_no_letter() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        await pilot.press(*"hello")
        for letter in "abfx":
            app.post_message(events.Key(f"alt+{letter}", letter))  # as a terminal sends it
        await pilot.pause()
        assert app.composer.text == "hello"
        assert app.composer.selected_text == "hello"


def typed(data: str) -> list[Message]:
    parser = InputParser()
    return [*parser.feed(data), *parser.tick()]
