"""Markdown inside a block: emphasis, code, links and images as styled text. Nothing in it can be clicked or hidden."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.segment import Segment
from rich.style import Style

from localspec.terminal import visible
from localspec.tui.rendering.lines import Line, wrapped
from localspec.tui.rendering.math import leave_math_alone
from localspec.tui.rendering.palette import Palette


def _parser() -> MarkdownIt:
    # HTML is text here. A link's address is shown where the link stands, so definitions of addresses elsewhere are left
    # as they are written: nothing of an answer is swallowed, and no later line changes an earlier one.
    markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
    markdown.disable(["reference", "html_block", "html_inline"]).disable(["inline", "text_join"])
    markdown.use(leave_math_alone)
    return markdown


_PARSER = _parser()

_LONGEST_KEPT = 400
"""Characters: of a longer one, that grows, each frame would leave a version behind."""


def blocks(text: str) -> list[Token]:
    """The block tokens of a Markdown text, their inline content not parsed yet.

    Args:
        text: visible text.
    """
    return _PARSER.parse(text)


def inline_lines(source: str, base: Style, palette: Palette, width: int) -> tuple[Line, ...]:
    """The inline Markdown of a block as lines. Short ones are kept: most of what streams was there a frame ago."""
    if len(source) > _LONGEST_KEPT:
        return _lines(source, base, palette, width)
    return _kept_lines(source, base, palette, width)


def _lines(source: str, base: Style, palette: Palette, width: int) -> tuple[Line, ...]:
    tokens: list[Token] = []
    _PARSER.inline.parse(source, _PARSER, {}, tokens)
    runs = [Segment(visible(text).replace("\t", " "), style) for text, style in _styled(tokens, base, palette) if text]
    return tuple(wrapped(runs, width))


_kept_lines = lru_cache(maxsize=1024)(_lines)


def _styled(tokens: list[Token], base: Style, palette: Palette) -> Iterator[tuple[str, Style]]:
    opening = {"strong_open": palette.strong, "em_open": palette.emphasis, "s_open": palette.struck}
    styles = [base]
    addresses: list[str] = []
    linked = ""
    for token in tokens:
        if token.type in opening:
            styles.append(styles[-1] + opening[token.type])
        elif token.type in ("strong_close", "em_close", "s_close"):
            styles.pop()
        elif token.type == "link_open":
            addresses.append(str(token.attrs.get("href", "")))
            styles.append(styles[-1] + palette.link)
            linked = ""
        elif token.type == "link_close":
            styles.pop()
            address = addresses.pop()
            if address not in (linked, f"mailto:{linked}"):
                yield f" ({address})", base + palette.address
        elif token.type == "code_inline":
            linked += token.content
            # Where a theme has no panel to set code on, only a colour would tell it.
            mark = "`" if palette.code.bgcolor is None else ""
            yield f"{mark}{token.content}{mark}", styles[-1] + palette.code
        elif token.type == "image":
            yield f"[image: {token.content or 'without a name'}]", styles[-1] + palette.emphasis
            yield f" ({token.attrs.get('src', '')})", base + palette.address
        elif token.type in ("softbreak", "hardbreak"):
            yield "\n", base
        else:
            linked += token.content
            yield token.content, styles[-1]
