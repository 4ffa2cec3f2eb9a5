from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.conversations.conversation import AnswerFacts, Attachment
from localspec.tui.widgets.transcript import Transcript
from localspec.tui.widgets.transcript_entry import head_line
from tests.tui.screen_text import screen_text
from tests.tui.transcript_made import ANSWER, FACTS, TranscriptApp, answer, long_talk, question, rounds_of, unwritten

SIZE = (80, 24)


async def drawn(pilot: Pilot[Any]) -> str:
    await pilot.pause()
    return screen_text(pilot.app)


async def test_an_empty_conversation_welcomes() -> None:
    app = TranscriptApp(welcome="Ask something\nF1 help")
    async with app.run_test(size=SIZE) as pilot:
        rows = (await drawn(pilot)).split("\n")
    assert [row.strip() for row in rows if row.strip()] == ["Ask something", "F1 help"]
    assert rows[11].index("Ask something") == pytest.approx((80 - len("Ask something")) / 2, abs=2)


async def test_a_question_is_shown_as_typed_with_its_attachments_folded() -> None:
    files = Attachment("notes [b].md", "x\n" * 1200), Attachment("\x1b[1m", "")
    app = TranscriptApp([question("q", "*not* [red]markup[/red]\n\n   # kept\x1b[31m", *files)])
    async with app.run_test(size=SIZE) as pilot:
        shown = await drawn(pilot)
    assert "You" in shown
    assert "▤ notes [b].md · 1,200 lines · 2.4 kB" in shown
    assert "▤ ␛[1m · 0 lines · 0 bytes" in shown
    assert "  *not* [red]markup[/red]\n\n     # kept␛[31m" in shown


async def test_an_answer_has_its_figures_and_its_place_among_others() -> None:
    app = TranscriptApp([answer("a", "text", branch=2, branches=3)])
    async with app.run_test(size=SIZE) as pilot:
        shown = await drawn(pilot)
    head = shown.split("\n")[0]
    assert head.startswith(f"  Qwen2.5-7B  {time.strftime('%H:')}")
    assert "‹ 2/3 ›" in head  # noqa: RUF001 - the marks are meant
    assert head.endswith("1.93x · 41.8 tok/s")


async def test_a_speed_up_is_shown_only_where_the_speed_without_speculation_is_known() -> None:
    app = TranscriptApp([answer("a", "text", replace(FACTS, off_tokens_per_second=None))])
    async with app.run_test(size=SIZE) as pilot:
        assert (await drawn(pilot)).split("\n")[0].endswith("  41.8 tok/s")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (replace(FACTS, finish="cancelled"), ["stopped", "F6"]),
        (replace(FACTS, finish="length"), ["token limit", "F6"]),
        (replace(FACTS, finish="context", context_used=8192), ["context full", "8,192"]),
        (replace(FACTS, finish="failed", error="The engine died [b]\x1b"), ["failed", "The engine died [b]␛"]),
        (AnswerFacts(), ["broken off", "The program ended while this was written."]),
    ],
)
async def test_an_answer_that_did_not_end_by_itself_says_why(facts: AnswerFacts, words: list[str]) -> None:
    app = TranscriptApp([answer("a", "text", facts)])
    async with app.run_test(size=SIZE) as pilot:
        shown = await drawn(pilot)
    assert all(word in shown for word in words)
    assert "╭─" in shown


@pytest.mark.parametrize("finish", ["end", "stop"])
async def test_an_answer_that_ended_by_itself_has_no_frame(finish: str) -> None:
    app = TranscriptApp([answer("a", "text", replace(FACTS, finish=finish))])
    async with app.run_test(size=SIZE) as pilot:
        assert "╭─" not in await drawn(pilot)


