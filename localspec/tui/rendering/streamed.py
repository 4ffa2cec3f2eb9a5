"""Markdown that is still being written: only what may still change is rendered again, finished pieces stay."""

from __future__ import annotations

import re
from dataclasses import dataclass

from localspec.terminal import VisibleStream, visible
from localspec.tui.rendering.code import GrowingBlock, language_of
from localspec.tui.rendering.inline import blocks
from localspec.tui.rendering.lines import BLANK, Line
from localspec.tui.rendering.markdown import Before, Page, Piece, markdown_lines, piece_lines, pieces
from localspec.tui.rendering.palette import Palette

_OPENING = re.compile(r"( {0,3})(`{3,}|~{3,})([^\n]*)\n")
_LONGEST = {"paragraph_open": 1600}
_LONGEST_OTHER = 4000
"""Characters of a piece that are rendered again for each frame. A longer one is cut there until the text is whole."""

_ONLY_MARKS = re.compile(r" *(?:[`~#*_=|>+-]{1,3}|\d{1,3}[.)]?)")
"""The beginning of a line that does not show yet what it will be."""


@dataclass(slots=True)
class _Fence:
    """A block of code that ends the text and is not closed.

    Attributes:
        closing: what a line that closes it is.
        language: of its code.
        indent: blanks that each row may have before it, and that are not part of it.
        begins: index in the text of its first row.
        searched: index in the text up to which no closing line is.
    """

    closing: re.Pattern[str]
    language: str
    indent: int
    begins: int
    searched: int


class StreamedMarkdown:
    """A Markdown text that grows. After `finish`, its lines are those of the whole text rendered at once.

    Attributes:
        text: all of it that can be shown, control characters made visible.
    """

    def __init__(self, width: int, palette: Palette, *, numbered: bool = True) -> None:
        """Begin empty; the arguments are those of `markdown_lines`."""
        self.text = ""
        self._is_numbered = numbered
        self._width = width
        self._palette = palette
        self._stream = VisibleStream()
        self._done: list[Line] = []
        self._tail: list[Line] = []
        self._tail_from = 0
        self._before = Before()
        self._after_gap = False
        self._growing = GrowingBlock()
        self._fence: _Fence | None = None
        self._was_cut = False

    @property
    def lines(self) -> list[Line]:
        """All lines, as of the last call."""
        return [*self._done, *self._tail]

    @property
    def settled(self) -> int:
        """How many of the lines stay as they are while the text goes on."""
        return len(self._done)

    def append(self, text: str) -> None:
        """Take the next characters."""
        self.text += self._stream.feed(text)
        if self._fence is None or self._is_closed(self._fence):
            self._render_pieces()
        if self._fence is not None:
            self._tail = self._fence_lines(self._fence)

    def finish(self) -> None:
        """Nothing more comes."""
        self.text += self._stream.finish()
        self._fence = None
        if self._was_cut:
            self._done = markdown_lines(self.text, self._width, self._palette, numbered=self._is_numbered)
        else:
            tail = self.text[self._tail_from :]
            self._settle(list(pieces(blocks(tail))), self._page(tail))
        self._tail_from = len(self.text)
        self._tail = []

    def _page(self, tail: str) -> Page:
        return Page(self._palette, tail.split("\n"), after_gap=self._after_gap, is_numbered=self._is_numbered)

    def _render_pieces(self) -> None:
        """Settle the pieces that are finished, and render the last one as it is now."""
        tail = _mended(self.text[self._tail_from :])
        page = self._page(tail)
        parts = list(pieces(blocks(tail)))
        settled = _finished(parts, page)
        self._settle(parts[:settled], page)
        rest = parts[settled:]
        first = rest[0].first if rest else parts[-1].end if parts else 0
        if first:
            self._after_gap = page.gap_before(first)
            self._tail_from += sum(len(line) + 1 for line in page.source[:first])
        self._fence = _open_fence(self.text, self._tail_from)
        if self._fence is None:
            page.growing = self._growing
            self._tail = piece_lines(rest, self._before, self._width, page)[0]
            if rest:
                self._cut(rest[0])

    def _settle(self, parts: list[Piece], page: Page) -> None:
        if parts:
            lines, self._before = piece_lines(parts, self._before, self._width, page)
            self._done.extend(lines)
            self._growing = GrowingBlock()

    def _cut(self, piece: Piece) -> None:
        """Settle what there is of a piece that has grown too long to be rendered again and again."""
        tail = self.text[self._tail_from :]
        # Of a block of code in an item, most is not read again anyway.
        longest = 3 * _LONGEST_OTHER if tail.count("```") % 2 else _LONGEST.get(piece.kind, _LONGEST_OTHER)
        if len(tail) <= longest:
            return
        end = tail.rfind(" " if piece.kind == "paragraph_open" else "\n") + 1 or len(tail)
        page = self._page(tail[:end])
        self._settle(list(pieces(blocks(tail[:end]))), page)
        self._before = Before(blocks=self._before.blocks)
        self._tail_from += end
        self._tail = []
        self._was_cut = True

    def _is_closed(self, fence: _Fence) -> bool:
        complete = self.text.rfind("\n") + 1
        found = fence.closing.search(self.text, fence.searched, complete)
        fence.searched = max(fence.searched, complete)
        return found is not None

    def _fence_lines(self, fence: _Fence) -> list[Line]:
        code = self.text[fence.begins :]
        rest = code[code.rfind("\n") + 1 :]
        if rest and not rest.strip("`~ "):
            # It may become the closing line.
            code = code[: len(code) - len(rest)]
        if fence.indent:
            code = re.sub(rf"^ {{1,{fence.indent}}}", "", code, flags=re.MULTILINE)
        before = [BLANK] if self._before.kind else []
        number = self._before.blocks + 1 if self._is_numbered else 0
        return [*before, *self._growing.lines(code, fence.language, number, self._width, self._palette)]


