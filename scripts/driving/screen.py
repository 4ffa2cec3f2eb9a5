"""What a terminal shows, made from what a program writes: as much of it as Textual uses."""

from __future__ import annotations

import re

from rich.cells import cell_len

_PIECE = re.compile(
    r"\x1b\[(?P<parameters>[0-9;:?<>=!]*)[ -/]*(?P<command>[@-~])"
    r"|\x1b[\]P_^X](?P<string>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[()*+].|\x1b[^\[\]P_^X()*+]"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]+)",
    re.DOTALL,
)


class Screen:
    """Cells, and where the cursor is.

    Attributes:
        odd: control characters and strings that came which no full-screen program has a use for; text that was pasted
            must never come out so.
        alternate: whether the program holds the alternate screen.
    """

    def __init__(self, columns: int, rows: int) -> None:
        """Begin empty."""
        self.odd: list[str] = []
        self.alternate = False
        self._held = ""
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        """Begin anew in another size: who was resized draws everything again."""
        self.columns, self.rows = columns, rows
        self._cells = [[" "] * columns for _ in range(rows)]
        self._x = self._y = 0

    @property
    def lines(self) -> list[str]:
        """The rows, as text."""
        return ["".join(row) for row in self._cells]

    def feed(self, written: str) -> None:
        """Take what the program wrote."""
        written, self._held = self._held + written, ""
        at = 0
        while at < len(written):
            piece = _PIECE.match(written, at)
            if piece is None:  # an escape sequence that is still to come
                self._held = written[at:]
                return
            at = piece.end()
            if text := piece["text"]:
                self._write(text)
            elif piece["command"]:
                self._obey(piece["command"], piece["parameters"])
            elif piece["string"] is not None:
                self._note_string(piece["string"])
            elif piece["control"]:
                self._steer(piece["control"])

    def _write(self, text: str) -> None:
        if self._y >= self.rows:
            return
        row = self._cells[self._y]
        if text.isascii():
            end = min(self._x + len(text), self.columns)
            row[self._x : end] = text[: end - self._x]
            self._x = end
            return
        for character in text:
            width = cell_len(character)
            if width == 0:
                row[max(self._x - 1, 0)] += character
            elif self._x + width <= self.columns:
                row[self._x : self._x + width] = [character, ""][:width]
                self._x += width

    def _obey(self, command: str, parameters: str) -> None:
        numbers = [int(number) if number.isdecimal() else 0 for number in parameters.lstrip("?<>=!").split(";")]
        if command in "Hf":
            self._y = min(max(numbers[0], 1), self.rows) - 1
            self._x = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.columns) - 1
        elif command in "ABCD":
            step = max(numbers[0], 1)
            self._y = min(max(self._y + {"A": -step, "B": step}.get(command, 0), 0), self.rows - 1)
            self._x = min(max(self._x + {"C": step, "D": -step}.get(command, 0), 0), self.columns - 1)
        elif command == "J":
            self.resize(self.columns, self.rows)
        elif command == "K":
            self._cells[self._y][self._x :] = [" "] * (self.columns - self._x)
        elif command in "hl" and parameters == "?1049":
            self.alternate = command == "h"
        elif command not in "hlmnpqrtucs":
            self.odd.append(f"CSI {parameters}{command}")

    def _steer(self, control: str) -> None:
        if control == "\r":
            self._x = 0
        elif control == "\n":
            self._y = min(self._y + 1, self.rows - 1)
        elif control == "\b":
            self._x = max(self._x - 1, 0)
        else:
            self.odd.append(repr(control))

    def _note_string(self, string: str) -> None:
        # 52 is the clipboard; 22 the shape of the mouse pointer; G a question about pictures.
        if not string.startswith(("52;", "22;", "G", "+q")):
            self.odd.append(f"string {string[:60]!r}")
