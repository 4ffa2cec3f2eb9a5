"""What the two sides of a comparison are can be changed: another pair, other guesses, another rule."""

from __future__ import annotations

from textual.widgets import Button, Input, Select

from localspec.errors import ModelFileError
from localspec.tui.engine_link import EngineLink
from localspec.tui.screens.compare_arms import ArmsForm
from tests.tui.compare.host import BIG, TINY, Host, finished, until
from tests.tui.screen_text import screen_text
from tests.tui.scripted_engine import PAIR, ScriptedEngine


async def test_a_side_may_guess_from_model_and_text_as_much_as_pays(engine: ScriptedEngine, link: EngineLink) -> None:
    app = Host(link)
    async with app.run_test(size=(100, 30)) as pilot:
        await finished(pilot, engine, 2)
        await pilot.press("e")
        await pilot.pause()
        form = app.screen
        assert isinstance(form, ArmsForm)
        length = list(form.query(Input))[1]
        for wrong in ("", "many", "32"):
            length.value = wrong
            await pilot.pause()
            assert "✗" in screen_text(app)
            assert form.query_one("#run", Button).disabled
        length.value = "auto"
        drafter = next(
            each for each in list(form.query(Select))[::-1] if "hybrid" in {value for _, value in each._options}
        )
        drafter.value = "hybrid"
        await pilot.pause()
        assert "model and text" in screen_text(app)
        await pilot.click("#run")
        await finished(pilot, engine, 4)
        assert "speculation on: as many guesses as pay" in " ".join(screen_text(app).split())
    asked = [request.speculation for request in engine.requests[2:] if request.speculation.speculates]
    assert {(each.drafter, each.draft_length) for each in asked} == {("hybrid", "auto")}


async def test_a_side_with_another_pair_loads_it_and_the_chat_learns_that_its_own_is_gone(
    engine: ScriptedEngine, link: EngineLink
) -> None:
    app = Host(link, pairs=[TINY])
    async with app.run_test(size=(100, 30)) as pilot:
        await finished(pilot, engine, 2)
        await pilot.press("e")
        await pilot.pause()
        form = app.screen
        assert isinstance(form, ArmsForm)
        form.query(Select).last().value = TINY.name
        await pilot.pause()
        assert "The texts will differ" in screen_text(app)
        assert TINY.name in screen_text(app)  # no markup
        await pilot.click("#run")
        await finished(pilot, engine, 4)
        await until(pilot, lambda: "▸" in screen_text(app) or "same text" in screen_text(app))
        assert f"{TINY.name}, speculation on" in " ".join(screen_text(app).split())
        await pilot.press("escape")
        await until(pilot, lambda: app.result is not None)
    assert engine.loads == [PAIR, TINY.loading]
    assert app.result is not None
    assert not app.result.pair_loaded


async def test_a_pair_that_does_not_load_is_told_and_the_sides_can_be_changed_back(
    engine: ScriptedEngine, link: EngineLink
) -> None:
    app = Host(link, pairs=[TINY])
    async with app.run_test(size=(100, 30)) as pilot:
        await finished(pilot, engine, 2)
        engine.load_errors.append(ModelFileError("tiny.gguf cannot be loaded", "It is cut short.", "Fetch it again."))
        await pilot.press("e")
        await pilot.pause()
        app.screen.query(Select).last().value = TINY.name
        await pilot.pause()
        await pilot.click("#run")
        await until(pilot, lambda: "tiny.gguf cannot be loaded" in screen_text(app))
        await pilot.press("e")
        await pilot.pause()
        app.screen.query(Select).last().value = BIG.name
        await pilot.pause()
        await pilot.click("#run")
        await until(pilot, lambda: "same text" in screen_text(app))
    assert engine.loads == [PAIR, TINY.loading, PAIR]


async def test_the_form_says_at_once_what_is_wrong(engine: ScriptedEngine, link: EngineLink) -> None:
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        await finished(pilot, engine, 2)
        await pilot.press("e")
        await pilot.pause()
        form = app.screen
        length = form.query(Input).last()
        for value, words in (("", "number from 0 to 31"), ("32", "between 0 and 31, not 32"), ("8", "the same text")):
            length.value = value
            await pilot.pause()
            assert words in screen_text(app)
            assert form.query_one("#run").disabled == (value != "8")
        acceptance = list(form.query(Select))[-3]
        acceptance.value = "greedy"
        await pilot.pause()
        assert "needs temperature 0" in " ".join(screen_text(app).split())
        acceptance.value = "coupled"
        await pilot.pause()
        length.focus()
        await pilot.press("enter")
        await finished(pilot, engine, 4)
    assert [request.speculation.draft_length for request in engine.requests[2:]] == [3, 8]


async def test_leaving_the_form_changes_nothing(engine: ScriptedEngine, link: EngineLink) -> None:
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        await finished(pilot, engine, 2)
        await pilot.press("e")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.compare
        assert "same text" in screen_text(app)
    assert len(engine.requests) == 2
