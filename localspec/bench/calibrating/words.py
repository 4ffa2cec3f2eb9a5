"""A calibration in words, tables and plots, in 80 columns."""

from __future__ import annotations

from localspec.bench.calibrating.worth import Worth, costs_of, worth
from localspec.bench.explaining.words import milliseconds, paragraph, table
from localspec.bench.plots import Curve, Glyphs, plot
from localspec.decoding.measuring import STEADY
from localspec.engine.calibrations import Calibration, ModelCalibration
from localspec.engine.messages import Loaded, LoadPair
from localspec.engine.processor_share import LEAST_SHARE

_SHOWN_WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 28, 32)
_SHOWN_ACCEPTANCES = (30, 40, 50, 60, 70, 80, 90, 95)
_NAMED_WIDTHS = (1, 4, 8)
"""Of those that are compared with the last time."""
_NOTICEABLE = 0.05


def calibration_lines(found: Calibration, loaded: Loaded, loading: LoadPair, glyphs: Glyphs) -> list[str]:
    """Everything, ready to be printed."""
    return [
        *_measured_on(found, loaded, loading),
        *_target(found, glyphs),
        *_draft(found),
        *_lengths(found, glyphs),
        *_threads(found, loading),
        *_before(found),
        *_reliance(found),
    ]


def _measured_on(found: Calibration, loaded: Loaded, loading: LoadPair) -> list[str]:
    models = f"target {loaded.target.name} ({loaded.target.description}) on {loaded.target.device}"
    threads = f"{found.target.threads} CPU thread{'s' * (found.target.threads > 1)}"
    if loaded.draft and found.draft:
        models += f", draft {loaded.draft.name} ({loaded.draft.description}) on {loaded.draft.device}"
        if found.draft.threads != found.target.threads:
            threads += f" for the target and {found.draft.threads} for the draft"
    return [
        *paragraph(f"Measured: {models}."),
        *paragraph(
            f"With {threads}, {found.text:,} tokens of text before each pass, KV type {loading.kv_type}, flash "
            f"attention {loading.flash_attention}, {found.processors}, {found.build}."
        ),
    ]


def _target(found: Calibration, glyphs: Glyphs) -> list[str]:
    measured, before = dict(found.target.seconds), dict(found.target.before)
    single = costs_of(found).target(1)
    rows = [("tokens in a pass", "ms", "times one", *(["ms before"] if before else []))]
    for width in _SHOWN_WIDTHS:
        if width in measured:
            known = [_ms(before[width]) if width in before else "" for _ in range(bool(before))]
            rows.append((str(width), _ms(measured[width]), f"{measured[width] / single:.2f}", *known))
    curve = Curve("measured", tuple((float(width), seconds * 1e3) for width, seconds in found.target.seconds))
    return [
        *paragraph("A pass of the target, which verifies one guess less than it has tokens:"),
        *table(rows),
        *plot([curve], "tokens in a pass", "milliseconds, median", glyphs),
        "",
    ]


def _draft(found: Calibration) -> list[str]:
    if found.draft is None:
        return paragraph("No draft model is loaded: only a lookup can guess, whose guesses cost no pass of their own.")
    costs = costs_of(found)
    step, single = costs.draft(1), costs.target(1)
    wider = ", ".join(f"{width} in {milliseconds(seconds)}" for width, seconds in found.draft.seconds if width > 1)
    return paragraph(
        f"A step of the draft takes {milliseconds(step)}, {step / single:.0%} of a pass of one token"
        f"{f'; to catch up it reads {wider}' if wider else ''}."
    )


def _lengths(found: Calibration, glyphs: Glyphs) -> list[str]:
    costs = costs_of(found)
    step = costs.draft(1) if found.draft else 0.0
    paying = worth(costs, step)
    if paying.pays_from is None:
        source = "lookup" if found.draft is None else "draft model"
        none = paragraph(
            f"With these costs guesses of a {source} never pay, however many are kept: a guess costs too much, or a "
            "wider pass does. The automatic draft length will make next to none."
        )
        return [*none, *_lookup_too(found)]
    points = tuple(
        (float(percent), float(best.drafted)) for percent, best in enumerate(paying.best[:96]) if percent % 5 == 0
    )
    rows = [("acceptance", *(f"{percent} %" for percent in _SHOWN_ACCEPTANCES))]
    shown = [paying.best[percent] for percent in _SHOWN_ACCEPTANCES]
    rows.append(("best length", *(str(best.drafted) for best in shown)))
    rows.append(("times as fast", *(f"{best.speed_up:.2f}" for best in shown)))
    return [
        *plot([Curve("best", points)], "acceptance in percent", "best number of guesses, computed from these", glyphs),
        "",
        *table(rows),
        *paragraph(_in_words(paying, lookup=found.draft is None)),
        *_lookup_too(found),
    ]


