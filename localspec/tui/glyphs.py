"""The signs that are not letters: blocks, dots and arrows, or ASCII where a terminal has none of those."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One cell each, but `arrow` and `ellipsis`.

    Attributes:
        kept: a guess that was kept.
        corrected: the target's own token in place of a guess.
        unused: a guess after a corrected one.
        bonus: the target's own token after a draft that was kept whole.
        plain: a token in a round without guesses.
        parts: a cell filled from the left by 1/n, 2/n, ... n/n, where n is their number.
        heights: the same from below.
        empty: a cell of a bar that is not filled.
        line: part of a line between two sections.
        pointer: stands before what is chosen.
        arrow: from the draft to the target.
        dot: between two facts.
        ellipsis: in place of what was cut off.
        digits: whether there are box-drawing signs to draw large digits with.
    """

    kept: str = "●"
    corrected: str = "◇"
    unused: str = "○"
    bonus: str = "◆"
    plain: str = "·"
    parts: str = "▏▎▍▌▋▊▉█"
    heights: str = "▁▂▃▄▅▆▇█"
    empty: str = " "
    line: str = "─"
    pointer: str = "▸"
    arrow: str = "←"
    dot: str = "·"
    ellipsis: str = "…"
    digits: bool = True

    def bar(self, share: float, cells: int) -> str:
        """A bar of so many cells, filled from the left; anything above nothing is seen."""
        steps = len(self.parts)
        filled = min(max(round(share * cells * steps), 1 if share > 0 else 0), cells * steps)
        whole, rest = divmod(filled, steps)
        return (self.parts[-1] * whole + (self.parts[rest - 1] if rest else "")).ljust(cells, self.empty)

    def curve(self, values: tuple[float, ...]) -> str:
        """One cell a value; the largest one is as high as a cell, and 0 is its floor."""
        top = max(values, default=0.0)
        steps = len(self.heights)
        return "".join(self.heights[max(round(value / top * steps), 1) - 1 if top else 0] for value in values)


ASCII = Glyphs("#", "x", ".", "+", "-", "#", "_.-=*#", ".", "-", ">", "<-", "-", "...", digits=False)
"""For terminals and fonts that have nothing else."""


_LARGE = {
    "0": ("┏━┓", "┃ ┃", "┗━┛"),
    "1": (" ╺┓", "  ┃", "  ╹"),
    "2": ("╺━┓", "┏━┛", "┗━╸"),
    "3": ("╺━┓", " ━┫", "╺━┛"),
    "4": ("╻ ╻", "┗━┫", "  ╹"),
    "5": ("┏━╸", "┗━┓", "╺━┛"),
    "6": ("┏━╸", "┣━┓", "┗━┛"),
    "7": ("╺━┓", "  ┃", "  ╹"),
    "8": ("┏━┓", "┣━┫", "┗━┛"),
    "9": ("┏━┓", "┗━┫", "╺━┛"),
    "-": ("   ", "╺━╸", "   "),
    ".": (" ", " ", "•"),
    "x": ("  ", "  ", " ×"),  # noqa: RUF001 - the sign that is meant
}


def large_number(number: str) -> tuple[str, str, str]:
    """Digits, points and signs in three rows of box-drawing signs."""
    top, middle, bottom = zip(*(_LARGE[sign] for sign in number), strict=True)
    return "".join(top), "".join(middle), "".join(bottom)


def glyphs_for(environ: Mapping[str, str], encoding: str) -> Glyphs:
    """LOCALSPEC_ASCII=1 asks for ASCII, 0 for the others; else the terminal decides.

    Args:
        environ: the environment.
        encoding: of the terminal.
    """
    wish = environ.get("LOCALSPEC_ASCII", "")
    if wish:
        return Glyphs() if wish == "0" else ASCII
    # The console of Linux itself has a font of 256 signs.
    can = encoding.casefold().replace("-", "").startswith("utf") and environ.get("TERM") != "linux"
    return Glyphs() if can else ASCII


@cache
def glyphs() -> Glyphs:
    """Those of this terminal."""
    terminal = sys.__stdout__
    return glyphs_for(os.environ, (terminal.encoding if terminal else None) or "utf-8")
