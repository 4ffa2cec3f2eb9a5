"""What stands in the side panel, row by row."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

from localspec.decoding.rules import NOT_THE_TARGETS
from localspec.pairs.sizes import gigabytes
from localspec.tui.explanations import EXPLANATIONS, Figure, MemoryUse, numbers_behind
from localspec.tui.figures import Figures, Progress
from localspec.tui.glyphs import Glyphs, large_number
from localspec.tui.speeds import STRETCH_SECONDS
from localspec.tui.widgets import figure_texts as texts
from localspec.tui.widgets.guess_texts import by_source, legend
from localspec.tui.widgets.rows import Row, Spans, apart, cells, drop_to, first_that_fits

_INTRODUCTION = """\
While an answer comes, you see here how fast it is, against this machine without speculation; how many of the draft's \
guesses the target kept; and how full the context is.

Every figure says what it means: come here with Tab and go through them, or point at one."""

# The higher, the sooner a row is left out of a low panel.
_WHY, _EXTRA, _LEGEND, _MORE, _LINE, _DETAIL, _BAR = 7, 6, 5, 4, 3, 2, 1
_LOW_PANEL = 20
_FIRST_POSITIONS, _MOST_POSITIONS = 4, 8
_STRIP_RANKS = (0, _DETAIL, _MORE, _EXTRA)

_OF_CHOSEN: Spans = (("the chosen answer", "strong"),)
_CHOSEN = ((_OF_CHOSEN, (("Esc: the last", "muted"),)), (_OF_CHOSEN, ()), ((("chosen", "strong"),), ()))


@dataclass(frozen=True, slots=True)
class ReadoutState:
    """All that the panel depends on.

    Attributes:
        figures: of the answer.
        memory: main memory in use, when it was looked at.
        next_speculating: whether the next answer will be written with guesses.
        of_chosen: whether the person chose that answer, so that it need not be the last one.
    """

    figures: Figures = field(default_factory=Figures)
    memory: MemoryUse | None = None
    next_speculating: bool = True
    of_chosen: bool = False


def readout_rows(shown: ReadoutState, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The panel at this size, without an explanation."""
    writer = _Writer(shown, width, glyphs)
    if shown.figures.progress in (Progress.NONE, Progress.WAITING):
        rows = list(writer.introduction())
    else:
        rows = list(writer.answer(large=height >= _LOW_PANEL and glyphs.digits))
        # Half of either would be worse than none.
        if len(rows) > height:
            rows = [row for row in rows if row.rank != _WHY]
        if sum(row.rank < _EXTRA for row in rows) > height:
            rows = [row for row in rows if row.rank != _LEGEND]
    return drop_to(rows, height)


def with_explanation(rows: list[Row], chosen: Figure, shown: Figures, width: int, height: int) -> list[Row]:
    """The rows with one figure marked and explained: below, or above when that would cover it."""
    marked = [row.styled(chosen, "chosen") for row in rows]
    words = f"{EXPLANATIONS[chosen]} {numbers_behind(chosen, shown)}".strip()
    box = [
        Row(((f" {chosen} ".center(width, " "), "title"),)),
        *(Row(((line.ljust(width), "text"),)) for line in textwrap.wrap(words, width)),
    ]
    places = [y for y, row in enumerate(rows) if chosen in row.figures]
    marked += [Row()] * (height - len(marked))
    if places and places[-1] >= height - len(box):
        return [*box, *marked[len(box) :]]
    return [*marked[: max(height - len(box), 0)], *box][:height]


