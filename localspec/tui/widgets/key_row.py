"""The row of keys at the bottom of a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.widgets import Footer

from localspec.tui.closed_widgets import forget_closed_watchers

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import Binding
    from textual.screen import Screen


class KeyRow(Footer):
    """Textual's footer, without the memory of all the rows it ever showed.

    Each dialog that opens or closes has the row made anew, and every key of a row watches whether the row is compact.
    """

    def __init__(self) -> None:
        """Show what the screen's bindings say."""
        super().__init__(show_command_palette=False)
        self._shown: list[tuple[Binding, bool, str]] | None = None

    def compose(self) -> ComposeResult:
        """A key for each binding, once they are known."""
        self._shown = self._wanted(self.screen) if self._bindings_ready else None
        yield from super().compose()

    def bindings_changed(self, screen: Screen[Any]) -> None:
        """Make the row anew where it would be another one: Textual does so at each change of focus, and lays out."""
        if self._shown is None or self._shown != self._wanted(screen):
            super().bindings_changed(screen)

    @staticmethod
    def _wanted(screen: Screen[Any]) -> list[tuple[Binding, bool, str]]:
        return [
            (each.binding, each.enabled, each.tooltip) for each in screen.active_bindings.values() if each.binding.show
        ]

    async def recompose(self) -> None:
        """Make the row anew, and let go of the one before."""
        await super().recompose()
        forget_closed_watchers(self)
