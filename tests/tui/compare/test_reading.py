"""What a person reads of a comparison: two columns that fill in turn, at any size, and where the texts differ."""

from __future__ import annotations

import pytest
from textual.containers import VerticalScroll

from localspec.tui.engine_link import EngineLink
from localspec.tui.widgets.compared_column import ComparedColumn
from tests.tui.compare.host import TEXT, Host, finished, until
from tests.tui.screen_text import screen_text
from tests.tui.scripted_engine import ScriptedEngine

OTHER = TEXT.replace("to its end", "but no further")


async def test_different_texts_are_marked_in_both_columns(engine: ScriptedEngine, link: EngineLink) -> None:
    engine.answers = (TEXT, OTHER)
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        await finished(pilot, engine, 2)
        await pilot.pause(0.05)
        rows = screen_text(app).splitlines()
    assert any("the texts differ" in row for row in rows)
    assert any("Token 49, character 209:" in row for row in rows)
    assert any("▸to" in row.split("│")[0] for row in rows if "│" in row)
    assert any("▸but" in row.split("│")[-1] for row in rows if "│" in row)


async def test_where_it_does_not_pay_it_says_so(engine: ScriptedEngine, link: EngineLink) -> None:
    engine.seconds_on = 0.4
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        await finished(pilot, engine, 2)
        shown = " ".join(screen_text(app).split())
    assert "It did not pay in this one run: checking several tokens at once is dear on this machine." in shown


async def test_the_columns_fill_in_turn_and_the_waiting_one_says_so(engine: ScriptedEngine, link: EngineLink) -> None:
    engine.held = True
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        engine.step(3)
        await until(pilot, lambda: "An answer of" in screen_text(app))
        shown = screen_text(app)
        assert "writing" in shown
        assert "waits for its turn" in shown
        assert "seed 7" in shown
        engine.go_on()
        await finished(pilot, engine, 2)


async def test_control_characters_of_a_model_are_made_visible(engine: ScriptedEngine, link: EngineLink) -> None:
    engine.answers = ("A \x1b]0;title\x07 and [red]markup[/red] " * 2,)
    app = Host(link)
    async with app.run_test(size=(120, 40)) as pilot:
        await finished(pilot, engine, 2)
        shown = screen_text(app)
    assert "␛]0;title␇ and [red]markup[/red]" in shown


@pytest.mark.parametrize("size", [(50, 30), (59, 24), (60, 24), (80, 24), (200, 50), (250, 80)])
async def test_every_size_shows_both_sides_and_the_sentence(
    engine: ScriptedEngine, link: EngineLink, size: tuple[int, int]
) -> None:
    app = Host(link)
    async with app.run_test(size=size) as pilot:
        await finished(pilot, engine, 2)
        shown = " ".join(screen_text(app).split())
        columns = [column.region for column in app.compare.query(ComparedColumn)]
        assert (columns[0].y == columns[1].y) == (size[0] >= 60)
        assert all(column.query_one(VerticalScroll).region.height >= 1 for column in app.compare.query(ComparedColumn))
    for words in ("speculation off", "20.0 tok/s", "tokens a round", "same text", "Speculation paid"):
        assert words in shown


async def test_a_resize_while_it_writes_loses_nothing(engine: ScriptedEngine, link: EngineLink) -> None:
    engine.held = True
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        for size in ((50, 30), (200, 50), (62, 20), (80, 24)):
            engine.step(5)
            await pilot.resize_terminal(*size)
            await pilot.pause(0.02)
        engine.go_on()
        await finished(pilot, engine, 2)
        assert "to its end." in " ".join(screen_text(app).split())


async def test_the_text_follows_its_end_unless_the_person_scrolled(engine: ScriptedEngine, link: EngineLink) -> None:
    engine.answers = ("\n".join(f"line{i}" for i in range(60)),)
    engine.held = True
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        scroll = app.compare.query(VerticalScroll).first()
        engine.step(30)
        await until(pilot, lambda: "line29" in screen_text(app))
        scroll.scroll_home(animate=False)
        await pilot.pause()
        engine.step(10)
        await until(pilot, lambda: "40 tokens in" in screen_text(app))
        assert "line0" in screen_text(app)
        assert "line39" not in screen_text(app)
        engine.go_on()
        await finished(pilot, engine, 2)


async def test_on_a_tiny_terminal_the_second_side_is_a_tab_away(engine: ScriptedEngine, link: EngineLink) -> None:
    app = Host(link)
    async with app.run_test(size=(40, 16)) as pilot:
        await finished(pilot, engine, 2)
        await pilot.press("tab")
        await until(pilot, lambda: "speculation on" in screen_text(app))
