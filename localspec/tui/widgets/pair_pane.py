"""What there is to say of the chosen pair: what is going on with it, what went wrong, and all that is known of it."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localspec.errors import LocalspecError
from localspec.pairs.progress import PullProgress
from localspec.pairs.words import Rows
from localspec.terminal import visible
from localspec.tui.widgets.notice import Notice

_BAR = 40  # columns


class PairPane(VerticalScroll, can_focus=True):
    """Scrolls; the tab key comes here."""

    DEFAULT_CSS = """
    PairPane {
        padding: 0 1;
        & > Static { height: auto; }
        & > Notice { max-height: 100%; margin-bottom: 1; }
        & > .news { display: none; margin-bottom: 1; }
        & > .news.-shown { display: block; }
        &:focus { background-tint: $foreground 4%; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._news = Static(classes="news", markup=False)
        self._notice = Notice()
        self._title = Static(markup=False)
        self._facts = Static(markup=False)

    def compose(self) -> ComposeResult:
        """What is new first."""
        yield self._news
        yield self._notice
        yield self._title
        yield self._facts

    def show(self, title: str, rows: Rows) -> None:
        """Show what is known."""
        self._title.update(Content.styled(visible(title), "bold"))
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, style="dim")
        table.add_column(overflow="fold")
        for name, text in rows:
            if text:
                table.add_row(Text(name), Text(visible(text)))
        self._facts.update(table)
        self.scroll_home(animate=False)

    def tell(self, words: str = "", error: LocalspecError | None = None) -> None:
        """Show what is new, or nothing."""
        self._news.set_class(bool(words), "-shown")
        self._news.update(Content(visible(words)))
        self._notice.tell(error)
        self.scroll_home(animate=False)

    def show_progress(self, progress: PullProgress) -> None:
        """Show where something stands."""
        words = progress.words
        if progress.total:
            words = f"{_bar(progress.done / progress.total)}\n{words}"
        self._news.set_class(True, "-shown")
        self._news.update(Content(visible(words)))


def _bar(share: float) -> str:
    whole = int(min(max(share, 0.0), 1.0) * _BAR)
    return "█" * whole + "░" * (_BAR - whole)
