"""The row of keys at the bottom of a screen."""

from __future__ import annotations

from textual.widgets import Footer

from localspec.tui.closed_widgets import forget_closed_watchers


class KeyRow(Footer):
    """Textual's footer, without the memory of all the rows it ever showed.

    Each dialog that opens or closes has the row made anew, and every key of a row watches whether the row is compact.
    """

    def __init__(self) -> None:
        """Show what the screen's bindings say."""
        super().__init__(show_command_palette=False)

    async def recompose(self) -> None:
        """Make the row anew, and let go of the one before."""
        await super().recompose()
        forget_closed_watchers(self)
