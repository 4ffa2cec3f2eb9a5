"""Lines a person types: edited, remembered, and joined when they belong together."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

from localspec.errors import UsageError

try:
    import readline
except ImportError:  # Windows: its console edits lines by itself
    readline = None  # type: ignore[assignment] # as told by the checks below

_LINES_KEPT = 1000


class LineReader:
    """Reads messages from stdin.

    A line that ends in a backslash goes on in the next one; a text pasted into a terminal stays whole.

    Attributes:
        person: whether a terminal is there to ask and to be asked.
    """

    def __init__(self, history_file: Path) -> None:
        """Take over the terminal's line editing; `history_file` remembers the lines of earlier days."""
        self.person = sys.stdin.isatty()
        if not self.person and isinstance(sys.stdin, io.TextIOWrapper):
            # Python's own choice depends on the locale, and may let through what is no text.
            sys.stdin.reconfigure(encoding="utf-8", errors="strict")
        self._edits = self.person and sys.stdout.isatty()
        self._history = history_file if self._edits and readline is not None else None
        if self._history is not None:
            self._remember_earlier_lines(self._history)

    def read(self) -> str:
        """The next message.

        Raises:
            EOFError: there are no more.
            KeyboardInterrupt: Ctrl-C.
            UsageError: stdin is not text.
        """
        lines = [self.ask("> ")]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(self.ask(". "))
        text = "\n".join(lines)
        if self._history is not None and text.strip():
            readline.add_history(text)
            # A history that cannot be written is not worth a word in every line.
            with contextlib.suppress(OSError):
                readline.append_history_file(1, str(self._history))
        return text

    def ask(self, prompt: str) -> str:
        """One line, not remembered; the prompt is shown only to a person. Raises as `read` does."""
        if self.person and not self._edits:
            # Python would write the prompt to stdout, which goes elsewhere.
            sys.stderr.write(prompt)
            sys.stderr.flush()
        try:
            return input(prompt if self._edits else "")
        except UnicodeDecodeError:
            raise UsageError("What stdin holds is not text", "It is not UTF-8.", "Convert it first.") from None

    @property
    def unfinished(self) -> bool:
        """Whether Ctrl-C met a line that was begun, and only threw that away."""
        return self._edits and readline is not None and bool(readline.get_line_buffer())

    def _remember_earlier_lines(self, file: Path) -> None:
        readline.set_auto_history(False)
        readline.set_history_length(_LINES_KEPT)
        if "libedit" not in (readline.__doc__ or ""):
            readline.parse_and_bind("set enable-bracketed-paste on")
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            # What a person asks a model is theirs alone.
            file.touch(mode=0o600)
            readline.read_history_file(str(file))
            if readline.get_current_history_length() > _LINES_KEPT:
                readline.write_history_file(str(file))
