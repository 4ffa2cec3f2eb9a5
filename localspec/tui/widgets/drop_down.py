"""Lists to choose from, safe to page through before they were laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from textual.widgets import OptionList, Select
from textual.widgets._select import SelectCurrent, SelectOverlay  # a Select is made of them, and has no other names

if TYPE_CHECKING:
    from textual.app import ComposeResult

Value = TypeVar("Value")


class PagedList(OptionList):
    """Textual's own, but that a page key pressed before the list has any lines does nothing: there it raises."""

    def action_page_up(self) -> None:
        """Go up a page."""
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        """Go down a page."""
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]


class _Overlay(SelectOverlay, PagedList):
    """What opens below a drop-down."""


class DropDown(Select[Value]):
    """A choice of a few words."""

    def compose(self) -> ComposeResult:
        """What is chosen, and the list."""
        yield SelectCurrent(self.prompt)
        yield _Overlay(type_to_search=self._type_to_search).data_bind(compact=Select.compact)
