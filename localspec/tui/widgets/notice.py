"""What is wrong, why, and what to do: a frame above the composer that stays until it is so no more."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from localspec.errors import LocalspecError
from localspec.terminal import visible
from localspec.tui.engine_state import EngineState


class Notice(Static):
    """Shows one error, or nothing."""

    DEFAULT_CSS = """
    Notice {
        display: none;
        height: auto;
        max-height: 8;
        padding: 0 1;
        border-left: thick $error;
        background: $surface;
    }
    Notice.-shown { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__("", id=id, markup=False)
        self._words = ""

    @property
    def words(self) -> str:
        """What is shown, as text."""
        return self._words

    def tell(self, error: LocalspecError | None, keys: str = "") -> None:
        """Show an error, with the keys that help; None shows nothing."""
        words = "" if error is None else "\n".join(filter(None, (str(error), keys)))
        if words == self._words:
            return
        self._words = words
        self.set_class(bool(words), "-shown")
        if error is not None:
            title, _, rest = visible(words).partition("\n")
            self.update(Content.assemble((title, "bold $text-error"), f"\n{rest}" if rest else ""))


def what_is_wrong(
    engine: EngineState, saving: LocalspecError | None, *, waiting: bool
) -> tuple[LocalspecError | None, str]:
    """The error to show while it stands, and what helps.

    Args:
        engine: as it is.
        saving: why words cannot be saved.
        waiting: whether a question waits for the engine.
    """
    if engine.error is not None:
        return engine.error, "What had come is kept. F10 starts the engine again, F4 chooses another pair."
    if engine.refusal is not None:
        return engine.refusal, f"F4 chooses another pair.{' Your question waits for it.' if waiting else ''}"
    return saving, "Every word is still here. It is saved as soon as that works again."
