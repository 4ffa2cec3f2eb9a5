"""What a person selected with the mouse, as text to copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.selection import Selection

from localspec.tui.rendering.lines import Line
from localspec.tui.widgets.transcript_entry import Look
from localspec.tui.widgets.transcript_paint import MARGIN
from localspec.tui.widgets.transcript_view import MessageView

_APART = 1_000_000
"""More than the lines of a message."""


def place_of(message: int, line: int) -> int:
    """Where a line is, as a selection counts lines: what is selected stays it when heights above change."""
    return message * _APART + line


def selected_text(views: Sequence[MessageView], selection: Selection, look: Look) -> str:
    """The selected text without frames, and what was only wrapped in one line again."""
    text = ""
    goes_on = False
    for line, first, last in _selected_lines(views, selection, look):
        if line.joint is None:
            continue
        plain = line.plain
        end = len(plain) if line.end is None else line.end
        start = max(line.start, first - MARGIN)
        piece = plain[start : end if last is None else max(min(end, last - MARGIN), start)]
        text += (piece.lstrip(" ") if goes_on else piece) + line.joint
        goes_on = line.joint != "\n"
    return text.strip("\n")


def _selected_lines(
    views: Sequence[MessageView], selection: Selection, look: Look
) -> Iterator[tuple[Line, int, int | None]]:
    """The lines, each with the characters, counted from the left edge, between which it is selected; None: its end."""
    start, end = selection
    first = divmod(start.y, _APART) if start else (0, 0)
    last = divmod(end.y, _APART) if end else (len(views), 0)
    for index in range(first[0], min(last[0] + 1, len(views))):
        view = views[index]
        if not view.is_rendered:
            view = MessageView(view.shown)
            view.render(look)
        for number, line in enumerate(view.lines):
            if first <= (index, number) <= last:
                left = start.x if start and (index, number) == first else 0
                yield line, left, end.x if end and (index, number) == last else None
