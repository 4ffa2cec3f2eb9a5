"""The pairs, one a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets.option_list import Option

from localspec.pairs.sizes import gigabytes
from localspec.terminal import visible
from localspec.tui.offers import Offer
from localspec.tui.widgets.drop_down import PagedList

_NAME = 28  # columns
_HEAD = ("SIZE", "HERE", "FITS")


class PairList(PagedList, inherit_bindings=False):
    """Moves with the arrow keys; what Enter does is the screen's, as it depends on the pair."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor_up", show=False),
        Binding("down,j", "cursor_down", show=False),
        Binding("home", "first", show=False),
        Binding("end", "last", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown", "page_down", show=False),
    ]
    DEFAULT_CSS = """
    PairList { background: transparent; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False, compact=True)

    @staticmethod
    def head() -> str:
        """What stands above the columns."""
        return _row(" ", "NAME", _HEAD, "LICENCE")

    def fill(self, offers: Sequence[Offer], running: str | None, highlight: str | None) -> None:
        """Show these; `running` and `highlight` are keys."""
        self.clear_options()
        self.add_options([Option(_of(offer, running=offer.key == running), id=offer.key) for offer in offers])
        keys = [offer.key for offer in offers]
        self.highlighted = keys.index(highlight) if highlight in keys else 0


def _of(offer: Offer, *, running: bool) -> Content:
    size = "?" if offer.size is None else gigabytes(offer.size)
    row = _row("●" if running else " ", offer.name, (size, offer.here, offer.fits), offer.licence or "?")
    return Content.styled(row, "bold") if running else Content(row)


def _row(mark: str, name: str, cells: tuple[str, str, str], licence: str) -> str:
    size, here, fits = cells
    shown = visible(name)
    shown = shown if len(shown) <= _NAME else f"{shown[: _NAME - 1]}…"
    return f"{mark} {shown:<{_NAME}}  {size:>7}  {here:<6}  {fits:<4}  {visible(licence)}"
