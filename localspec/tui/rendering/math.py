r"""Formulas stay as they were written: `$x_1$`, `$$…$$`, `\(…\)` and `\[…\]` are no emphasis, no escapes, no lists."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_INLINE = re.compile(
    r"\$\$[^$\n]+?\$\$|\$(?! )[^$\n`]*?(?<![\s\\])\$(?!\d)"
    r"|\\\((?:[^\\\n]|\\(?!\)).)*?\\\)|\\\[(?:[^\\\n]|\\(?!\]).)*?\\\]"
)
"""As Pandoc has it: a dollar opens before a character and closes after one, unless a digit follows: "$5 and $10"."""

_CLOSING = {"$$": "$$", "\\[": "\\]"}


def leave_math_alone(markdown: MarkdownIt) -> None:
    """Teach a parser both rules."""
    markdown.inline.ruler.before("escape", "math_inline", _inline_math)
    markdown.block.ruler.before("fence", "math_block", _math_block, {"alt": ["paragraph", "blockquote", "list"]})


def _inline_math(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    found = _INLINE.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        token = state.push("math_inline", "", 0)
        token.content = found.group()
    state.pos = found.end()
    return True


def _math_block(state: StateBlock, first: int, after: int, silent: bool) -> bool:
    if state.is_code_block(first):
        return False
    opening = _line(state, first)
    closing = _CLOSING.get(opening[:2])
    if closing is None or (closing in opening[2:] and not opening.endswith(closing)):
        return False
    if silent:
        return True
    last = first
    if closing not in opening[2:]:
        # A formula holds no empty line (TeX forbids it), so one that is never closed ends there.
        for last in range(first + 1, after):
            if state.isEmpty(last) or state.sCount[last] < state.blkIndent or _line(state, last).endswith(closing):
                break
    end = last if last > first and (state.isEmpty(last) or state.sCount[last] < state.blkIndent) else last + 1
    state.line = end
    token = state.push("math_block", "", 0)
    token.map = [first, end]
    token.content = state.getLines(first, end, state.blkIndent, False).rstrip("\n")
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()