def _in_words(paying: Worth, *, lookup: bool) -> str:
    start = paying.pays_from
    assert start is not None
    source = "a lookup" if lookup else "the draft"
    first = paying.best[start].drafted
    text = f"On this machine guesses of {source} pay from an acceptance of {start} % on, with drafts of {first}"
    later = next((length for length in (3, 4, 5, 8) if length > first and paying.from_length(length) is not None), None)
    if later is not None:
        text += f"; drafts of {later} or more are best from {paying.from_length(later)} % on"
    if paying.best[80].drafted:
        best = paying.best[80]
        text += f". At 80 % the best are drafts of {best.drafted}, which make it {best.speed_up:.2f} times as fast"
    return f"{text}."


def _lookup_too(found: Calibration) -> list[str]:
    start = worth(costs_of(found), 0.0).pays_from
    if found.draft is None or start is None:
        return []
    return paragraph(f"Guesses of a lookup, which cost no step of the draft, pay from {start} % on.")


def _threads(found: Calibration, loading: LoadPair) -> list[str]:
    if loading.threads is not None:
        return paragraph(
            f"The number of threads is yours: {loading.threads}. Without --threads the best is looked for."
        )
    if _is_busy(found):
        return paragraph("Numbers of threads were not compared: other programs were busy, and the fewest would win.")
    lines: list[str] = []
    for role, model in _models(found):
        if len(model.tried) > 1:
            tried = ", ".join(f"{count}: {ratio:.2f}" for count, ratio in model.tried)
            change = "" if model.threads == model.threads_before else f" instead of {model.threads_before}"
            lines += paragraph(
                f"Threads of the {role}, time over that with the default: {tried}. It uses {model.threads} from now "
                f"on{change}."
            )
    return lines


def _before(found: Calibration) -> list[str]:
    if not any(model.before for _, model in _models(found)):
        return paragraph("Nothing was known of these passes before.")
    lines: list[str] = []
    for role, model in _models(found):
        now, before = dict(model.seconds), dict(model.before)
        times = [now[width] / before[width] for width in now if width in before]
        if not times:
            continue
        told = f"within {_NOTICEABLE:.0%} of it"
        if max(abs(each - 1) for each in times) > _NOTICEABLE:
            named = [width for width in _NAMED_WIDTHS if width in now and width in before]
            changes = [f"{width}: {_ms(before[width])} -> {_ms(now[width])} ms" for width in named]
            told = f"{', '.join(changes)}; over all widths {min(times):.2f} to {max(times):.2f} times as long"
        other = "" if model.threads == model.threads_before else f", with {model.threads_before} threads"
        lines += paragraph(f"Of the {role}, measured {model.made_before}{other}: {told}.")
    return lines


def _reliance(found: Calibration) -> list[str]:
    lines: list[str] = []
    if _is_busy(found):
        lines += paragraph(
            f"Take this as rough: other programs were busy. A pass got {found.share:.0%} of the processor time it "
            "could use. Calibrate again when the machine has nothing else to do."
        )
    elif found.spread > STEADY:
        lines += paragraph(
            f"Take this as rough: passes of the same width differed by {found.spread:.0%}. The machine had other "
            "work; calibrate again when it has not."
        )
    if found.not_kept:
        return lines + paragraph(f"This could not be kept for the next time: {found.not_kept}.")
    return lines + paragraph("Kept: the automatic draft length starts from these figures.")


def _is_busy(found: Calibration) -> bool:
    return found.share is not None and found.share < LEAST_SHARE


def _models(found: Calibration) -> list[tuple[str, ModelCalibration]]:
    return [("target", found.target), *([("draft", found.draft)] if found.draft else [])]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}"
