"""A benchmark in words: a table of 80 columns, and what to make of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from localspec.bench.comparison import Comparison
from localspec.bench.document import Document
from localspec.bench.intervals import Ratio
from localspec.bench.report import Figures, Report, Spread
from localspec.decoding.drafter_names import CHOSEN
from localspec.decoding.rules import LOSSY_RULES, lossy_words
from localspec.decoding.statistics import DecodingStatistics

WIDTH = 80

_MEANINGS = (
    "gain: tokens/s over those of the baseline, as a ratio of medians; over all kinds",
    "their geometric mean. 95 %: its interval; few: from too few prompts to say.",
    "kept: guesses accepted / made. tau: tokens a target pass.",
)


def report_lines(document: Document, report: Report) -> list[str]:
    """The whole report. Names of models, kinds and arms in it are other people's text."""
    if not report.figures:
        return ["No generation came to its end: there is nothing to report."]
    return [
        *_setting_lines(document),
        "",
        *_main_table(report),
        "",
        *_overall_table(report),
        *_MEANINGS,
        *_draft_lines(report),
        "",
        *_verdicts(report),
        *_notes(document),
    ]


def comparison_lines(comparison: Comparison, names: tuple[str, str]) -> list[str]:
    """What `compare` found, the second over the first."""
    first, second = names
    rows = [
        ("kind", "arm", "tokens/s, second/first", "95 % interval", ""),
        *(
            (row.kind or "all", row.arm, f"{row.ratio.value:.3f}", _interval(row.ratio), _real(row.ratio))
            for row in comparison.rows
        ),
    ]
    lines = [f"first: {first}", f"second: {second}", "", *columns(rows, right=(2, 3)), ""]
    for arm, (same, both) in comparison.same_text.items():
        lines.append(f"{arm}: {same} of {both} answers are the same token by token")
    lines += [f"left out: {arm}: {reason}" for arm, reason in comparison.left_out.items()]
    if comparison.differences:
        lines += ["", "What differs around them:", *(f"  {line}" for line in comparison.differences)]
    else:
        lines += ["", "Machine, builds and settings are the same."]
    return lines


