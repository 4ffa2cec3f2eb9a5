"""Figures and paragraphs as people read them in a terminal of 80 columns."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from localspec.bench.plots import WIDTH

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True, slots=True)
class Section:
    """One page of the explanation: a title and its lines."""

    title: str
    lines: tuple[str, ...]


def paragraph(text: str, indent: str = "") -> list[str]:
    """The text as lines of at most 78 characters, and an empty one behind them."""
    wrapped = textwrap.wrap(
        " ".join(text.split()), WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return [*wrapped, ""]


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of cells under each other, the first column to the left, the others to the right; an empty line behind."""
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [padded(first, widths[0])]
        cells += [" " * (width - columns_of(cell)) + cell for cell, width in zip(others, widths[1:], strict=True)]
        lines.append(("  " + "   ".join(cells)).rstrip())
    return [*lines, ""]


def token_shown(text: str) -> str:
    """A token's text in quotes, so that spaces and line ends in it are seen."""
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def padded(text: str, width: int) -> str:
    """The text with spaces behind it, to `width` columns."""
    return text + " " * max(0, width - columns_of(text))


def columns_of(text: str) -> int:
    """Columns it takes: characters of East Asia take two, accents that join others none."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def size(count: float) -> str:
    """A number of bytes in three digits."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} bytes"


def billions(count: float) -> str:
    """A number of operations, in words."""
    return f"{count / 1e9:.3g} billion" if count >= 1e9 else f"{count / 1e6:.3g} million"


def milliseconds(seconds: float) -> str:
    """A time in three digits."""
    return f"{seconds * 1e3:.3g} ms"


def speed(tokens_per_second: float) -> str:
    """Tokens a second, in words."""
    return f"{tokens_per_second:.1f} tokens/s"


def share(part: float) -> str:
    """A share in percent, with a tenth below 10 %."""
    return f"{part:.0%}" if part >= 0.0995 else f"{part:.1%}"


def counted(count: int, what: str) -> str:
    """A number of things: "1 text", "2 texts"."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
