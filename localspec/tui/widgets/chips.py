"""What goes along with a question, shown above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from localspec.terminal import visible
from localspec.tui.attachments import described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localspec.conversations.conversation import Attachment

_ROWS = 3
_LONGEST_NAME = 40


class Chips(Static):
    """A row for each attachment: its name, how much it is, and a cross to take it away."""

    DEFAULT_CSS = """
    Chips {
        height: auto;
        display: none;
        link-style: none;
        link-color: $text-muted;
        link-background-hover: $error;
        link-color-hover: $text;
        link-style-hover: bold;
        &.-some { display: block; }
    }
    """

    @dataclass
    class TakenAway(Message):
        """A cross was clicked."""

        index: int

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__(markup=False)

    def show(self, attachments: Sequence[Attachment]) -> None:
        """Show these; of many, the last ones and a count of the others."""
        self.set_class(bool(attachments), "-some")
        hidden = max(0, len(attachments) - _ROWS) and len(attachments) - _ROWS + 1
        rows = [_chip(attachment, index) for index, attachment in enumerate(attachments)][hidden:]
        if hidden:
            rows.insert(0, Content.styled(f"▪ {hidden} more", "$foreground 65%"))
        self.update(Content("\n").join(rows))

    def action_take_away(self, index: int) -> None:
        """Say that a cross was clicked."""
        self.post_message(self.TakenAway(index))


def _chip(attachment: Attachment, index: int) -> Content:
    name = visible(attachment.name).replace("\n", " ")
    if len(name) > _LONGEST_NAME:
        name = name[: _LONGEST_NAME // 2] + "…" + name[-_LONGEST_NAME // 2 :]
    cross = Style.from_meta({"@click": f"take_away({index})"})
    return Content.assemble(
        ("▪ ", "$primary"), (name, "bold"), (f"  {described(attachment)} ", "$foreground 65%"), (" ✕ ", cross)
    )
