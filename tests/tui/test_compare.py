"""The compare screen over a scripted engine: both sides answer in turn, and the person sees what that says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Button, Input, Select

from localspec.chat.events import AnswerRequest, Message, Role
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.errors import LocalspecError, ModelFileError
from localspec.tui.comparison import NamedPair
from localspec.tui.engine_link import EngineLink
from localspec.tui.screens.compare import CompareResult, CompareScreen
from localspec.tui.screens.compare_arms import ArmsForm
from localspec.tui.widgets.compared_column import ComparedColumn
from tests.tui.screen_text import screen_text
from tests.tui.scripted_engine import PAIR, ScriptedEngine

BIG = NamedPair("big", PAIR)
TINY = NamedPair("tiny [b]x[/b]", LoadPair(ModelSettings(Path("tiny.gguf")), PAIR.draft))
TEXT = "An answer of a few words, " * 8 + "to its end."
OTHER = TEXT.replace("to its end", "but no further")
QUESTION = "How does [bold]it[/bold] work?"
PATIENCE = 20


class Host(App[None]):
    """Shows a comparison and remembers what it was left with."""

    def __init__(self, link: EngineLink, **options: Any) -> None:
        super().__init__()
        self.result: CompareResult | None = None
        request = AnswerRequest((Message(Role.USER, QUESTION),), SamplingSettings(seed=7))
        self.compare = CompareScreen(link, options.pop("request", request), BIG, **options)

    def on_mount(self) -> None:
        self.push_screen(self.compare, self._take)

    def _take(self, result: CompareResult | None) -> None:
        self.result = result


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(answers=(TEXT,))


@pytest.fixture
def link(engine: ScriptedEngine) -> Iterator[EngineLink]:
    link = EngineLink(engine)
    loading = link.load(PAIR)
    deadline = time.monotonic() + PATIENCE
    while not loading.over and time.monotonic() < deadline:
        loading.take()
        time.sleep(0.001)
    yield link
    link.close()


async def until(pilot: Pilot[Any], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, screen_text(pilot.app)
        await pilot.pause(0.01)
    await pilot.pause()


async def finished(pilot: Pilot[Any], engine: ScriptedEngine, answers: int) -> None:
    """Both sides have answered so often, and the screen shows it."""
    await until(pilot, lambda: len(engine.requests) >= answers and "answer in turn" not in screen_text(pilot.app))


def speculating(engine: ScriptedEngine) -> list[bool]:
    return [request.speculation.enabled for request in engine.requests]


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


async def test_a_chat_that_asks_for_no_guesses_is_compared_with_the_usual_ones(
    engine: ScriptedEngine, link: EngineLink
) -> None:
    request = AnswerRequest((Message(Role.USER, QUESTION),))
    app = Host(link, request=replace(request, speculation=replace(request.speculation, draft_length=0)))
    async with app.run_test(size=(80, 24)) as pilot:
        await finished(pilot, engine, 2)
    assert [request.speculation.draft_length for request in engine.requests] == [3, 3]


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


async def test_when_idle_no_timer_runs(engine: ScriptedEngine, link: EngineLink) -> None:
    app = Host(link)
    async with app.run_test(size=(80, 24)) as pilot:
        await finished(pilot, engine, 2)
        await pilot.pause(0.1)
        assert not [timer for timer in app.compare._timers if timer._active.is_set() and timer.name != "auto-refresh"]


async def test_on_a_tiny_terminal_the_second_side_is_a_tab_away(engine: ScriptedEngine, link: EngineLink) -> None:
    app = Host(link)
    async with app.run_test(size=(40, 16)) as pilot:
        await finished(pilot, engine, 2)
        await pilot.press("tab")
        await until(pilot, lambda: "speculation on" in screen_text(app))
