"""One line to write in, whatever is pasted into it."""

from __future__ import annotations

from textual.widgets import Input

from localspec.terminal import visible


class LineInput(Input):
    """Textual's own, but that it draws no control character: `Input` hands them to the terminal as they are."""

    def validate_value(self, value: str) -> str:
        """The text as it can be drawn."""
        return visible(value).replace("\n", " ")
