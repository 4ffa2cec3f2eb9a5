"""Who guessed and who wrote, as short texts of the panel."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.decoding.drafter_names import LOOKED_UP, MODEL_ALONE
from localspec.decoding.statistics import DecodingStatistics
from localspec.tui.figures import Figures
from localspec.tui.glyphs import Glyphs
from localspec.tui.widgets import figure_texts as texts
from localspec.tui.widgets.rows import Spans

_LEGEND_COLUMN = 15


def by_source(figures: Figures) -> tuple[Spans, Spans] | None:
    """What came of the guesses of each source; None where it can be no other than the draft model."""
    drafter = figures.drafter
    if drafter in {"", "none", *MODEL_ALONE}:
        return None
    counts = figures.statistics.by_source
    model = [(kept, drafted) for source, drafted, kept in counts if source not in LOOKED_UP]
    looked_up = [(kept, drafted) for source, drafted, kept in counts if source in LOOKED_UP]
    if drafter in LOOKED_UP:
        return _counted("text" if drafter == "ngram" else "passes", looked_up), ()
    return _counted("model", model), _counted("text", looked_up)


def legend(statistics: DecodingStatistics, glyphs: Glyphs, width: int) -> list[Spans]:
    """What the signs of the strip of rounds mean and, where there is room, how many of each there were."""
    origins = dict(statistics.origins)
    unused = statistics.drafted - statistics.accepted - origins.get("correction", 0)
    signs = (
        (glyphs.kept, "kept", "kept", origins.get("draft", 0)),
        (glyphs.bonus, "bonus", "bonus", origins.get("bonus", 0)),
        (glyphs.corrected, "corrected", "corrected", origins.get("correction", 0)),
        (glyphs.unused, "unused", "muted", unused),
        (glyphs.plain, "plain", "muted", origins.get("plain", 0)),
    )
    column = width // 2 - 1
    if column < _LEGEND_COLUMN:
        items: list[Spans] = [((glyph, style), (f" {word}", "muted")) for glyph, word, style, _ in signs]
    else:
        items = [
            (
                (glyph, style),
                (f" {word}", "muted"),
                (f"{texts.thousands(count):>{column - 2 - len(word)}}", "plain"),
            )
            for glyph, word, style, count in signs
        ]
    return texts.wrapped(items, width, gap="  ")


def _counted(name: str, counts: Sequence[tuple[int, int]]) -> Spans:
    """Guesses kept and made, summed up."""
    kept, drafted = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    return ((f"{name} ", "muted"), (f"{kept:,}/{drafted:,}" if drafted else "-", "plain"))
