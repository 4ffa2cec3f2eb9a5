"""Screens that close once, and nothing but themselves."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.screen import Screen, ScreenResultType


class ClosesOnce(Screen[ScreenResultType]):
    """What every screen that can be dismissed is.

    Textual closes whatever screen is on top, and fails when one is dismissed twice. So two keys pressed in a hurry, or
    a search that ends when a dialog is open over its list, would end the app or close the wrong screen.

    Among several bases it stands last: Textual reads styles and component classes from the first one alone.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close it with a result; nothing when it is closing, or when another one is over it."""
        if self.app.screen is not self:
            return AwaitComplete()
        if not self.is_mounted:
            # A key for the screen below can come to this one. Closed now, it would begin its work with nothing on it.
            self.call_later(self._close, result)
            return AwaitComplete()
        waiting = self._result_callbacks[-1:]
        if any(each.future is not None and each.future.cancelled() for each in waiting):
            # Who asked was stopped, as one that asks the same anew stops the one before: a result would raise.
            return self.app.pop_screen()
        return super().dismiss(result)

    def _close(self, result: ScreenResultType | None) -> None:
        # Without what `dismiss` returns: a screen must not wait for its own end.
        self.dismiss(result)
