"""What of the draft's guesses is kept, how many pay, and what happens with many texts at once."""

from __future__ import annotations

from localspec.bench import theory
from localspec.bench.explaining.facts import Facts, last_that_pays, stops_paying
from localspec.bench.explaining.words import Section, counted, paragraph, speed, table
from localspec.bench.plots import Curve, Glyphs, plot

_ACCEPTANCES = tuple(step / 20 for step in range(21))


def acceptance(facts: Facts) -> Section:
    """Alpha, counted and from p and q."""
    everything = facts.all_guesses
    alpha, expected = everything.acceptance, everything.expected_acceptance
    if alpha is None or expected is None:
        return Section("What of its guesses is kept", tuple(paragraph("The draft guessed nothing on these prompts.")))
    lines = paragraph(
        f"Three prompts were answered with drafts of {facts.traced_length}, at temperature {facts.temperature:g}, and "
        "every guess was watched. One that is refused ends its draft: those behind it are never looked at. Of the "
        "guesses looked at, this share was kept. The papers call it alpha; from the two models' own probabilities it "
        "should be the mean of sum of min(p, q) (Leviathan 2023, Corollary 3.6)."
    )
    rows = [("prompt", "looked at", "kept", "alpha", "expected")]
    for one in (*facts.guesses, everything):
        if one.acceptance is not None and one.expected_acceptance is not None:
            seen = one.looked_at
            kept = sum(guess.kept for guess in seen)
            rows.append(
                (one.kind, f"{len(seen):,}", f"{kept:,}", f"{one.acceptance:.0%}", f"{one.expected_acceptance:.0%}")
            )
    lines += table(rows)
    places = ", ".join(
        f"{kept / seen:.0%} of {seen} at place {place}" for place, (kept, seen) in enumerate(everything.by_position, 1)
    )
    lines += paragraph(f"By place in the draft: {places}. The formulas take one alpha for all places.")
    return Section("What of its guesses is kept", tuple(lines))


def best_length(facts: Facts, glyphs: Glyphs) -> Section | None:
    """Predicted by the formulas from measured costs, beside what was measured."""
    alpha, best, step = facts.acceptance, facts.best, facts.draft_step
    if alpha is None or best is None or step is None:
        return None
    lines = paragraph(
        "With k guesses a round, a round takes k steps of the draft and one pass of k + 1 tokens, and writes "
        "(1 - alpha^(k+1)) / (1 - alpha) tokens on average (Leviathan 2023, equation 1). With the costs measured above "
        f"and alpha = {alpha:.2f} that makes, over speculation off:"
    )
    gains = [
        theory.measured_speed_up(alpha, drafted, facts.pass_seconds, step) for drafted in range(len(facts.pass_seconds))
    ]
    off = facts.arm(0)
    off_speed = off.statistics.tokens_per_second if off else None
    curves = [Curve("predicted", tuple((float(drafted), gain) for drafted, gain in enumerate(gains)))]
    if off_speed:
        found = [(float(arm.drafted), (arm.statistics.tokens_per_second or 0.0) / off_speed) for arm in facts.arms]
        curves.insert(0, Curve("measured", tuple(found)))
    lines += [*plot(curves, "guesses a round", "times as fast as without", glyphs, y_top=1.0), ""]
    lines += paragraph(
        f"The best length is {best.drafted}, predicted {best.speed_up:.2f} times as fast as none."
        if best.drafted
        else "No length is predicted to pay: the best is to guess nothing."
    )
    lines += _predicted_and_measured(facts, off_speed)
    lines += _best_by_acceptance(facts, step, glyphs)
    return Section("How many to guess", tuple(lines))


def _predicted_and_measured(facts: Facts, off_speed: float | None) -> list[str]:
    rows = [("guesses", "tokens", "as", "tokens", "as", "times", "as")]
    rows.append(("a round", "a pass", "predicted", "a second", "predicted", "off", "predicted"))
    alpha, step = facts.acceptance, facts.draft_step
    assert alpha is not None
    assert step is not None
    for arm in facts.arms:
        reached, tau = arm.statistics.tokens_per_second, arm.statistics.tau
        if reached is None or tau is None or not off_speed:
            continue
        tokens = theory.expected_tokens(alpha, arm.drafted)
        seconds = theory.round_seconds(arm.drafted, facts.pass_seconds, step)
        gain = theory.measured_speed_up(alpha, arm.drafted, facts.pass_seconds, step)
        name = str(arm.drafted) if arm.drafted else "none"
        cells = (f"{tau:.2f}", f"{tokens:.2f}", f"{reached:.1f}", f"{tokens / seconds:.1f}")
        rows.append((name, *cells, f"{reached / off_speed:.2f}", f"{gain:.2f}"))
    few = paragraph("The prompts are the three above. They are few: `localspec bench` measures more, with intervals.")
    return [*table(rows), *few]


def _best_by_acceptance(facts: Facts, step: float, glyphs: Glyphs) -> list[str]:
    found = [theory.best_draft_length(alpha, facts.pass_seconds, step) for alpha in _ACCEPTANCES]
    first = next((a for a, best in zip(_ACCEPTANCES, found, strict=True) if best.drafted), None)
    if first is None:
        return paragraph(
            "With these costs it would pay on no text, however many guesses were kept: the draft costs too much, or a "
            "wider pass does."
        )
    lengths = Curve("best length", tuple((a, float(best.drafted)) for a, best in zip(_ACCEPTANCES, found, strict=True)))
    lines = paragraph("With these costs, and another text on which more or fewer guesses are kept, it would be:")
    lines += [*plot([lengths], "alpha", "best number of guesses (computed from the measured costs)", glyphs), ""]
    return lines + paragraph(
        f"Guessing begins to pay at an alpha of about {first:.2f}; at 1.00 it would be {found[-1].speed_up:.1f} times "
        "as fast."
    )


def batch_growth(facts: Facts) -> Section | None:
    """Where speculation stops to pay when several texts are written at once."""
    batches = list(facts.batches())
    if not batches:
        return None
    lines = paragraph(
        "A server writes many texts at once, and their tokens share each pass, as guesses do here. Then the processor "
        "is busy already, and little time is left over for guesses. Measured with passes over texts side by side:"
    )
    lengths = sorted(batches[0].on)
    header = ("texts at once", "off, tokens/s", *(f"drafts of {length}" for length in lengths))
    rows = [header]
    for batch in batches:
        cells = (f"{batch.on[length]:.1f} ({batch.on[length] / batch.off:.2f}x)" for length in lengths)
        rows.append((str(batch.sequences), f"{batch.off:.1f}", *cells))
    lines += table(rows)
    if not lengths:
        lines += paragraph(
            f"One text alone gets {speed(batches[0].off)}, {batches[-1].sequences} together {speed(batches[-1].off)}."
        )
        return Section("Many texts at once", tuple(lines))
    lines += paragraph(
        "Tokens/s of all texts together. The passes are measured; how many guesses would be kept is the alpha above."
    )
    for length in lengths:
        turn, last = stops_paying(batches, length), last_that_pays(batches, length)
        if last is None:
            told = "never pay"
        elif turn is None:
            told = f"still pay with {counted(batches[-1].sequences, 'text')}"
        else:
            told = f"pay with {counted(turn[0], 'text')} and no longer with {turn[1]}"
        lines += paragraph(f"Drafts of {length} {told}.")[:-1]
    return Section("Many texts at once", (*lines, ""))
