"""Pastes: intact whatever is in them, harmless on the screen, and attached when they are large."""

from __future__ import annotations

import random

import pytest
from textual import events

from localspec.tui.widgets.composer import Composer
from tests.tui.composer_host import ComposerHost
from tests.tui.screen_text import screen_text

ODD = "a\x1b[31mred\x07\x0b\x0c\x1c\x85\u2028\u2029\u202e\u2066 tab\t漢字 🚀 e\u0301 \x7f\x9b \x00end"


async def sent_after_paste(text: str) -> Composer.Submitted:
    app = ComposerHost()
    async with app.run_test(size=(80, 24)) as pilot:
        app.area.post_message(events.Paste(text))
        await pilot.pause()
        await pilot.press("enter")
        [sent] = app.host.messages
        assert isinstance(sent, Composer.Submitted)
        return sent


async def test_a_paste_goes_into_the_text_where_the_cursor_is() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        await pilot.press(*"ab", "left")
        app.area.post_message(events.Paste("x\ny"))
        await pilot.press("!", "enter")

        assert app.sent == [("ax\ny!b", 0)]


async def test_odd_characters_are_sent_as_they_are_and_shown_without_harm() -> None:
    app = ComposerHost()
    async with app.run_test(size=(80, 24)) as pilot:
        app.area.post_message(events.Paste(ODD))
        await pilot.pause()
        shown = screen_text(app)
        assert not set(shown) & set("\x1b\x07\x0b\x0c\x1c\x85\u2028\u2029\u202e\u2066\x7f\x9b\x00")
        assert "␛[31mred" in shown
        await pilot.press("end", "!", "enter")

        assert app.sent == [(ODD + "!", 0)]


async def test_odd_characters_survive_undo_cut_and_selection() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        app.composer.paste(ODD)
        await pilot.press("ctrl+z", "alt+z")
        assert app.composer.text == ODD
        await pilot.press("alt+a")
        assert app.composer.selected_text == ODD
        await pilot.press("ctrl+x")
        assert app.composer.text == ""
        await pilot.press("ctrl+v")

        assert app.composer.text == ODD


async def test_line_ends_of_terminals_become_those_of_texts() -> None:
    assert (await sent_after_paste("a\rb\r\nc\n\nd")).text == "a\nb\nc\n\nd"


async def test_any_short_text_arrives() -> None:
    chance = random.Random(5)
    app = ComposerHost()
    async with app.run_test() as pilot:
        for _ in range(40):
            text = "".join(map(chr, chance.choices([*range(0xD800), *range(0x20), 0x1F680], k=40))).replace("\r", "\n")
            app.composer.clear()
            app.composer.paste("x" + text)
            await pilot.pause()

            assert app.composer.text == "x" + text


async def test_five_megabytes_are_attached_and_sent_whole() -> None:
    chance = random.Random(6)
    text = "\n".join("".join(map(chr, chance.choices(range(0x20, 0xD800), k=80))) for _ in range(30_000))
    assert len(text.encode()) > 5_000_000

    sent = await sent_after_paste(text)

    assert sent.text == ""
    assert [(each.name, each.text) for each in sent.attachments] == [("pasted text", text)]


@pytest.mark.parametrize("text", ["x" * 5000, "word " * 5000, "\n" * 2500])
async def test_what_would_be_slow_to_edit_is_attached(text: str) -> None:
    assert [each.text for each in (await sent_after_paste(text)).attachments] == [text]


async def test_many_pastes_together_are_no_way_around() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        part = ("lorem ipsum " * 10 + "\n") * 100
        for _ in range(12):
            app.composer.paste(part)
        await pilot.pause()

        assert len(app.composer.text) <= 100_000
        assert app.composer.text + "".join(each.text for each in app.composer.attachments) == part * 12
        assert [each.name for each in app.composer.attachments][:2] == ["pasted text", "pasted text 2"]


async def test_a_large_paste_says_how_much_it_is() -> None:
    app = ComposerHost()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"Summarise this:")
        app.area.post_message(events.Paste("line\n" * 4512))
        await pilot.pause()

        assert app.composer.text == "Summarise this:"
        assert "pasted text  4,512 lines, 23 kB" in screen_text(app)


async def test_a_large_text_that_is_set_is_attached_too() -> None:
    app = ComposerHost()
    async with app.run_test() as pilot:
        app.composer.set_text("x\n" * 500_000)
        await pilot.pause()

        assert app.composer.text == ""
        assert app.composer.attachments[0].text == "x\n" * 500_000
