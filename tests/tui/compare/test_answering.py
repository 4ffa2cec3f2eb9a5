"""The compare screen over a scripted engine: both sides answer in turn, whatever happens to the engine meanwhile."""

from __future__ import annotations

from dataclasses import replace

from localspec.chat.events import AnswerRequest, Message, Role
from localspec.errors import LocalspecError
from localspec.tui.engine_link import EngineLink
from tests.tui.compare.host import QUESTION, TEXT, Host, finished, speculating, until
from tests.tui.screen_text import screen_text
from tests.tui.scripted_engine import PAIR, ScriptedEngine


async def test_it_answers_without_and_with_speculation_and_says_what_came_of_it(
    engine: ScriptedEngine, link: EngineLink
) -> None:
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        await finished(pilot, engine, 2)
        shown = screen_text(app)
    assert speculating(engine) == [False, True]
    assert {request.sampling.seed for request in engine.requests} == {7}
    assert {request.speculation.acceptance for request in engine.requests} == {"coupled"}
    assert "same text" in shown
    assert "one run: no interval yet" in shown
    assert "Speculation paid in this one run:" in shown
    assert "20.0 tok/s" in shown
    assert QUESTION in shown  # as it is, no markup


async def test_further_runs_alternate_and_give_a_range(engine: ScriptedEngine, link: EngineLink) -> None:
    app = Host(link)
    async with app.run_test(size=(120, 40)) as pilot:
        await finished(pilot, engine, 2)
        await pilot.press("r")
        await finished(pilot, engine, 4)
        await pilot.press("space")
        await finished(pilot, engine, 6)
        shown = screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.result is not None)
    assert speculating(engine) == [False, True, True, False, False, True]
    assert "over 3 runs" in shown
    assert "same text in all 3 runs" in shown
    assert "median of 3 runs" in shown
    assert "Speculation pays here" in shown
    assert app.result is not None
    assert len(app.result.comparison.runs) == 3
    assert app.result.pair_loaded


async def test_stopping_keeps_what_came_and_another_run_begins_anew(engine: ScriptedEngine, link: EngineLink) -> None:
    engine.held = True
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        engine.step(3)
        await until(pilot, lambda: "An answer of" in screen_text(app))
        await pilot.press("s")
        await until(pilot, lambda: "this run does not count" in screen_text(app))
        assert "An answer of" in screen_text(app)
        assert "not asked in this run" in screen_text(app)
        engine.go_on()
        await pilot.press("r")
        await finished(pilot, engine, 3)
        await until(pilot, lambda: "same text" in screen_text(app))
    assert speculating(engine) == [False, False, True]


async def test_leaving_in_mid_run_stops_it_and_the_next_answer_is_the_chats_own(
    engine: ScriptedEngine, link: EngineLink
) -> None:
    engine.held = True
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        engine.step(2)
        await until(pilot, lambda: "An answer" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.result is not None)
        engine.go_on()
        own = link.answer(AnswerRequest((Message(Role.USER, "Next"),)))
        await until(pilot, lambda: bool(own.take()) or own.over)
    assert app.result is not None
    assert app.result.comparison.runs == ()
    assert app.result.pair_loaded
    assert [request.messages[-1].text for request in engine.requests] == [QUESTION, "Next"]


async def test_when_the_engine_dies_what_came_stays_and_r_loads_and_tries_again(
    engine: ScriptedEngine, link: EngineLink
) -> None:
    engine.dies_after = 4
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "signal SEGV" in screen_text(app))
        shown = screen_text(app)
        assert "An answer of a" in shown
        assert "r tries again" in shown
        await pilot.press("r")
        await finished(pilot, engine, 3)
        await until(pilot, lambda: "same text" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.result is not None)
    assert engine.loads == [PAIR, PAIR]
    assert app.result is not None
    assert app.result.pair_loaded


async def test_leaving_a_dead_engine_says_that_the_pair_is_to_be_loaded(
    engine: ScriptedEngine, link: EngineLink
) -> None:
    engine.dies_after = 4
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "signal SEGV" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.result is not None)
    assert app.result is not None
    assert not app.result.pair_loaded


async def test_an_error_of_an_answer_is_told_with_what_to_do(engine: ScriptedEngine, link: EngineLink) -> None:
    engine.answers = (LocalspecError("The [b]question[/b] is too long", "By far.", "Ask less."), TEXT)
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Ask less." in screen_text(app))
        assert "The [b]question[/b] is too long" in screen_text(app)
        await pilot.press("r")
        await finished(pilot, engine, 3)
    assert engine.loads == [PAIR]  # it lives, so nothing is loaded again


async def test_a_chat_that_asks_for_no_guesses_is_compared_with_the_usual_ones(
    engine: ScriptedEngine, link: EngineLink
) -> None:
    request = AnswerRequest((Message(Role.USER, QUESTION),))
    app = Host(link, request=replace(request, speculation=replace(request.speculation, draft_length=0)))
    async with app.run_test(size=(80, 24)) as pilot:
        await finished(pilot, engine, 2)
    assert [request.speculation.draft_length for request in engine.requests] == [3, 3]


async def test_when_idle_no_timer_runs(engine: ScriptedEngine, link: EngineLink) -> None:
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        await finished(pilot, engine, 2)
        await pilot.pause(0.1)
        assert not [timer for timer in app.compare._timers if timer._active.is_set() and timer.name != "auto-refresh"]