async def test_thinking_is_one_line_until_it_is_unfolded() -> None:
    facts = replace(FACTS, thinking_seconds=12.3)
    app = TranscriptApp([answer("a", "<think>\nsecret *thought*\n\n```\nx\n```\n</think>\n\nsaid", facts)])
    async with app.run_test(size=SIZE) as pilot:
        shown = await drawn(pilot)
        assert "▸ thought for 12 s" in shown
        assert "secret" not in shown
        app.transcript.show_thinking = True
        shown = await drawn(pilot)
    assert "▾ thought for 12 s" in shown
    assert "│ secret thought" in shown
    assert "think>" not in shown
    assert "/code" not in shown  # only what is said has blocks to copy


async def test_thinking_counts_its_seconds_while_it_goes_on() -> None:
    app = TranscriptApp([question("q", "?"), unwritten("a")])
    rounds = rounds_of("The answer.", thought="<think>\nlet me see\n</think>\n\n")
    thinking = [each for each in rounds if all(token.thinking for token in each.tokens)]
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.transcript.stream("a", thinking[:2])
        assert "▸ thinking… 1 s" in await drawn(pilot)
        app.transcript.show_thinking = True
        shown = await drawn(pilot)
        assert "▾ thinking… 1 s" in shown
        assert "│ let" in shown
        app.transcript.stream("a", rounds[2:])
        shown = await drawn(pilot)
    assert "▾ thought for" in shown
    assert "│ let me see" in shown
    assert "The answer." in shown


async def test_an_answer_grows_and_settles_as_it_is_shown_later() -> None:
    app = TranscriptApp([question("q", "?"), unwritten("a")])
    done = answer("a", ANSWER)
    async with app.run_test(size=(80, 50)) as pilot:
        await pilot.pause()
        assert "╭─" not in await drawn(pilot)
        for each in rounds_of(ANSWER):
            app.transcript.stream("a", [each])
        app.transcript.finish(done)
        streamed = await drawn(pilot)
        app.transcript.show([question("q", "?"), done])
        assert streamed == await drawn(pilot)
    assert "1.93x" in streamed


async def test_a_continued_answer_keeps_what_it_had() -> None:
    app = TranscriptApp([question("q", "?"), answer("a", "The first half, ", AnswerFacts(), writing=True)])
    rounds = rounds_of("and the second.")
    app.rounds["a"] = [*rounds_of("The first half, "), *rounds]
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.transcript.stream("a", rounds)
        assert "The first half, and the second." in await drawn(pilot)
        app.transcript.origins = True
        assert "The first half, and the second." in await drawn(pilot)


async def test_what_is_waited_for_stands_below_the_last_message() -> None:
    app = TranscriptApp([question("q", "?")])
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.transcript.waiting = "reading your prompt (1,900 tokens, 38 %)"
        assert (await drawn(pilot)).rstrip().endswith("◌ reading your prompt (1,900 tokens, 38 %)")
        app.transcript.waiting = ""
        assert "reading" not in await drawn(pilot)


async def test_who_wrote_it_is_shown_for_past_and_growing_answers() -> None:
    app = TranscriptApp(
        [answer("old", "old answer"), answer("unknown", "**its** rounds were not kept"), unwritten("new")]
    )
    app.rounds["old"] = rounds_of("old answer")
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.transcript.origins = True
        app.transcript.stream("new", rounds_of("new **answer**"))
        shown = await drawn(pilot)
        assert "old answer" in shown
        assert "new **answer**" in shown
        assert "its rounds were not kept" in shown
        assert shown.count("%)") >= 2
        app.transcript.origins = False
        assert "new answer" in await drawn(pilot)


async def test_arrows_go_through_the_tokens_and_explain_them() -> None:
    app = TranscriptApp([answer("a", "one two three")])
    app.rounds["a"] = rounds_of("one two three")
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.transcript.origins = True
        await pilot.press("right")
        first = await drawn(pilot)
        assert "round 1: " in first
        await pilot.press("right", "right", "left")
        assert app.transcript.describe("a", 1) in await drawn(pilot)
        words = [event.words for event in app.posted if isinstance(event, Transcript.TokenPointed)]
        assert words[-1] == app.transcript.describe("a", 1)


