"""What a token, a pass of several tokens and the draft cost."""

from __future__ import annotations

from localspec.bench.explaining.facts import Facts
from localspec.bench.explaining.words import Section, billions, milliseconds, paragraph, share, size, speed, table
from localspec.bench.plots import Bar, Curve, Glyphs, bars, plot
from localspec.bench.roofline import TokenWork


def token_cost(facts: Facts, glyphs: Glyphs) -> Section:
    """The bound of memory, and how close the pair comes."""
    work, context = facts.target, facts.context
    lines = paragraph(
        f"To write one token, the target ({facts.loaded.target.description}) must go through its weights once: "
        f"{size(work.weight_bytes)} to read{_left_out(work)}. The keys and values of the text so far come on top, "
        f"{size(work.kv_bytes)} a token: {size(work.kv_bytes * context)} at the {context:,} tokens of text that the "
        "figures here are for, on average."
    )
    lines += _bound_lines(facts)
    lines += _bars(facts, glyphs)
    lines += _arithmetic(facts)
    return Section("What a token costs", tuple(lines))


def pass_cost(facts: Facts, glyphs: Glyphs) -> Section:
    """The measured curve of T(n)."""
    times = facts.pass_seconds
    single, widest = times[0], len(times)
    lines = paragraph(
        "The target can look at several tokens in one pass: the weights are read once for all of them, and only the "
        "arithmetic grows. That is the whole trick: if a pass of 4 tokens costs little more than a pass of 1, it pays "
        "to guess 3 tokens and to check them together."
    )
    measured = Curve("measured", tuple((n, seconds * 1e3) for n, seconds in enumerate(times, 1)))
    fitting = min(widest, max(2, int(max(times) / single)))
    apart = Curve("if each token had its own pass", tuple((n, n * single * 1e3) for n in range(1, fitting + 1)))
    lines += plot([measured, apart], "tokens in a pass", "milliseconds, median of the passes in this run", glyphs)
    lines.append("")
    lines += table(
        [
            ("tokens", *(str(n) for n in range(1, widest + 1))),
            ("over 1", *(f"{seconds / single:.2f}" for seconds in times)),
        ]
    )
    cheapest = min(range(2, widest + 1), key=lambda n: times[n - 1] / n)
    each = times[cheapest - 1] / cheapest
    lines += paragraph(
        f"A pass of 1 token takes {milliseconds(single)}. Tokens are cheapest in a pass of {cheapest}: "
        f"{milliseconds(each)} each, {each / single:.0%} of what a token by itself takes. The curve need not be "
        "smooth: llama.cpp has other code for other widths."
    )
    return Section("What a pass of several tokens costs", tuple(lines))


def draft_cost(facts: Facts) -> Section:
    """The draft, beside the target."""
    if facts.draft is None or facts.draft_step is None or facts.loaded.draft is None:
        text = "No draft is loaded, so nothing is guessed: the sections on guessing are left out."
        return Section("What the draft costs", tuple(paragraph(text)))
    step, single = facts.draft_step, facts.pass_seconds[0]
    part = facts.draft.weight_bytes / facts.target.weight_bytes
    lines = paragraph(
        f"The draft ({facts.loaded.draft.description}) guesses one token after the other, each in a pass of its own. "
        f"It reads {size(facts.draft.weight_bytes)} for that, {part:.0%} of what the target reads, and takes "
        f"{milliseconds(step)}, {step / single:.0%} of a pass of the target. The papers call that share c. The smaller "
        "it is, the more guesses can be wrong before they cost more than they bring."
    )
    if step > 0.7 * single:
        lines += paragraph(
            "That is much: with a draft nearly as slow as its target there is next to nothing to win, whatever it "
            "guesses."
        )
    return Section("What the draft costs", tuple(lines))


def _left_out(work: TokenWork) -> str:
    """Why that is less than the file holds."""
    parts = []
    if work.table_bytes:
        parts.append(f"{size(work.table_bytes)} are a table of which a token needs one row")
    if work.resting_bytes and work.expert_count:
        parts.append(
            f"{size(work.resting_bytes)} are experts not asked, as {work.experts_used} of {work.expert_count} are"
        )
    elif work.resting_bytes:
        parts.append(f"{size(work.resting_bytes)} rest")
    return f" (of the {size(work.file_bytes)} in the file, {' and '.join(parts)})" if parts else ""


def _bound_lines(facts: Facts) -> list[str]:
    bandwidth, bound = facts.bandwidth, facts.bound
    if bandwidth is None or bound is None:
        return []
    with_threads = f" with {bandwidth.threads} thread{'s' * (bandwidth.threads > 1)}" if bandwidth.threads else ""
    read = facts.target.bytes_at(facts.context)
    return paragraph(
        f"Memory is read at {size(bandwidth.bytes_per_second)} a second{with_threads} ({bandwidth.how}). So a token "
        f"takes {size(read)} / {size(bandwidth.bytes_per_second)}/s = {milliseconds(1 / bound)} at least, and no "
        f"program that writes one token at a time can be faster than {speed(bound)} with this model here."
    )


def _bars(facts: Facts, glyphs: Glyphs) -> list[str]:
    rows = []
    if facts.bound is not None:
        rows.append(Bar("bound, one at a time", facts.bound, speed(facts.bound)))
    for arm in facts.arms:
        reached = arm.statistics.tokens_per_second
        if reached is not None:
            name = f"drafts of {arm.drafted}" if arm.drafted else "speculation off"
            of_bound = f" = {share(reached / facts.bound)} of the bound" if facts.bound else ""
            rows.append(Bar(name, reached, speed(reached) + of_bound))
    lines = [*bars(rows, glyphs), ""] if rows else []
    bound = facts.bound
    if bound and any((arm.statistics.tokens_per_second or 0.0) > bound for arm in facts.arms if arm.drafted):
        lines += paragraph("Speculation went past the bound, because it does not go one token at a time.")
    return lines


def _arithmetic(facts: Facts) -> list[str]:
    work, context = facts.target, facts.context
    intensity, reached = work.intensity(context), facts.operations_per_second
    text = (
        f"The arithmetic of a token is {billions(work.operations)} operations (a multiplication and an addition for "
        f"each weight read), {intensity:.1f} for each byte. "
    )
    if facts.bandwidth is not None:
        ridge = reached / facts.bandwidth.bytes_per_second
        text += (
            f"The most that a pass reached in this run were {billions(reached)} a second, {ridge:.1f} for each byte "
            "that memory can deliver. "
        )
        if ridge > intensity:
            text += (
                f"So the processor could do {ridge / intensity:.1f} times what a token by itself asks of it: it waits "
                "for memory, and speculation puts that time to use."
            )
        else:
            text += "By these figures arithmetic is the limit here, not memory, and speculation has little to win."
    return paragraph(text)
