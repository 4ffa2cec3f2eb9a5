"""The plots that set measured costs beside the theory: cost of a pass, best draft length, the memory bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localspec.bench.document import Document
from localspec.bench.html.charts import Chart
from localspec.bench.html.svg import Canvas, Scale, ticks
from localspec.bench.report import Report, overall_acceptance
from localspec.bench.theory import best_draft_length, tokens_per_second_bound

_STEPS = 200


def cost_against_width(document: Document) -> Chart:
    """What a pass costs as it grows wider."""
    title = "Cost of a pass against its width"
    pairs = {pair: times for pair, times in document.pass_times.items() if times["target"]}
    if not pairs:
        return Chart(title, "No passes were timed.")
    curves = {pair: [(w, s / times["target"][0][1]) for w, s in times["target"]] for pair, times in pairs.items()}
    widest = max(width for curve in curves.values() for width, _ in curve)
    values = ticks(0, max(cost for curve in curves.values() for _, cost in curve))
    canvas = Canvas()
    x, y = Scale(1, max(widest, 2), 80, 690), Scale(values[0], values[-1], 276, 28)
    canvas.y_axis(y, values, "times a pass of one token", 700)
    canvas.x_axis(x, range(1, widest + 1), "tokens in the pass", 28)
    rows, legend = [], []
    for number, (pair, times) in enumerate(pairs.items()):
        series = 2 * number
        legend.append((f"{pair}: target", series))
        canvas.path([(x.at(width), y.at(cost)) for width, cost in curves[pair]], series)
        for width, cost in curves[pair]:
            canvas.mark(x.at(width), y.at(cost), series, f"{width} tokens: {cost:.2f} times")
        if step := _draft_step(times):
            cost = step / times["target"][0][1]
            legend.append((f"{pair}: one draft step", series + 1))
            canvas.path([(x.at(1), y.at(cost)), (x.at(widest), y.at(cost))], series + 1)
            canvas.mark(x.at(1), y.at(cost), series + 1, f"a draft step: {cost:.2f} times")
        rows += [
            (pair, "target", str(w), f"{s * 1e3:.1f}", f"{c:.2f}")
            for (w, s), (_, c) in zip(times["target"], curves[pair], strict=True)
        ]
        rows += [
            (pair, "draft", str(w), f"{s * 1e3:.1f}", f"{s / times['target'][0][1]:.2f}") for w, s in times["draft"]
        ]
    words = (
        "Speculation lives on passes over several tokens that cost hardly more than over one: the flatter, the better."
    )
    head = ("pair", "model", "tokens", "ms", "times a target pass of one")
    return Chart(title, words, canvas.render(title, words), head, tuple(rows), tuple(legend))


def best_length(document: Document, report: Report) -> Chart:
    """The best draft length by measured costs, and what was best in the benchmark."""
    title = "Draft length against acceptance"
    pair = next((name for name, times in document.pass_times.items() if times["target"] and times["draft"]), None)
    if pair is None:
        return Chart(title, "Without timed passes of a target and a draft there is no best length to tell.")
    times = document.pass_times[pair]
    seconds, step = [s for _, s in times["target"]], _draft_step(times)
    curve = [(i / _STEPS, best_draft_length(i / _STEPS, seconds, step)) for i in range(_STEPS + 1)]
    points = _best_arms(document, report, pair)
    highest = max(1, *(best.drafted for _, best in curve), *(int(length) for *_, length in points))
    values = ticks(0, highest)
    canvas = Canvas()
    x, y = Scale(0, 1, 70, 690), Scale(values[0], values[-1], 276, 28)
    canvas.y_axis(y, values, "tokens a draft", 700)
    canvas.x_axis(x, [0, 0.2, 0.4, 0.6, 0.8, 1], "acceptance", 28)
    canvas.path([(x.at(a), y.at(best.drafted)) for a, best in curve], 0)
    for kind, arm, acceptance, length in points:
        canvas.mark(x.at(acceptance), y.at(length), 1, f"{kind}: {arm}, {length:.1f} tokens at {acceptance:.0%}")
    words = (
        "The line: the length that the measured costs of passes make best at each acceptance (Leviathan 2023, section "
        f"3.5), up to {len(seconds) - 1}. The marks: for each kind of text the arm that was fastest, at the acceptance "
        "of its guesses."
    )
    rows = tuple((kind, arm, f"{acceptance:.1%}", f"{length:.1f}") for kind, arm, acceptance, length in points)
    legend = (("best by measured costs", 0), ("fastest arm of a kind", 1))
    head = ("kind", "fastest arm", "acceptance", "tokens a draft")
    return Chart(title, words, canvas.render(title, words), head, rows, legend)


def distance_to_bound(document: Document, report: Report) -> Chart:
    """Tokens/s of every arm beside what the memory allows without speculation."""
    title = "Distance to the bound"
    bounds = {arm: bound for arm in report.arms if (bound := bound_of(document, arm))}
    shown = [
        (arm, figures.tokens_per_second.median)
        for arm in report.arms
        if arm in bounds and (figures := report.overall(arm))
    ]
    if not shown:
        return Chart(title, "How fast this machine reads its memory is not known, so there is no bound to tell.")
    values = ticks(0, max(*bounds.values(), *(speed for _, speed in shown)))
    canvas = Canvas(height=80 + 34 * len(shown))
    x = Scale(values[0], values[-1], 130, 680)
    canvas.x_axis(x, values, "tokens/s", 8)
    for i, (arm, speed) in enumerate(shown):
        y = 14 + 34 * i
        canvas.text(120, y + 15, arm, "end")
        canvas.bar(x.at(0), y, x.at(speed) - x.at(0), 20, report.arms.index(arm))
        canvas.line(x.at(bounds[arm]), y - 6, x.at(bounds[arm]), y + 26, "reference")
    told = [memory for memory in document.memory.values() if memory]
    speeds = ", ".join(f"{memory['bytes_per_second'] / 1e9:.1f} GB/s ({memory['how']})" for memory in told)
    words = (
        "A token without speculation cannot come faster than weights, keys and values can be read: the marked line "
        f"(Roofline, Williams 2009), at {speeds}. With speculation one reading serves several tokens, and may pass it."
    )
    rows = tuple((arm, f"{speed:.2f}", f"{bounds[arm]:.2f}", f"{speed / bounds[arm]:.0%}") for arm, speed in shown)
    head = ("arm", "tokens/s", "bound", "of the bound")
    return Chart(title, words, canvas.render(title, words), head, rows)


def bound_of(document: Document, arm: str) -> float | None:
    """The most tokens a second without speculation at the context the answers had; None when it cannot be told."""
    memory = document.memory.get(document.plan["arms"][arm]["pair"])
    contexts = [
        record.prompt_tokens + record.statistics.emitted / 2 for record in document.records if record.arm == arm
    ]
    if not memory or not contexts:
        return None
    context = sum(contexts) / len(contexts)
    return tokens_per_second_bound(memory["weight_bytes"] + memory["kv_bytes"] * context, memory["bytes_per_second"])


def _draft_step(times: Mapping[str, Any]) -> float:
    """Seconds of a draft's pass of one token; 0 when it was not timed."""
    return float(next((seconds for width, seconds in times["draft"] if width == 1), 0.0))


def _best_arms(document: Document, report: Report, pair: str) -> list[tuple[str, str, float, float]]:
    """For each kind the fastest arm of a pair, the acceptance of the guesses on that kind, and tokens a draft."""
    points = []
    arms = [arm for arm in report.arms if document.plan["arms"][arm]["pair"] == pair]
    for kind in report.kinds:
        figures = [found for arm in arms if (found := report.figures.get((kind, arm)))]
        records = [record for record in document.records if record.category == kind and record.arm in arms]
        acceptance = overall_acceptance([each for record in records for each in record.rounds])
        if figures and acceptance is not None:
            best = max(figures, key=lambda each: each.tokens_per_second.median)
            points.append((kind, best.arm, acceptance, best.statistics.drafted / best.statistics.rounds))
    return points