async def test_the_mouse_explains_the_token_under_it() -> None:
    app = TranscriptApp([answer("a", "one two three")])
    app.rounds["a"] = rounds_of("one two three")
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.transcript.origins = True
        await pilot.hover(Transcript, offset=(3, 1))
        await pilot.pause()
        assert app.transcript.describe("a", 0) in screen_text(app)


async def test_messages_are_chosen_by_keys_and_by_clicks() -> None:
    app = TranscriptApp(long_talk(40))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("[")
        assert app.transcript.selected == "a39"
        await pilot.press("[")
        assert app.transcript.selected == "q38"
        assert "▌ You" in await drawn(pilot)
        await pilot.press("]")
        assert app.transcript.selected == "a39"
        row = max(y for y, text in enumerate(screen_text(app).split("\n")) if "quoted" in text)
        await pilot.click(Transcript, offset=(5, row))
        assert app.transcript.selected is None
        await pilot.click(Transcript, offset=(5, row))
        assert app.transcript.selected == "a39"
        await pilot.pause()
        assert [event.entry for event in app.posted if isinstance(event, Transcript.Chosen)][-1] == "a39"


async def test_a_click_on_the_head_of_a_block_asks_to_copy_it() -> None:
    app = TranscriptApp([answer("a", ANSWER)])
    async with app.run_test(size=(80, 50)) as pilot:
        row = next(y for y, text in enumerate((await drawn(pilot)).split("\n")) if "/code 1" in text)
        await pilot.click(Transcript, offset=(20, row))
        await pilot.pause()
    assert app.posted == [Transcript.CodeClicked("a", 1)] or app.posted[-1].number == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "nord", "ansi-dark", "ansi-light"])
async def test_another_theme_draws_the_same_text(theme: str) -> None:
    app = TranscriptApp([question("q", "?"), answer("a", ANSWER)])
    async with app.run_test(size=(80, 50)) as pilot:
        before = await drawn(pilot)
        colours = {segment.style for strip in app.screen._compositor.render_strips() for segment in strip}
        app.theme = theme
        await pilot.pause()
        # A theme without panels shows the marks of inline code.
        assert before == (await drawn(pilot)).replace("`code`", "code")
        if theme != "textual-dark":
            assert colours != {s.style for strip in app.screen._compositor.render_strips() for s in strip}


async def test_without_colour_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = TranscriptApp([question("q", "?"), answer("a", ANSWER)])
    async with app.run_test(size=(80, 50)) as pilot:
        shown = await drawn(pilot)
        colours = {
            segment.style.color.triplet
            for strip in app.screen._compositor.render_strips()
            for segment in strip
            if segment.style and segment.style.color and segment.style.color.triplet
        }
    assert "bold" in shown
    assert all(red == green == blue for red, green, blue in colours)


@pytest.mark.parametrize("size", [(20, 6), (80, 24), (200, 50), (9, 3), (250, 80)])
async def test_every_strip_is_as_wide_as_the_view(size: tuple[int, int]) -> None:
    odd = "漢字 👩‍👩‍👧 שלום e\u0301 \x1b[1m " * 9
    app = TranscriptApp(
        [question("q", odd), answer("a", f"{odd}\n\n```\n{odd}\n```\n\n| {odd} | b |\n|-|-|\n| c | {odd} |")]
    )
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        transcript = app.transcript
        while True:
            assert {strip.cell_length for strip in transcript._page} == {transcript.inner_width}
            if transcript.scroll_offset.y == 0:
                break
            await pilot.press("pageup")


async def test_the_figures_of_an_answer_that_was_slower_stand_out() -> None:
    app = TranscriptApp([answer("a", "text")])
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        look = app.query_one(Transcript).look
        faster, slower = (
            head_line(answer("a", "text", facts), look).segments[-1]
            for facts in (FACTS, replace(FACTS, off_tokens_per_second=60.0))
        )
    assert (faster.text, faster.style) == ("1.93x · 41.8 tok/s", look.palette.figures)
    assert (slower.text, slower.style) == ("0.70x · 41.8 tok/s", look.palette.warning)
    assert look.palette.figures != look.palette.warning