def _finished(parts: list[Piece], page: Page) -> int:
    """How many of the pieces nothing that follows can change."""
    if not parts:
        return 0
    # A last line that is not complete may still turn out to belong to the piece before it.
    complete = len(page.source) - 1
    last = parts[-1]
    if last.kind == "fence" and last.end <= complete and last.end - last.first > 1:
        closing = page.source[last.end - 1].strip()
        if closing and not closing.strip(last.tokens[0].markup[0]) and len(closing) >= len(last.tokens[0].markup):
            return len(parts)
    return max((index for index, part in enumerate(parts) if part.first < complete), default=0)


def _open_fence(text: str, place: int) -> _Fence | None:
    """The block of code that begins there and is not closed."""
    opening = _OPENING.match(text, place)
    if opening is None or (opening[2][0] == "`" and "`" in opening[3]):
        return None
    closing = re.compile(rf"^ {{0,3}}{opening[2][0]}{{{len(opening[2])},}}[ \t]*\n", re.MULTILINE)
    if closing.search(text, opening.end()):
        return None
    language = language_of(visible(opening[3]))
    return _Fence(closing, language, len(opening[1]), opening.end(), max(opening.end(), text.rfind("\n") + 1))


def _mended(tail: str) -> str:
    """The text as it will probably go on: a beginning that shows nothing yet is held back, what is open is closed."""
    start = tail.rfind("\n") + 1
    if _ONLY_MARKS.fullmatch(tail, start):
        return tail[:start]
    paragraph = tail[tail.rfind("\n\n") + 1 :]
    if tail.count("```") % 2 or not tail[start:].strip():
        return tail
    if paragraph.count("`") % 2:
        return tail + "`"
    if paragraph.count("**") % 2:
        bare = tail.rstrip(" ")
        return bare[:-2] if bare.endswith("**") else bare + "**"
    return tail