class _Writer:
    """Writes the rows of one state of things."""

    def __init__(self, shown: ReadoutState, width: int, glyphs: Glyphs) -> None:
        self._shown = shown
        self._figures = shown.figures
        self._width = width
        self._glyphs = glyphs

    @property
    def _writing(self) -> bool:
        return self._figures.progress is Progress.WRITING

    def introduction(self) -> Iterator[Row]:
        """Before the first answer."""
        yield Row((("no answer yet", "strong"),))
        for paragraph in _INTRODUCTION.split("\n\n"):
            yield Row()
            for line in textwrap.wrap(paragraph, self._width):
                yield Row(((line, "muted"),))
        yield Row()
        if self._figures.off is not None:
            yield self._row(Figure.OFF, ((f"off here {texts.speed(self._figures.off)} tok/s", "plain"),))
        yield from self._memory()
        yield from self._next_answer(speculating=True)

    def answer(self, *, large: bool) -> Iterator[Row]:
        """While an answer comes, and after it."""
        if self._shown.of_chosen:
            yield Row(first_that_fits(_CHOSEN, self._width))
        yield from self._speed_in_large() if large else self._speed()
        yield from self._history()
        yield self._line()
        if self._figures.speculating:
            yield from self._acceptance()
            yield from self._lengths()
            yield self._line()
            yield from self._rounds()
            yield self._line()
        yield from self._rest()

    def _speed(self) -> Iterator[Row]:
        figures = self._figures
        unit = (" tok/s now" if self._writing else " tok/s", "muted")
        ratio = figures.speed_up
        up: Spans = () if ratio is None else (texts.speed_up(ratio),)
        yield self._two(Figure.SPEED, ((self._speed_text(), "strong"), unit), Figure.SPEED_UP, up or self._why_none())
        yield self._average()

    def _speed_in_large(self) -> Iterator[Row]:
        ratio = self._figures.speed_up
        style = "large" if self._writing else "strong"
        up = ("", "", "") if ratio is None else large_number(f"{texts.ratio(ratio)}x")
        for left, right in zip(large_number(self._speed_text()), up, strict=True):
            yield self._two(Figure.SPEED, ((left, style),), Figure.SPEED_UP, ((right, texts.speed_up_style(ratio)),))
        words: Spans = self._why_none() if ratio is None else ((texts.beside_off(ratio), "muted"),)
        yield self._two(Figure.SPEED, (("tok/s now" if self._writing else "tok/s", "muted"),), Figure.SPEED_UP, words)
        yield self._average()

    def _speed_text(self) -> str:
        speed = self._figures.shown_speed
        return "-" if speed is None else texts.speed(speed)

    def _why_none(self) -> Spans:
        """Why there is no speed-up."""
        return (("off not measured", "muted"),) if self._figures.speculating else (("speculation off", "strong"),)

    def _average(self) -> Row:
        """The speed over the answer, and the one without speculation."""
        statistics, average, off = self._figures.statistics, self._figures.tokens_per_second, self._figures.off
        seconds = f"in {statistics.seconds:.1f} s"
        long, short = f"{statistics.emitted:,} tokens {seconds}", f"{statistics.emitted:,} {seconds}"
        if self._writing and average is not None:
            long, short = f"{texts.speed(average)} over the answer", f"{texts.speed(average)} in all"
        off_here = () if off is None else (("off here ", "muted"), (texts.speed(off), "plain"))
        off_short = off_here and (("off ", "muted"), off_here[1])
        ways = ((long, off_here), (long, off_short), (short, off_here), (short, off_short))
        spans = first_that_fits(((((left, "muted"),), right) for left, right in ways), self._width)
        middle = self._width - cells(off_short) - 1
        return Row(spans, (Figure.SPEED, Figure.OFF) if off_here else (Figure.SPEED,), middle, _DETAIL)

    def _history(self) -> Iterator[Row]:
        last = self._figures.history[-(self._width - 6) :]
        label = f" {len(last) * STRETCH_SECONDS:.0f} s" if len(last) * STRETCH_SECONDS >= 1 else ""
        yield self._row(Figure.HISTORY, ((self._glyphs.curve(last), "bar"), (label, "muted")))

    def _acceptance(self) -> Iterator[Row]:
        statistics = self._figures.statistics
        if statistics.acceptance is None:
            yield self._row(Figure.ACCEPTANCE, (("nothing guessed so far", "muted"),))
            return
        share: Spans = (("acceptance ", "muted"), (texts.percent(statistics.acceptance), "strong"))
        counts = ((f"{statistics.accepted:,} of {statistics.drafted:,}", "muted"),)
        short = ((f"{statistics.accepted}/{statistics.drafted}", "muted"),)
        yield self._row_of(Figure.ACCEPTANCE, (share, counts), (share, short), (share, ()))
        positions = self._figures.positions
        for number, (kept, drafted) in enumerate(positions[:_MOST_POSITIONS], 1):
            yield self._position(number, f"{number:>2} ", kept, drafted)
        if beyond := positions[_MOST_POSITIONS:]:
            kept, drafted = (sum(counts) for counts in zip(*beyond, strict=True))
            yield self._position(_MOST_POSITIONS + 1, f">{_MOST_POSITIONS} ", kept, drafted)

    def _position(self, number: int, name: str, kept: int, drafted: int) -> Row:
        end = f" {texts.percent(kept / drafted):>5}"
        counts = f" {f'{kept:,}/{drafted:,}':>9}"
        room = self._width - len(name) - len(end) - len(counts)
        spans: Spans = ((name, "muted"), (self._glyphs.bar(kept / drafted, room), "track"), (end, "plain"))
        return self._row(Figure.POSITIONS, (*spans, (counts, "muted")), rank=0 if number <= _FIRST_POSITIONS else _MORE)

    def _lengths(self) -> Iterator[Row]:
        figures, statistics = self._figures, self._figures.statistics
        if statistics.tau is not None:
            tau: Spans = (("tau ", "muted"), (f"{statistics.tau:.2f}", "strong"))
            counts = f"{statistics.emitted:,} in {statistics.rounds:,} passes"
            yield self._row_of(Figure.TAU, (tau, ((counts, "muted"),)), (tau, ()))
        if figures.drafted_last is not None and figures.drafted_of_late is not None:
            draft: Spans = (("draft ", "muted"), (f"{figures.drafted_last}", "strong"))
            words = (" now" if self._writing else "") + (", auto" if figures.automatic else "")
            now: Spans = (*draft, (words, "muted")) if words else draft
            right = ((f"{figures.drafted_of_late:.1f} of late", "muted"),)
            yield self._row_of(Figure.DRAFT, (now, right), (draft, right), (draft, ()))
        yield from self._sources()
        yield from self._prediction()
        if figures.progress is Progress.OVER:
            for line in textwrap.wrap(figures.why, self._width):
                yield Row(((line, "muted"),), (Figure.DRAFT,), rank=_WHY)

    def _sources(self) -> Iterator[Row]:
        """What came of the guesses of each source, where it need not be the draft model."""
        found = by_source(self._figures)
        if found:
            yield self._row(Figure.SOURCES, *found, rank=_DETAIL)

    def _prediction(self) -> Iterator[Row]:
        """Whether guesses are kept as often as was expected; a row from the beginning, so that nothing moves."""
        predicted, kept = self._figures.statistics.predicted_acceptance, self._figures.statistics.judged_acceptance
        if not self._figures.automatic:
            return
        if predicted is None or kept is None:
            yield self._row(Figure.PREDICTED, (("nothing judged so far", "muted"),), rank=_DETAIL)
            return
        expected: Spans = (("expected ", "muted"), (texts.percent(predicted), "plain"))
        came: Spans = (("kept ", "muted"), (texts.percent(kept), "plain"))
        yield self._row(Figure.PREDICTED, expected, came, rank=_DETAIL)

    def _rounds(self) -> Iterator[Row]:
        groups = [texts.group(mark, self._glyphs) for mark in self._figures.marks]
        strip = texts.wrapped(groups, self._width)[-len(_STRIP_RANKS) :]
        # Always as many rows, so that nothing below them moves as they fill.
        strip += [()] * (len(_STRIP_RANKS) - len(strip))
        for spans, rank in zip(strip, _STRIP_RANKS, strict=True):
            yield Row(spans, (Figure.ROUNDS,), rank=rank)
        for spans in legend(self._figures.statistics, self._glyphs, self._width):
            yield Row(spans, (Figure.ROUNDS,), rank=_LEGEND)

    def _rest(self) -> Iterator[Row]:
        figures = self._figures
        if figures.first_token_seconds is not None:
            seconds = ((f"{figures.first_token_seconds:.2f} s", "plain"),)
            yield self._row(Figure.FIRST_TOKEN, (("first token", "muted"),), seconds)
        yield from self._context()
        yield from self._memory()
        yield from self._rule()
        yield from self._next_answer(speculating=figures.speculating)

    def _context(self) -> Iterator[Row]:
        figures, share = self._figures, self._figures.context_share
        if share is None:
            return
        full = share > texts.NEARLY_FULL
        name: Spans = (("context ", "muted"), (texts.percent(share), "bad" if full else "plain"))
        counts = ((f"{figures.context_used:,} of {figures.context_size:,}", "plain"),)
        short = ((f"{texts.thousands(figures.context_used)}/{texts.thousands(figures.context_size)}", "plain"),)
        yield self._row_of(Figure.CONTEXT, (name, counts), (name, short), (name, ()))
        yield Row(((self._glyphs.bar(share, self._width), "track"),), (Figure.CONTEXT,), rank=_BAR)
        if full:
            left = figures.context_size - figures.context_used
            yield self._row(Figure.CONTEXT, ((f"nearly full: {left:,} tokens left", "bad"),))

    def _memory(self) -> Iterator[Row]:
        memory = self._shown.memory
        if memory is not None:
            sizes = ((f"{gigabytes(memory.used)} of {gigabytes(memory.machine)}", "plain"),)
            yield self._row(Figure.MEMORY, (("memory", "muted"),), sizes)

    def _rule(self) -> Iterator[Row]:
        figures = self._figures
        if not figures.rule or not figures.speculating:
            return
        name: Spans = (("rule ", "muted"), (figures.rule, "plain"))
        if figures.lossless:
            yield self._row(Figure.RULE, name, (("lossless", "plain"),))
        else:
            yield self._row(Figure.RULE, name, (("NOT lossless", "bad"),))
            yield self._row(Figure.RULE, ((NOT_THE_TARGETS, "bad"),))

    def _next_answer(self, *, speculating: bool) -> Iterator[Row]:
        if self._shown.next_speculating is not speculating:
            word = "on" if self._shown.next_speculating else "off"
            yield Row(((f"next: speculation {word}", "strong"),))

    def _line(self) -> Row:
        return Row(((self._glyphs.line * self._width, "line"),), rank=_LINE)

    def _row(self, figure: Figure, left: Spans, right: Spans = (), rank: int = 0) -> Row:
        return Row(first_that_fits(((left, right), (left, ())), self._width), (figure,), rank=rank)

    def _row_of(self, figure: Figure, *alternatives: tuple[Spans, Spans]) -> Row:
        return Row(first_that_fits(alternatives, self._width), (figure,))

    def _two(self, first: Figure, left: Spans, second: Figure, right: Spans) -> Row:
        spans = apart(left, right, self._width)
        return Row(left, (first,)) if spans is None else Row(spans, (first, second), self._width - cells(right))
