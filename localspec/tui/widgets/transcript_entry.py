"""One message as lines: who said it and when, its text, and why it ended when it did not end by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment

from localspec.chat.events import AnswerRound, Role
from localspec.conversations.conversation import AnswerFacts, Attachment, Entry
from localspec.terminal import visible
from localspec.tui.rendering.lines import BLANK, Line, prefixed, shortened, shown, wrapped, wrapped_text
from localspec.tui.rendering.markdown import markdown_lines
from localspec.tui.rendering.palette import Palette

_WIDEST_FRAME = 76
_MARKER = " ‹ {}/{} ›"  # noqa: RUF001 - the quotation marks are meant
_GO_ON = "F6 goes on with it."


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry as it is shown.

    Attributes:
        entry: the message.
        model: name of the model that answered; "" for a question.
        branch: which of its siblings it is, from 1.
        branches: how many siblings there are, itself included.
        writing: whether it is being written; else one whose end is not known was broken off.
    """

    entry: Entry
    model: str = ""
    branch: int = 1
    branches: int = 1
    writing: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """How messages are shown.

    Attributes:
        width: of the text, in cells.
        palette: colours.
        rounds_of: the rounds of an answer, by its entry's id; none when they were not kept, None while they are read.
        origins: whether answers show who wrote each token.
        thinking: whether the thinking part is unfolded.
    """

    width: int
    palette: Palette
    rounds_of: Callable[[str], Sequence[AnswerRound] | None]
    origins: bool = False
    thinking: bool = False


def head_line(shown_entry: Shown, look: Look) -> Line:
    """Who and when; for an answer its figures at the right."""
    entry, palette, width = shown_entry.entry, look.palette, look.width
    is_user = entry.role is Role.USER
    right = "" if entry.facts is None else figures(entry.facts)
    marker = _MARKER.format(shown_entry.branch, shown_entry.branches) if shown_entry.branches > 1 else ""
    when = f"  {moment(entry.created)}"
    name = "You" if is_user else shown(shown_entry.model) or "Answer"
    if cell_len(name) + len(when + marker + right) + 2 > width:
        right = right if len(marker + right) + 14 <= width else ""
        when = when if len(when + marker + right) + 14 <= width else ""
        name = shortened(name, max(width - len(when + marker + right) - 2, 4))
    muted = palette.user_muted if is_user else palette.muted
    left = [
        Segment(name, palette.user if is_user else palette.model),
        Segment(when, muted),
        Segment(marker, palette.chosen),
    ]
    gap = width - sum(cell_len(part.text) for part in left) - len(right)
    style = palette.warning if entry.facts is not None and _slower(entry.facts) else palette.figures
    parts = [*left, Segment(" " * max(gap, 0), muted), Segment(right if gap > 0 else "", style)]
    return Line(tuple(part for part in parts if part.text), joint=None)


def figures(facts: AnswerFacts) -> str:
    """The speed of an answer, and how much faster than without speculation it was where that is known."""
    speed = facts.statistics.tokens_per_second
    if speed is None or facts.finish == "writing":
        return ""
    shown_speed = f"{speed:,.1f} tok/s"
    return f"{speed / facts.off_tokens_per_second:.2f}x · {shown_speed}" if facts.off_tokens_per_second else shown_speed


def _slower(facts: AnswerFacts) -> bool:
    """Whether it was slower than without speculation, as far as two decimals show it."""
    speed, off = facts.statistics.tokens_per_second, facts.off_tokens_per_second
    return bool(speed and off and round(speed / off, 2) < 1)


def moment(created: float) -> str:
    """When, as short as can be: the time of today, else the day, too."""
    then, now = time.localtime(created), time.localtime()
    clock = time.strftime("%H:%M", then)
    if then[:3] == now[:3]:
        return clock
    day = f"{then.tm_mday} {time.strftime('%b', then)}"
    return f"{day} {clock}" if then.tm_year == now.tm_year else f"{day} {then.tm_year} {clock}"


