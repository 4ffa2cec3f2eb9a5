"""The side panel: what it shows at which size, and what each figure says when asked."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.pilot import Pilot
from textual.widgets import Static

from localspec.decoding.outlook import Outlook
from localspec.tui.explanations import EXPLANATIONS, Figure, MemoryUse, numbers_behind
from localspec.tui.figures import Figures, Progress
from localspec.tui.glyphs import ASCII, Glyphs, glyphs
from localspec.tui.widgets.readout import Readout
from localspec.tui.widgets.readout_rows import ReadoutState, readout_rows
from localspec.tui.widgets.rows import cells
from tests.tui.figures_made import a_round, figures_of, guessed, rounds
from tests.tui.screen_text import screen_text

MEMORY = MemoryUse(5_600_000_000, 8_000_000_000)
WRITING = figures_of(list(rounds(60)), writing=True)
OVER = figures_of(list(rounds(60)))
AUTO = {"drafter": "hybrid", "draft_length": "auto"}
GUESSED = figures_of(list(guessed(60)), writing=True, **AUTO)
SILENT = figures_of(
    [a_round(0, 0, 0.05)] * 30 + list(guessed(3)), off=20.6, outlook=Outlook(0.41, 0.62, 0, 1.0), **AUTO
)
SLOW = figures_of(list(rounds(20, base=0.3)), acceptance="typical", lossless=False)
OFF = replace(figures_of([a_round(0, 0, 0.05, used=7600 + i) for i in range(40)]), speculating=False)


class Recording(Readout):
    """Remembers which rows it had to draw again."""

    redrawn: list[int]

    def refresh(self, *regions, **how):
        self.redrawn = [region.y for region in regions]
        return super().refresh(*regions, **how)


class Host(App[None]):
    CSS = "Static { width: 20; }"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.readout = Recording()
        self.readout.styles.width = width
        self.heard = 0

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static("the conversation")
            yield self.readout

    def on_readout_left(self) -> None:
        self.heard += 1


Running = tuple[Host, Pilot[None]]
Run = Callable[..., object]


@pytest.fixture(autouse=True)
def signs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever terminal the tests run in."""
    monkeypatch.setenv("LOCALSPEC_ASCII", "0")
    glyphs.cache_clear()
    yield
    glyphs.cache_clear()


@asynccontextmanager
async def showing(
    figures: Figures, *, width: int = 36, height: int = 36, focus: bool = False, **also: object
) -> AsyncIterator[Running]:
    app = Host(width)
    async with app.run_test(size=(width + 20, height)) as pilot:
        await pilot.pause()
        if not focus:
            app.set_focus(None)
        app.readout.update(figures, memory=MEMORY, **also)
        await pilot.pause()
        yield app, pilot


def panel(app: Host) -> str:
    """Its text alone."""
    return "\n".join(line[20:].strip(" │┃") for line in screen_text(app).splitlines())


@pytest.mark.parametrize("width", [30, 36, 44])
async def test_the_panel_at_three_widths(width: int, snapshot: SnapshotAssertion) -> None:
    async with showing(WRITING, width=width) as (app, _):
        assert screen_text(app) == snapshot


@pytest.mark.parametrize(
    ("figures", "also"),
    [
        (Figures(off=21.7), {}),
        (OVER, {"next_speculating": False}),
        (SLOW, {}),
        (OFF, {"next_speculating": False}),
        (GUESSED, {}),
        (SILENT, {}),
    ],
    ids=[
        "no answer",
        "the answer is over",
        "slower and not lossless",
        "speculation off and nearly full",
        "automatic drafts from model and text",
        "automatic drafts that seldom pay",
    ],
)
async def test_the_panel_in_each_state(figures: Figures, also: dict[str, object], snapshot: SnapshotAssertion) -> None:
    async with showing(figures, **also) as (app, _):
        assert screen_text(app) == snapshot


@pytest.mark.parametrize("height", [8, 14, 20, 24])
async def test_a_low_panel_keeps_what_matters_most(height: int, snapshot: SnapshotAssertion) -> None:
    async with showing(WRITING, height=height) as (app, _):
        assert screen_text(app) == snapshot


@pytest.mark.parametrize("glyph_set", [Glyphs(), ASCII])
@pytest.mark.parametrize(
    "figures", [Figures(), WRITING, OVER, SLOW, OFF, GUESSED, SILENT, figures_of([a_round(16, 16, 3.0)] * 40)]
)
def test_no_row_is_wider_than_the_panel_and_no_panel_higher_than_the_screen(
    figures: Figures, glyph_set: Glyphs
) -> None:
    for width in range(24, 60):
        for height in (5, 18, 30, 60):
            rows = readout_rows(ReadoutState(figures, MEMORY), width, height, glyph_set)
            assert len(rows) <= height
            assert all(cells(row.spans) <= width for row in rows)


