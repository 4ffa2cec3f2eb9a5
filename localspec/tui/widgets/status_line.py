"""The figures on one line, where there is no room for the panel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from localspec.decoding.rules import NOT_THE_TARGETS
from localspec.tui.figures import Figures, Progress
from localspec.tui.glyphs import Glyphs, glyphs
from localspec.tui.widgets import figure_texts as texts
from localspec.tui.widgets.rows import Row, Rows, Spans, cells

_CURVE_CELLS = 8
_GAP = 2


class StatusLine(Rows):
    """One row: speed, speed-up, acceptance, tau, draft, context, the last seconds, the last rounds."""

    PREFIX = "status-line"

    DEFAULT_CSS = """
    StatusLine {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $foreground;

        & > .status-line--muted { color: $text-muted; }
        & > .status-line--strong { text-style: bold; }
        & > .status-line--bar, & > .status-line--kept { color: $primary; }
        & > .status-line--good { color: $text-success; text-style: bold; }
        & > .status-line--bad { color: $text-warning; text-style: bold; }
        & > .status-line--corrected { color: $text-warning; text-style: bold; }
        & > .status-line--bonus { color: $text-success; text-style: bold; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"status-line--{style}"
        for style in ("plain", "muted", "strong", "bar", "good", "bad", "kept", "corrected", "bonus")
    }

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - as in Widget
        super().__init__(id=id, classes=classes)
        self._figures = Figures()
        self._next_speculating = True
        self._of_chosen = False

    def update(self, figures: Figures, *, next_speculating: bool | None = None, of_chosen: bool = False) -> None:
        """Show these figures; those of the answer before stay while one is waited for.

        Args:
            figures: of the answer.
            next_speculating: whether the next answer will be written with guesses; None leaves what is shown.
            of_chosen: whether the person chose the answer, so that it need not be the last one.
        """
        self._of_chosen = of_chosen
        if not (figures.progress is Progress.WAITING and self._figures.progress is Progress.OVER):
            self._figures = figures
        if next_speculating is not None:
            self._next_speculating = next_speculating
        self._write()

    def on_resize(self) -> None:
        """Write as much as fits now."""
        self._write()

    def _write(self) -> None:
        named: Spans = (("chosen: ", "strong"),) if self._of_chosen else ()
        room = self.size.width - cells(named)
        spans = status_spans(self._figures, room, glyphs(), next_speculating=self._next_speculating)
        self.show_rows([Row((*named, *spans))])


def status_spans(figures: Figures, width: int, signs: Glyphs, *, next_speculating: bool) -> Spans:
    """As many whole parts as fit, the most important ones first; the rounds take what is left."""
    row: Spans = ()
    for part in _parts(figures, signs, next_speculating=next_speculating):
        longer = (*row, (" " * _GAP, "plain"), *part) if row else part
        if cells(longer) > width:
            return row
        row = longer
    return (*row, *_rounds(figures, width - cells(row), signs))


def _parts(figures: Figures, signs: Glyphs, *, next_speculating: bool) -> Iterator[Spans]:
    """The most important ones first."""
    if figures.progress in (Progress.NONE, Progress.WAITING) or figures.shown_speed is None:
        yield (("no figures yet", "muted"),)
        yield ((f"speculation {'on' if next_speculating else 'off'}", "muted" if next_speculating else "strong"),)
        return
    yield ((f"{texts.speed(figures.shown_speed):>4}", "strong"), (" tok/s", "muted"))
    if figures.speed_up is not None:
        yield (texts.speed_up(figures.speed_up),)
    yield from _warnings(figures, next_speculating=next_speculating)
    if figures.speculating:
        yield from _guessing(figures)
    if figures.context_size:
        counts = f"{texts.thousands(figures.context_used)}/{texts.thousands(figures.context_size)}"
        yield (("ctx ", "muted"), (counts, "plain"))
    yield ((signs.curve(figures.history[-_CURVE_CELLS:]).ljust(_CURVE_CELLS), "bar"),)


def _warnings(figures: Figures, *, next_speculating: bool) -> Iterator[Spans]:
    if not figures.lossless:
        yield ((NOT_THE_TARGETS, "bad"),)
    if (figures.context_share or 0) > texts.NEARLY_FULL:
        yield (("context nearly full", "bad"),)
    if next_speculating is not figures.speculating:
        yield ((f"next: speculation {'on' if next_speculating else 'off'}", "strong"),)
    elif not figures.speculating:
        yield (("speculation off", "strong"),)


def _guessing(figures: Figures) -> Iterator[Spans]:
    statistics = figures.statistics
    if statistics.acceptance is not None:
        yield (("acc ", "muted"), (f"{texts.percent(statistics.acceptance):>4}", "plain"))
    if statistics.tau is not None:
        yield (("tau ", "muted"), (f"{statistics.tau:.1f}", "plain"))
    if figures.drafted_last is not None:
        yield (("draft ", "muted"), (f"{figures.drafted_last}", "plain"))


def _rounds(figures: Figures, room: int, signs: Glyphs) -> Spans:
    """The newest rounds that fit behind the rest."""
    if not figures.speculating:
        return ()
    row: Spans = ()
    for mark in reversed(figures.marks):
        group = texts.group(mark, signs)
        longer = (*group, (" ", "plain"), *row) if row else group
        if cells(longer) > room - _GAP:
            break
        row = longer
    return ((" " * _GAP, "plain"), *row) if row else ()
