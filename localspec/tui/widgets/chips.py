"""What goes along with a question, shown above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from localspec.terminal import visible
from localspec.tui.attachments import described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localspec.conversations.conversation import Attachment

_LONGEST_NAME = 40


class Chips(Static):
    """One chip for each attachment: its name, how much it is, and a cross to take it away."""

    DEFAULT_CSS = """
    Chips {
        height: auto;
        max-height: 4;
        display: none;
        &.-some { display: block; }
    }
    """

    def show(self, attachments: Sequence[Attachment]) -> None:
        """Show these."""
        self.set_class(bool(attachments), "-some")
        self.update(Content("\n").join(_chip(attachment) for attachment in attachments))


def _chip(attachment: Attachment) -> Content:
    name = visible(attachment.name).replace("\n", " ")
    if len(name) > _LONGEST_NAME:
        name = name[: _LONGEST_NAME // 2] + "…" + name[-_LONGEST_NAME // 2 :]
    return Content.assemble(("▪ ", "$primary"), (name, "bold"), (f"  {described(attachment)}", "$text-muted"))
