"""The figures as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from comparing.figures import ArmKey, Figures, Ratios
from comparing.samples import Sample
from localspec.bench.intervals import Ratio
from localspec.bench.tables import columns

_BUSY = 0.02
"""Share of the machine from which on what ran beside a measurement is worth a warning."""


def figure_lines(figures: Figures) -> Iterator[str]:
    """All that is said about one temperature."""
    yield f"temperature {figures.temperature:g}"
    yield ""
    yield from _speed_table(figures)
    for own in figures.over_best:
        yield ""
        yield f"localspec {own[1]}: its tokens/s over those of"
        yield from _ratio_table(figures, own)
    if figures.agreement:
        yield ""
        yield f"the same text as {' '.join(figures.arms[0])}, token by token:"
        yield from _agreement_lines(figures)
    if figures.left_out:
        yield ""
        yield f"{figures.left_out} answers do not count: an arm lacks the same one, or it ended with its first token."


def condition_lines(samples: Sequence[Sample]) -> Iterator[str]:
    """Whether anything but the arm at work took time of the processor."""
    if not samples:
        return
    idle = max(sample.idle_share for sample in samples)
    elsewhere = [sample.elsewhere_share for sample in samples]
    yield (
        f"while an arm worked, the others took at most {idle:.1%} of the processor, and other programs "
        f"{sum(elsewhere) / len(elsewhere):.1%} on average, {max(elsewhere):.1%} at most"
    )
    if idle > _BUSY or sum(elsewhere) / len(elsewhere) > _BUSY:
        yield "THE MACHINE WAS NOT QUIET: these figures say little. Measure again while nothing else runs."


def _speed_table(figures: Figures) -> list[str]:
    sides = ("", "", *(side for side, _ in figures.arms))
    names = ("tokens/s, median", "prompts", *(name for _, name in figures.arms))
    rows = [
        (category, str(figures.prompts[category]), *(_number(figures.medians[category, arm]) for arm in figures.arms))
        for category in figures.categories
    ]
    means = ("geometric mean", "", *(_number(figures.means[arm]) for arm in figures.arms))
    kept = ("guesses kept", "", *(_share(figures.acceptance.get(arm)) for arm in figures.arms))
    return columns([sides, names, *rows, means, kept], right=range(1, len(names)))


def _ratio_table(figures: Figures, own: ArmKey) -> list[str]:
    others = [arm for arm in figures.arms if arm != own]
    best = figures.over_best[own]
    sides = ("", "server", "", *(side for side, _ in others))
    names = ("category", "best", "it is", *(name for _, name in others))
    rows = [
        (
            category,
            f"{best.by_category[category].value:.2f}",
            figures.best[category][1],
            *(f"{figures.ratios[own, arm].by_category[category].value:.2f}" for arm in others),
        )
        for category in figures.categories
    ]
    compared: list[Ratios] = [best, *(figures.ratios[own, arm] for arm in others)]
    means, lows, highs = (
        [cell(ratios.overall) for ratios in compared] for cell in (lambda ratio: f"{ratio.value:.2f}", _low, _high)
    )
    bottom = [("geometric mean", means[0], "", *means[1:])]
    if lows[0]:
        bottom += [("95 % from", lows[0], "", *lows[1:]), ("to", highs[0], "", *highs[1:])]
    table = columns([sides, names, *rows, *bottom], right=(1, *range(3, len(names))))
    return table if lows[0] else [*table, "(from too few prompts to say how sure that is)"]


def _agreement_lines(figures: Figures) -> list[str]:
    rows = [
        (
            f"  {side} {name}",
            f"{found.same} of {found.compared}",
            f"{found.shared:.0%} before the first difference, median",
        )
        for (side, name), found in figures.agreement.items()
    ]
    return columns(rows, right=(1,))


def _low(ratio: Ratio) -> str:
    return f"{ratio.interval.low:.2f}" if ratio.interval else ""


def _high(ratio: Ratio) -> str:
    return f"{ratio.interval.high:.2f}" if ratio.interval else ""


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"
