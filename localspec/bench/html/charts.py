"""The plots of a benchmark, each with the table of its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localspec.bench.document import Document
from localspec.bench.html.svg import Canvas, Scale, number, ticks
from localspec.bench.intervals import Ratio
from localspec.bench.report import Figures, Report

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot.

    Attributes:
        title: what it shows.
        words: what to see in it, one or two sentences.
        svg: the picture; "" when there is nothing to draw, and `words` say why.
        head: of the table.
        rows: of the table.
        legend: names of the series with their numbers.
    """

    title: str
    words: str
    svg: str = ""
    head: Row = ()
    rows: tuple[Row, ...] = ()
    legend: tuple[tuple[str, int], ...] = ()


def speed_up_by_kind(report: Report) -> Chart:
    """Ratios with their intervals, one line for each kind and arm."""
    title = "Speed-up by kind of text"
    arms = [arm for arm in report.arms if report.baselines[arm]]
    shown = [
        (kind, arm, figures.speed_up)
        for kind in (*report.kinds, None)
        for arm in arms
        if (figures := report.figures.get((kind, arm))) and figures.speed_up
    ]
    if not shown:
        return Chart(title, "No arm has a baseline to be compared with.")
    ends = [end for _, _, ratio in shown for end in _ends(ratio)]
    values = ticks(min(0.8, *ends), max(1.2, *ends))
    canvas = Canvas(height=76 + 20 * len(shown) + 8 * (len(report.kinds) + 1))
    x = Scale(values[0], values[-1], 130, 690)
    canvas.x_axis(x, values, "times as fast as the baseline", 12)
    canvas.line(x.at(1), 8, x.at(1), canvas.height - 44, "reference")
    y, before = 4.0, object()
    for kind, arm, ratio in shown:
        y += 20 if kind == before else 28
        if kind != before:
            canvas.text(120, y + 4, kind or "all (mean)", "end")
        before = kind
        series = report.arms.index(arm)
        low, high = _ends(ratio)
        canvas.path([(x.at(low), y), (x.at(high), y)], series)
        canvas.mark(x.at(ratio.value), y, series, f"{kind or 'all'}, {arm}: {_told(ratio)}")
    words = (
        "Each mark is a ratio of medians over the baseline, its line the 95 % interval; where the line crosses 1, no "
        "difference was shown, and a mark without a line rests on too few prompts to say. The mean over kinds is "
        "geometric."
    )
    rows = tuple((kind or "all", arm, _told(ratio), _real(ratio)) for kind, arm, ratio in shown)
    head = ("kind", "arm", "speed-up (95 % interval)", "real")
    return Chart(title, words, canvas.render(title, words), head, rows, _legend(report, arms))


def acceptance_by_position(report: Report) -> Chart:
    """How often a guess is kept where it is examined, place by place."""
    title = "Acceptance by position in the draft"
    arms = [(arm, figures) for arm in report.arms if (figures := report.overall(arm)) and figures.conditional]
    if not arms:
        return Chart(title, "Nothing was drafted.")
    longest = max(len(figures.conditional) for _, figures in arms)
    canvas = Canvas()
    x, y = Scale(1, max(longest, 2), 80, 690), Scale(0, 1, 276, 28)
    canvas.y_axis(y, [0, 0.2, 0.4, 0.6, 0.8, 1], "kept, of those examined", 700)
    canvas.x_axis(x, range(1, longest + 1), "position in the draft", 28)
    rows = []
    for arm, figures in arms:
        series = report.arms.index(arm)
        points = [(i, share) for i, share in enumerate(figures.conditional, 1) if share is not None]
        canvas.path([(x.at(i), y.at(share)) for i, share in points], series)
        for i, share in points:
            canvas.mark(x.at(i), y.at(share), series, f"{arm}, position {i}: {share:.1%}")
        rows.append((arm, *(f"{share:.1%}" for _, share in points), *[""] * (longest - len(points))))
    words = (
        "A guess is examined when all before it in its draft were kept. The theory's single acceptance is a flat line."
    )
    head = ("arm", *(str(i) for i in range(1, longest + 1)))
    return Chart(
        title, words, canvas.render(title, words), head, tuple(rows), _legend(report, [arm for arm, _ in arms])
    )


def speed_over_time(document: Document, report: Report) -> Chart:
    """Tokens/s of every generation, in the order they were made."""
    title = "Tokens/s over the time of the benchmark"
    made = [record for record in document.records if record.tokens_per_second]
    if not made:
        return Chart(title, "Nothing was generated.")
    start = min(record.began for record in made)
    minutes = [(record, (record.began - start) / 60) for record in made]
    values = ticks(0, max(record.tokens_per_second or 0 for record in made))
    times = ticks(0, max(0.1, *(minute for _, minute in minutes)))
    canvas = Canvas()
    x, y = Scale(times[0], times[-1], 70, 690), Scale(values[0], values[-1], 276, 28)
    canvas.y_axis(y, values, "tokens/s", 700)
    canvas.x_axis(x, times, "minutes since the start", 28)
    for record, minute in minutes:
        told = f"{record.prompt_id}, {record.arm}: {record.tokens_per_second:.1f} tokens/s"
        canvas.mark(x.at(minute), y.at(record.tokens_per_second or 0), report.arms.index(record.arm), told)
    words = (
        "A drift of all arms together is the machine: heat, other programs. The arms alternate, so that all have it."
    )
    head = ("minute", "prompt", "arm", "tokens/s")
    rows = tuple(
        (f"{minute:.1f}", record.prompt_id, record.arm, f"{record.tokens_per_second:.2f}") for record, minute in minutes
    )
    return Chart(title, words, canvas.render(title, words), head, rows, _legend(report, report.arms))


def _legend(report: Report, arms: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple((arm, report.arms.index(arm)) for arm in arms)


def _ends(ratio: Ratio) -> tuple[float, float]:
    return (ratio.interval.low, ratio.interval.high) if ratio.interval else (ratio.value, ratio.value)


def _told(ratio: Ratio) -> str:
    interval = f" ({ratio.interval.low:.2f} to {ratio.interval.high:.2f})" if ratio.interval else " (few prompts)"
    return f"{ratio.value:.2f}x{interval}"


def _real(ratio: Ratio) -> str:
    if ratio.interval is None:
        return "cannot be said"
    return "yes" if ratio.real else "no"


def speeds_in_rows(figures: Sequence[Figures]) -> tuple[Row, ...]:
    """The table of all figures over all kinds."""
    rows = []
    for each in figures:
        of, speed, first = each.statistics, each.tokens_per_second, each.time_to_first_token
        rows.append(
            (
                each.arm,
                f"{speed.median:.2f} ({speed.low:.2f} to {speed.high:.2f})",
                f"{first.median:.2f}" if first else "",
                _told(each.speed_up) if each.speed_up else "",
                f"{of.acceptance:.1%}" if of.acceptance is not None else "",
                f"{of.tau:.2f}" if of.tau else "",
                f"{of.target_seconds / of.seconds:.0%}",
                f"{of.draft_seconds / of.seconds:.0%}",
                f"{of.other_seconds / of.seconds:.1%}",
                number(each.joules_per_token) if each.joules_per_token is not None else "not told",
            )
        )
    return tuple(rows)