def seconds_in_words(seconds: float) -> str:
    """A time to wait, roughly."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _setting_lines(document: Document) -> Iterator[str]:
    plan = document.plan
    for pair, models in document.models.items():
        draft = f" + {models['draft']['file']}" if models["draft"] else ""
        yield f"{pair}: {models['target']['file']}{draft}"
    prompts, kinds = len(plan["tasks"]), len(document.kinds)
    runs = f"{plan['runs']} run{'s' * (plan['runs'] != 1)}"
    threads = next(iter(document.models.values()))["threads"]
    yield f"{prompts} prompts of {kinds} kinds, {runs}, at most {plan['max_tokens']} tokens, {threads} threads"


def _main_table(report: Report) -> list[str]:
    rows = [("kind", "arm", "tok/s", "quartiles", "1st s", "gain", "95 %", "kept", "tau")]
    for kind in report.kinds:
        told = kind
        for arm in report.arms:
            if figures := report.figures.get((kind, arm)):
                rows.append((told, arm, *_speeds(figures), *_gain(figures.speed_up), *_kept(figures)))
                told = ""
    return columns(rows, right=(2, 3, 4, 5, 6, 7, 8))


def _overall_table(report: Report) -> list[str]:
    rows: list[tuple[str, ...]] = [("all kinds", "target", "draft", "other", "J/token", "gain", "95 %", "kept", "tau")]
    for arm in report.arms:
        if figures := report.overall(arm):
            of = figures.statistics
            shares = [part / of.seconds for part in (of.target_seconds, of.draft_seconds, of.other_seconds)]
            joules = "" if figures.joules_per_token is None else f"{figures.joules_per_token:.2f}"
            times = [f"{share:.0%}" for share in shares]
            rows.append((arm, *times, joules, *_gain(figures.speed_up), *_kept(figures)))
    if not any(row[4] for row in rows[1:]):
        rows = [(*row[:4], *row[5:]) for row in rows]
    return columns(rows, right=tuple(range(1, len(rows[0]))))


def _draft_lines(report: Report) -> Iterator[str]:
    """Acceptance by position and the lengths of drafts, for each arm that drafted."""
    for arm in report.arms:
        figures = report.overall(arm)
        if figures is None or not figures.conditional:
            continue
        shares = " ".join("-" if share is None else f"{share:.0%}" for share in figures.conditional)
        yield ""
        yield f"{arm}: kept at position 1, 2, ..., of the guesses that were examined there:"
        yield f"  {shares}"
        rounds = sum(count for _, count in figures.draft_lengths)
        lengths = ", ".join(f"{length}: {count / rounds:.0%}" for length, count in figures.draft_lengths)
        yield f"  rounds by draft length: {lengths}"
        yield from _guess_lines(figures.statistics)


def _guess_lines(statistics: DecodingStatistics) -> Iterator[str]:
    """Who guessed, where there are several; and what was expected of the guesses, where that was said."""
    if len(statistics.by_source) > 1:
        each = (
            f"{source}: {drafted / statistics.drafted:.0%}, {accepted / drafted:.0%} of them kept"
            for source, drafted, accepted in statistics.by_source
        )
        yield f"  guesses by source: {'; '.join(each)}"
    if statistics.judged:
        predicted, kept = statistics.predicted_acceptance, statistics.judged_acceptance
        yield f"  of {statistics.judged:,} guesses examined {predicted:.0%} were expected to be kept; {kept:.0%} were"


def _verdicts(report: Report) -> Iterator[str]:
    """What was shown, arm by arm, and what was not."""
    for arm in report.arms:
        figures, base = report.overall(arm), report.baselines[arm]
        if figures is None or base is None:
            continue
        gain = figures.speed_up
        if gain is None:
            yield f"{arm}: nothing to compare with {base}"
        elif gain.interval is None:
            yield f"{arm}: {gain.value:.2f}x {base}; too few prompts to say whether that is real"
        elif not gain.real:
            yield f"{arm}: no difference to {base} was shown ({gain.value:.2f}x, interval {_interval(gain)})"
        else:
            word = "faster" if gain.value > 1 else "slower"
            yield f"{arm}: {word} than {base}: {gain.value:.2f}x (interval {_interval(gain)})"
        yield from _slower_lines(report, arm)


def _slower_lines(report: Report, arm: str) -> Iterator[str]:
    """The kinds an arm was shown to be slower on, all of them at once; and those of which that cannot be said."""
    slower = sorted(
        (figures.speed_up.value, kind, figures.among_kinds)
        for kind in report.kinds
        if (figures := report.figures.get((kind, arm))) and figures.speed_up and round(figures.speed_up.value, 2) < 1
    )
    shown = {kind for _, kind, interval in slower if interval and interval.high < 1}
    if shown:
        yield f"  slower on: {', '.join(kind for kind in report.kinds if kind in shown)}"
    unsure = [f"{kind} {value:.2f}" for value, kind, interval in slower if interval is None]
    if unsure:
        yield _slowest_line(unsure)


def _slowest_line(kinds: Sequence[str]) -> str:
    """As many of the slowest kinds as a line holds, in words that claim nothing."""
    lines = [f"  slowest: {', '.join(kinds[:count])} (too few prompts to say)" for count in range(1, len(kinds) + 1)]
    return max((line for line in lines if len(line) <= WIDTH), key=len, default=lines[0])


def _notes(document: Document) -> Iterator[str]:
    rules = {record.arm: record.acceptance_rule for record in document.records}
    for rule in sorted(LOSSY_RULES.intersection(rules.values())):
        yield f"{', '.join(arm for arm in rules if rules[arm] == rule)}: {lossy_words(rule)}"
    yield from _chosen_lines(document)
    if not document.complete:
        yield f"NOT COMPLETE: {len(document.records)} generations were made; --resume goes on."
    yield from (f"left out: {task}: {reason}" for task, reason in document.left_out.items())
    energy = str(document.environment.get("energy", ""))
    if not energy.startswith("measured"):
        yield f"Energy is left out. {energy}"


def _chosen_lines(document: Document) -> Iterator[str]:
    """Which sources were chosen, for the arms that leave it to the program."""
    for arm, settings in document.plan["arms"].items():
        if settings["speculation"]["enabled"] and settings["speculation"].get("drafter") == CHOSEN:
            used = Counter(record.drafter for record in document.records if record.arm == arm)
            each = ", ".join(f"{drafter} for {count}" for drafter, count in used.most_common())
            yield f"{arm}: of {used.total()} answers most was guessed by {each}"


def _speeds(figures: Figures) -> tuple[str, str, str]:
    speed, first = figures.tokens_per_second, figures.time_to_first_token
    return _number(speed.median), _quartiles(speed), "" if first is None else f"{first.median:.2f}"


def _quartiles(spread: Spread) -> str:
    return f"{_number(spread.low)}-{_number(spread.high)}"


def _number(value: float) -> str:
    """Three digits that count."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _gain(ratio: Ratio | None) -> tuple[str, str]:
    return ("", "") if ratio is None else (f"{ratio.value:.2f}x", _interval(ratio) or "few")


def _interval(ratio: Ratio) -> str:
    return f"{ratio.interval.low:.2f}-{ratio.interval.high:.2f}" if ratio.interval else ""


def _real(ratio: Ratio) -> str:
    if ratio.interval is None:
        return "too few prompts to say"
    if not ratio.real:
        return "no difference shown"
    return "faster" if ratio.value > 1 else "slower"


def _kept(figures: Figures) -> tuple[str, str]:
    statistics = figures.statistics
    kept = "" if statistics.acceptance is None else f"{statistics.acceptance:.0%}"
    return kept, "" if statistics.tau is None else f"{statistics.tau:.2f}"


def columns(rows: Sequence[Sequence[str]], right: Iterable[int]) -> list[str]:
    """Rows in columns, two spaces apart; those in `right` are set to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    aligned = frozenset(right)
    return [
        "  ".join(
            cell.rjust(width) if i in aligned else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