async def test_ascii_terminals_get_ascii_alone(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    monkeypatch.setenv("LOCALSPEC_ASCII", "1")
    glyphs.cache_clear()
    async with showing(WRITING) as (app, _):
        assert panel(app).isascii()
        assert screen_text(app) == snapshot


async def test_while_an_answer_is_waited_for_the_last_ones_figures_stay() -> None:
    async with showing(OVER) as (app, pilot):
        before = screen_text(app)
        app.readout.update(Figures(progress=Progress.WAITING))
        await pilot.pause()
        assert screen_text(app) == before
        app.readout.update(figures_of([a_round(3, 1)], writing=True))
        await pilot.pause()
        assert "1 of 3" in panel(app)


async def test_only_rows_that_changed_are_drawn_again() -> None:
    async with showing(OVER) as (app, _):
        app.readout.redrawn = []
        app.readout.update(replace(OVER))
        assert app.readout.redrawn == []
        app.readout.update(replace(OVER, first_token_seconds=9.99))
        assert len(app.readout.redrawn) == 1


async def test_every_figure_explains_itself_to_who_goes_through_them() -> None:
    async with showing(GUESSED, focus=True) as (app, pilot):
        app.readout.focus()
        await pilot.press("home")
        seen = set()
        for _ in Figure:
            assert app.readout.explained
            seen.add(app.readout.explained)
            text = " ".join(panel(app).split())
            assert app.readout.explained in text
            assert EXPLANATIONS[app.readout.explained] in text
            await pilot.press("down")
        assert seen == set(Figure)
        await pilot.press("up")
        assert app.readout.explained is list(Figure)[-2]


def test_every_figure_has_one_sentence_or_three_in_words() -> None:
    assert set(EXPLANATIONS) == set(Figure)
    for explanation in EXPLANATIONS.values():
        assert re.fullmatch(r"[A-Z0-9].{20,230}\.", explanation)


def test_the_explanation_of_a_share_gives_what_was_divided_by_what() -> None:
    statistics = OVER.statistics
    for figure, numbers in (
        (Figure.ACCEPTANCE, f"{statistics.accepted} / {statistics.drafted}"),
        (Figure.TAU, f"{statistics.emitted} / {statistics.rounds}"),
        (Figure.SPEED, f"{statistics.emitted} tokens / {statistics.seconds:.1f} s"),
        (Figure.SPEED_UP, f"{statistics.tokens_per_second:.1f} / 21.7"),
    ):
        assert numbers in numbers_behind(figure, OVER)
        assert numbers_behind(figure, Figures()) == ""


async def test_what_is_explained_stays_visible_beside_its_explanation() -> None:
    async with showing(OVER, height=22, focus=True) as (app, pilot):
        app.readout.focus()
        await pilot.press("home")
        for _ in range(20):
            figure = app.readout.explained
            assert any(figure in row.figures for row in app.readout.rows)
            assert len(app.readout.rows) <= 22
            await pilot.press("down")


async def test_pointing_at_a_figure_explains_it_until_the_mouse_goes_away() -> None:
    async with showing(OVER) as (app, pilot):
        row = next(y for y, line in enumerate(panel(app).splitlines()) if line.startswith("tau"))
        await pilot.hover(Readout, offset=(5, row))
        assert EXPLANATIONS[Figure.TAU][:25] in panel(app)
        await pilot.hover(Static, offset=(1, 1))
        assert EXPLANATIONS[Figure.TAU][:25] not in panel(app)


async def test_the_two_figures_of_one_row_are_told_apart_by_where_the_mouse_is() -> None:
    async with showing(OVER) as (app, pilot):
        await pilot.hover(Readout, offset=(3, 0))
        assert app.readout.explained is Figure.SPEED
        await pilot.hover(Readout, offset=(33, 0))
        assert app.readout.explained is Figure.SPEED_UP


async def test_escape_leaves_and_nothing_is_explained_without_the_focus() -> None:
    async with showing(OVER, focus=True) as (app, pilot):
        app.readout.focus()
        await pilot.press("down", "escape")
        assert app.heard == 1
        app.set_focus(None)
        await pilot.pause()
        assert app.readout.explained is None
        assert EXPLANATIONS[Figure.SPEED_UP][:20] not in panel(app)


async def test_what_is_chosen_and_what_warns_is_seen_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with showing(SLOW, focus=True) as (app, pilot):
        app.readout.focus()
        await pilot.press("home")
        chosen = [segment for y in range(36) for segment in app.readout.render_line(y) if segment.style.reverse]
        assert chosen
        text = panel(app)
        assert "slower than off" in text
        assert "NOT lossless" in text


@pytest.mark.parametrize("glyph_set", [Glyphs(), ASCII])
def test_every_kind_of_token_has_a_sign_of_its_own(glyph_set: Glyphs) -> None:
    kinds = (glyph_set.kept, glyph_set.corrected, glyph_set.unused, glyph_set.bonus, glyph_set.plain)
    assert len(set(kinds)) == 5


async def test_the_theme_can_change_while_figures_are_shown() -> None:
    async with showing(OVER) as (app, pilot):
        before = [segment.style for segment in app.readout.render_line(0)]
        app.theme = "textual-light"
        await pilot.pause()
        assert [segment.style for segment in app.readout.render_line(0)] != before
