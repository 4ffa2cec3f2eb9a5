"""What a terminal sends: keys by the names that Textual gives them, the mouse, pastes."""

from __future__ import annotations

import random

_PLAIN = {
    "enter": "\r", "escape": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z", "backspace": "\x7f", "delete": "\x1b[3~",
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
    "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "space": " ",
    "f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~",
    "f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
    "alt+left": "\x1b[1;3D", "alt+right": "\x1b[1;3C", "alt+up": "\x1b[1;3A", "alt+down": "\x1b[1;3B",
    "shift+left": "\x1b[1;2D", "shift+right": "\x1b[1;2C", "ctrl+home": "\x1b[1;5H", "ctrl+end": "\x1b[1;5F",
}  # fmt: skip

WORDS = (
    "whale", "the", "a", "and", "story", "of", "short", "list", "why", "green", "seven", "harbour", "über", "naïve",
    "日本語", "🦊", "👩‍👩‍👧", "مرحبا", "שלום", "e\u0301",
    "`code`", "**bold**", "[b]not markup[/b]", "<|im_end|>", "x < y",
)  # fmt: skip


def key(name: str) -> str:
    """What a terminal sends for a key."""
    if name in _PLAIN:
        return _PLAIN[name]
    modifier, _, letter = name.partition("+")
    return "\x1b" + letter if modifier == "alt" else chr(ord(letter.upper()) & 0x1F)


def pasted(text: str) -> str:
    """A paste, as a terminal that was asked to tells it apart from keys."""
    return f"\x1b[200~{text}\x1b[201~"


def mouse(dice: random.Random, columns: int, rows: int) -> str:
    """A click, a drag, a turn of the wheel or a movement, anywhere but on the last row, where a click may quit."""
    x, y = dice.randint(1, columns), dice.randint(1, max(rows - 1, 1))
    kind = dice.choice(("click", "double", "drag", "wheel", "move", "right"))
    if kind == "wheel":
        return f"\x1b[<{dice.choice((64, 65))};{x};{y}M" * dice.randint(1, 8)
    if kind == "move":
        return f"\x1b[<35;{x};{y}M"
    if kind == "drag":
        to_x, to_y = dice.randint(1, columns), dice.randint(1, max(rows - 1, 1))
        to = f"{to_x};{to_y}"
        return f"\x1b[<0;{x};{y}M\x1b[<32;{(x + to_x) // 2};{(y + to_y) // 2}M\x1b[<32;{to}M\x1b[<0;{to}m"
    button = 2 if kind == "right" else 0
    return f"\x1b[<{button};{x};{y}M\x1b[<{button};{x};{y}m" * (2 if kind == "double" else 1)


def words(dice: random.Random, count: int) -> str:
    """So many words, in any script."""
    return " ".join(dice.choice(WORDS) for _ in range(count))


def hostile(dice: random.Random) -> str:
    """Text that would do something to a terminal, were it drawn as it is."""
    return dice.choice(
        (
            "\x1b]0;title\x07", "\x1b[2J\x1b[31mred", "\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\", "\x9b5n",
            "\x1bP1$r\x1b\\", "bell\x07 back\x08space \x7f \x00", "\u202eright to left\u2066", "line\u2028separator",
            "\x1b[?1049l\x1b[?1000l", "tab\there", "cr\rlf\r\nend", "\ufeffmark \ufffe",
        )
    )  # fmt: skip
