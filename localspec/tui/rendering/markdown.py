"""Markdown as lines: piece by piece, where a piece is a block or one item of a list.

How a piece looks follows from its own source and from what came right before it, never from what comes later. So an
answer can be rendered while it is written: what is finished stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token
from rich.segment import Segment

from localspec.terminal import visible
from localspec.tui.rendering.code import CodeBlock, GrowingBlock, block_lines, language_of
from localspec.tui.rendering.inline import blocks, inline_lines
from localspec.tui.rendering.lines import BLANK, Line, frame, prefixed, wrapped_text
from localspec.tui.rendering.palette import Palette
from localspec.tui.rendering.table import table_lines

_BULLETS = "•◦▪"
_CODE = ("fence", "code_block")


@dataclass(frozen=True, slots=True)
class Piece:
    """A block, or an item of a list.

    Attributes:
        kind: the type of its first token.
        tokens: of the block, its first and last one included.
        first: line of the source where it begins.
        end: line after its last one.
        list: for an item: which kind of list it is of, and its number; None for other blocks.
    """

    kind: str
    tokens: Sequence[Token]
    first: int
    end: int
    list: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Before:
    """What came before a piece, as far as its looks depend on it.

    Attributes:
        kind: of the piece right before; "" for none.
        list: of that piece, its number as it was shown.
        blocks: how many blocks of code there were.
    """

    kind: str = ""
    list: tuple[str, int] | None = None
    blocks: int = 0


@dataclass(slots=True)
class Page:
    """What a text is rendered for.

    Attributes:
        palette: how it is shown.
        source: the lines of the text.
        growing: renders the block of code that ends the text, when the text is not finished.
        blocks: how many blocks of code were rendered.
        after_gap: whether the line before the text was empty.
        is_numbered: whether blocks of code say how to copy them.
    """

    palette: Palette
    source: list[str]
    growing: GrowingBlock | None = None
    blocks: int = 0
    after_gap: bool = False
    is_numbered: bool = True

    def gap_before(self, line: int) -> bool:
        """Whether the source has an empty line before this one."""
        return not self.source[line - 1].strip(" \t>") if line else self.after_gap

    def ends_with(self, piece: Piece) -> bool:
        """Whether nothing follows the piece."""
        return piece.end >= len(self.source) - (not self.source[-1].strip())


def markdown_lines(text: str, width: int, palette: Palette, *, numbered: bool = True) -> list[Line]:
    """A whole Markdown text as lines.

    Args:
        text: from anywhere.
        width: in cells; no line is wider.
        palette: how it is shown.
        numbered: whether blocks of code say how to copy them.
    """
    text = visible(text)
    page = Page(palette, text.split("\n"), is_numbered=numbered)
    return piece_lines(pieces(blocks(text)), Before(), width, page)[0]


def code_blocks(text: str) -> list[CodeBlock]:
    """The blocks of code in a Markdown text, in the order of their numbers."""
    source, shown = _code_tokens(text), _code_tokens(visible(text))
    # Characters that are shown as signs may have meant something to the parser; then what is shown counts.
    exact = source if len(source) == len(shown) else shown
    return [CodeBlock(language_of(token.info), token.content) for token in exact]


def pieces(tokens: Sequence[Token]) -> Iterator[Piece]:
    """The pieces of a text's tokens, or of the tokens inside of a block."""
    index = 0
    while index < len(tokens):
        end = _end(tokens, index)
        token = tokens[index]
        if token.type in ("bullet_list_open", "ordered_list_open"):
            yield from _items(tokens[index + 1 : end - 1], token)
        else:
            first, last = token.map or (0, 0)
            yield Piece(token.type, tokens[index:end], first, last)
        index = end


def piece_lines(
    parts: Iterator[Piece] | Sequence[Piece], before: Before, width: int, page: Page, depth: int = 0
) -> tuple[list[Line], Before]:
    """The lines of pieces that follow each other, and what the next one has before it."""
    lines: list[Line] = []
    page.blocks = max(page.blocks, before.blocks)
    for piece in parts:
        number = piece.list
        if number and before.list and number[0] == before.list[0]:
            number = (number[0], before.list[1] + 1)
        if before.kind and _apart(piece, before, page):
            lines.append(BLANK)
        lines.extend(_piece(piece, number, width, page, depth))
        before = Before(piece.kind, number, page.blocks)
    return lines, before


def _apart(piece: Piece, before: Before, page: Page) -> bool:
    """Whether a piece stands apart from the one before it."""
    if piece.list:
        tight = before.list is not None or before.kind == "paragraph_open"
        return page.gap_before(piece.first) or not tight
    return True


def _piece(piece: Piece, number: tuple[str, int] | None, width: int, page: Page, depth: int) -> list[Line]:
    palette = page.palette
    token = piece.tokens[0]
    lines: list[Line]
    match piece.kind:
        case "paragraph_open":
            lines = list(inline_lines(piece.tokens[1].content, palette.text, palette, width))
        case "heading_open":
            style = {"h1": palette.first_heading, "h2": palette.heading}.get(token.tag, palette.text + palette.strong)
            lines = list(inline_lines(piece.tokens[1].content, style, palette, width))
        case "fence" | "code_block":
            lines = _code(piece, width, page)
        case "list_item_open":
            lines = _item(piece, number or ("", 1), width, page, depth)
        case "blockquote_open":
            bar = Segment("▎ ", palette.mark)
            lines = prefixed(_inside(piece, width - 2, page, depth)[0], bar, bar)
        case "table_open":
            lines = table_lines(piece.tokens, width, palette)
        case "hr":
            lines = [frame("─" * width, palette.rule)]
        case _:
            lines = wrapped_text(token.content, palette.text + palette.emphasis, width)
    return lines


def _code(piece: Piece, width: int, page: Page) -> list[Line]:
    token = piece.tokens[0]
    page.blocks += 1
    number = page.blocks if page.is_numbered else 0
    what = (token.content, language_of(visible(token.info)), number, width, page.palette)
    if page.growing and page.ends_with(piece):
        return page.growing.lines(*what)
    return block_lines(*what)


def _item(piece: Piece, number: tuple[str, int], width: int, page: Page, depth: int) -> list[Line]:
    ordered = piece.tokens[0].info != ""
    mark = f"{number[1]}." if ordered else _BULLETS[min(depth, len(_BULLETS) - 1)]
    inner, _ = _inside(piece, width - len(mark) - 1, page, depth + 1)
    return prefixed(inner or [BLANK], Segment(f"{mark} ", page.palette.mark), copied=True)


def _inside(piece: Piece, width: int, page: Page, depth: int) -> tuple[list[Line], Before]:
    return piece_lines(pieces(piece.tokens[1:-1]), Before(), max(width, 2), page, depth)


def _items(tokens: Sequence[Token], opening: Token) -> Iterator[Piece]:
    kind = f"{opening.tag}{opening.markup}"
    start = int(opening.attrs.get("start", 1))
    index = 0
    while index < len(tokens):
        end = _end(tokens, index)
        first, last = tokens[index].map or (0, 0)
        yield Piece("list_item_open", tokens[index:end], first, last, (kind, start))
        start += 1
        index = end


def _end(tokens: Sequence[Token], index: int) -> int:
    """Index after the block that begins at `index`."""
    depth = 0
    while True:
        depth += tokens[index].nesting
        index += 1
        if depth == 0:
            return index


def _code_tokens(text: str) -> list[Token]:
    return [token for token in blocks(text) if token.type in _CODE]
