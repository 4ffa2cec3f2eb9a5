"""The two bars of one row: the figures on one line, and the title."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App, ComposeResult

from localspec.engine.messages import Loaded, LoadedModel
from localspec.errors import EngineDiedError
from localspec.tui.engine_link import EngineLink
from localspec.tui.engine_state import EngineState
from localspec.tui.figures import Figures, Progress
from localspec.tui.glyphs import ASCII, Glyphs, glyphs
from localspec.tui.widgets.rows import cells
from localspec.tui.widgets.status_line import StatusLine, status_spans
from localspec.tui.widgets.title_bar import Heading, TitleBar, heading_of, title_spans
from tests.tui.figures_made import a_round, figures_of, rounds
from tests.tui.screen_text import screen_text
from tests.tui.scripted_engine import ScriptedEngine

WRITING = figures_of(list(rounds(60)), writing=True)
SLOW = figures_of(list(rounds(20, base=0.3)), acceptance="typical", lossless=False, context_used=8000)
OFF = replace(figures_of([a_round(0, 0, 0.05)] * 40), speculating=False)
MODEL = LoadedModel("Big", "scripted", 1, 1, 1, 1, "CPU")
READY = Heading(
    "qwen2.5-coder-1.5b-instruct-q8_0",
    "qwen2.5-coder-0.5b-instruct-q4_0",
    "CPU, 2 threads",
    conversation="LRU cache in Python",
)
LOADING = replace(READY, state="loading the target: 42 %")
DOWN = replace(READY, state="engine down", trouble=True, conversation="日本語の会話のタイトルです")


@pytest.fixture(autouse=True)
def signs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever terminal the tests run in."""
    monkeypatch.setenv("LOCALSPEC_ASCII", "0")
    glyphs.cache_clear()
    yield
    glyphs.cache_clear()


class Bars(App[None]):
    def compose(self) -> ComposeResult:
        yield TitleBar()
        yield StatusLine()


@asynccontextmanager
async def showing(width: int, figures: Figures, heading: Heading) -> AsyncIterator[Bars]:
    app = Bars()
    async with app.run_test(size=(width, 3)) as pilot:
        app.query_one(TitleBar).update(heading)
        app.query_one(StatusLine).update(figures)
        await pilot.pause()
        yield app


def line(figures: Figures, width: int, *, next_speculating: bool = True, signs: Glyphs | None = None) -> str:
    spans = status_spans(figures, width, signs or Glyphs(), next_speculating=next_speculating)
    return "".join(text for text, _ in spans)


def title(heading: Heading, width: int) -> str:
    return "".join(text for text, _ in title_spans(heading, width, Glyphs()))


@pytest.mark.parametrize("width", [30, 40, 80, 120])
@pytest.mark.parametrize(
    ("figures", "heading"),
    [(WRITING, READY), (SLOW, DOWN), (OFF, LOADING), (Figures(), Heading(state="no pair loaded"))],
    ids=["writing", "trouble", "off", "nothing"],
)
async def test_the_bars_at_four_widths(
    width: int, figures: Figures, heading: Heading, snapshot: SnapshotAssertion
) -> None:
    async with showing(width, figures, heading) as app:
        assert screen_text(app) == snapshot


@pytest.mark.parametrize("signs_", [Glyphs(), ASCII])
@pytest.mark.parametrize("figures", [WRITING, SLOW, OFF, Figures()])
def test_the_line_leaves_out_whole_parts_from_the_right(figures: Figures, signs_: Glyphs) -> None:
    whole = line(figures, 1000, signs=signs_)
    parts = {part.strip() for part in whole.split("  ")}
    for width in range(30, 150):
        shown = line(figures, width, signs=signs_)
        assert len(shown) <= width
        assert shown
        for part in shown.split("  "):
            assert part.strip() in parts or whole.endswith(part.strip())


@pytest.mark.parametrize("width", [30, 40, 80])
def test_speed_and_speed_up_are_there_at_every_width(width: int) -> None:
    assert line(WRITING, width).startswith("34.4 tok/s  1.82x")
    assert "0.50x slower" in line(SLOW, width)


def test_the_newest_rounds_are_those_that_stay() -> None:
    figures = figures_of([a_round(4, 4)] * 30 + [a_round(3, 1)], writing=True)
    for width in range(90, 130):
        shown = line(figures, width)
        assert "●" not in shown or shown.endswith("●◇○")


def test_the_line_warns_in_words() -> None:
    shown = line(SLOW, 120)
    assert "NOT the target's distribution" in shown
    assert "context nearly full" in shown
    assert "speculation off" in line(OFF, 80, next_speculating=False)
    assert "next: speculation on" in line(OFF, 80)
    assert "next: speculation off" in line(WRITING, 80, next_speculating=False)


async def test_the_line_keeps_the_last_answers_figures_while_the_next_is_waited_for() -> None:
    over = figures_of(list(rounds(20)))
    async with showing(80, over, READY) as app:
        before = app.query_one(StatusLine).rows
        app.query_one(StatusLine).update(Figures(progress=Progress.WAITING))
        assert app.query_one(StatusLine).rows == before


@pytest.mark.parametrize("heading", [READY, LOADING, DOWN, Heading(state="no pair loaded"), Heading()])
def test_the_title_is_never_wider_than_the_screen_and_always_tells_the_state(heading: Heading) -> None:
    for width in range(26, 200):
        spans = title_spans(heading, width, Glyphs())
        assert cells(spans) <= width
        assert heading.state in "".join(text for text, _ in spans)


def test_names_that_do_not_fit_keep_their_quantisation() -> None:
    assert "qwen2.5-coder-1.5b-instruct-q8_0 ← …0.5b-instruct-q4_0" in title(READY, 100)
    narrow = title(READY, 60)
    assert "q8_0 ← …0.5b" in narrow
    assert "q4_0   CPU" in narrow


def test_a_draft_of_the_same_name_keeps_it() -> None:
    same = replace(READY, draft=READY.target)
    assert title(same, 200).count(READY.target) == 2


async def test_other_peoples_text_can_neither_steer_the_terminal_nor_style_the_bar() -> None:
    nasty = replace(READY, target="a\x1b[31mb\nc", conversation="[b]x[/b]\u202ey")
    async with showing(120, WRITING, nasty) as app:
        text = screen_text(app)
    assert "a␛[31mb c" in text
    assert "[b]x[/b]<U+202E>y" in text


def test_the_heading_tells_how_far_the_engine_is() -> None:
    link = EngineLink(ScriptedEngine())
    try:
        engine = EngineState(link)
        assert heading_of(engine, "A title") == Heading(state="no pair loaded", conversation="A title")
        engine.loaded = Loaded(replace(MODEL, device="CPU"), None, 4096, 2, 0.1)
        assert heading_of(engine, "").state == "CPU, 2 threads"
        engine.loaded = Loaded(replace(MODEL, device="CUDA0"), None, 4096, 2, 0.1)
        assert heading_of(engine, "").state == "CUDA0"
        engine.error = EngineDiedError("It died", "", "")
        assert heading_of(engine, "") == Heading(state="engine down", trouble=True)
    finally:
        link.close()