def question_lines(entry: Entry, look: Look) -> list[Line]:
    """What a person asked, as typed."""
    palette = look.palette
    lines = []
    for each in entry.attachments:
        lines.extend(wrapped((Segment(_attachment(each), palette.user_muted),), look.width))
    if text := visible(entry.text).strip("\n"):
        lines.extend(wrapped_text(text, palette.user_text, look.width))
    return lines


def _attachment(file: Attachment) -> str:
    size = len(file.text.encode(errors="replace"))
    count = file.text.count("\n") + (not file.text.endswith("\n") and bool(file.text))
    weight = f"{size:,} bytes" if size < 1000 else f"{size / 1000:,.1f} kB"
    return f"▤ {shown(file.name)} · {count:,} {'line' if count == 1 else 'lines'} · {weight}"


def reading_line(look: Look) -> Line:
    """Stands above an answer while it is read who wrote it."""
    return Line((Segment("◌ reading who wrote this …", look.palette.muted),), joint=None)


def thinking_head(seconds: float | None, look: Look, *, going_on: bool) -> Line:
    """The line that stands for the thinking part, folded or not."""
    fold = "▾" if look.thinking else "▸"
    if going_on:
        words = f"{fold} thinking…" if seconds is None else f"{fold} thinking… {seconds:,.0f} s"
    elif seconds is None:
        words = f"{fold} thought"
    else:
        words = f"{fold} thought for {seconds:,.{1 if seconds < 9.95 else 0}f} s"
    return Line((Segment(words, look.palette.thinking),), joint=None)


def thinking_lines(thought: str, seconds: float | None, look: Look) -> list[Line]:
    """The thinking part of a finished answer."""
    head = thinking_head(seconds, look, going_on=False)
    if not look.thinking:
        return [head, BLANK]
    body = markdown_lines(thought, look.width - 2, look.palette, numbered=False)
    return [head, *behind_bar(body, look.palette), BLANK]


def behind_bar(lines: Sequence[Line], palette: Palette) -> list[Line]:
    """Lines set back behind a bar."""
    bar = Segment("│ ", palette.rule)
    return prefixed(lines, bar, bar)


def end_lines(facts: AnswerFacts | None, look: Look) -> list[Line]:
    """Why an answer ended, in a frame; nothing when it ended by itself."""
    if facts is None:
        return []
    why = {
        "cancelled": ("stopped", f"You stopped this answer. {_GO_ON}"),
        "length": ("token limit", f"The limit of tokens for an answer was reached. {_GO_ON}"),
        "context": (
            "context full",
            f"All {facts.context_size:,} tokens of the context are used. Begin a new conversation.",
        ),
        "failed": ("failed", facts.error or "The answer failed, and nothing is known of why."),
        "writing": ("broken off", f"The program ended while this was written. {_GO_ON}"),
    }.get(facts.finish)
    if why is None:
        return []
    return _framed(*why, look, failed=facts.finish == "failed")


def _framed(title: str, text: str, look: Look, *, failed: bool) -> list[Line]:
    style = look.palette.failure if failed else look.palette.warning
    width = max(min(look.width, _WIDEST_FRAME), 12)
    inner = [
        line for row in visible(text).split("\n") for line in wrapped((Segment(row, look.palette.text),), width - 4)
    ]
    lines = [Line((Segment(f"╭─ {title} {'─' * (width - len(title) - 5)}╮", style),), joint=None)]
    for line in inner:
        filling = Segment(" " * (width - 4 - line.width), look.palette.text)
        parts = (Segment("│ ", style), *line.segments, filling, Segment(" │", style))
        lines.append(Line(parts, start=2, end=2 + len(line.plain), joint=line.joint))
    return [BLANK, *lines, Line((Segment(f"╰{'─' * (width - 2)}╯", style),), joint=None)]
