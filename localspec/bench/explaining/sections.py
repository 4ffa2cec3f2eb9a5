"""The whole explanation, page by page."""

from __future__ import annotations

from localspec.bench.explaining.cost_words import draft_cost, pass_cost, token_cost
from localspec.bench.explaining.facts import Facts
from localspec.bench.explaining.guess_words import acceptance, batch_growth, best_length
from localspec.bench.explaining.replay_words import replay
from localspec.bench.explaining.words import Section, paragraph, share, speed
from localspec.bench.plots import Glyphs

_STEADY = 1.3
"""A pass in an answer may differ so much from one alone before the figures are called rough."""


def sections(facts: Facts, glyphs: Glyphs) -> tuple[Section, ...]:
    """Every page there is something to say on."""
    guessing = (acceptance(facts), best_length(facts, glyphs), replay(facts)) if facts.draft_step is not None else ()
    pages = (
        token_cost(facts, glyphs),
        pass_cost(facts, glyphs),
        draft_cost(facts),
        *guessing,
        batch_growth(facts),
        in_short(facts),
    )
    return tuple(page for page in pages if page is not None)


def in_short(facts: Facts) -> Section:
    """The figures that matter, in a few sentences, and what could not be measured."""
    off = facts.arm(0)
    off_speed = off.statistics.tokens_per_second if off else None
    lines: list[str] = []
    if off_speed:
        of_bound = f", {share(off_speed / facts.bound)} of what memory allows" if facts.bound else ""
        lines += paragraph(f"Without speculation: {speed(off_speed)}{of_bound}.")
        drafting = [arm for arm in facts.arms if arm.drafted and arm.statistics.tokens_per_second]
        for arm in drafting:
            reached = arm.statistics.tokens_per_second or 0.0
            lines += paragraph(
                f"With drafts of {arm.drafted}: {speed(reached)}, {reached / off_speed:.2f} times as fast."
            )
        if drafting:
            lines += paragraph(
                "These are three short prompts on a machine that may have had other work. `localspec bench` tells with "
                "intervals whether a difference is real, `localspec verify` that the text is the target's own."
            )
        slower = facts.pass_seconds[0] * off_speed
        if not 1 / _STEADY < slower < _STEADY:
            lines += paragraph(
                f"A pass took {1 / slower:.1f} times as long in an answer as when passes were timed alone. The machine "
                "was busy with other things, or changed its speed: take these figures as rough, and try again."
            )
    for note in facts.notes:
        lines += paragraph(f"Not measured: {note}")
    return Section("In short", tuple(lines))
