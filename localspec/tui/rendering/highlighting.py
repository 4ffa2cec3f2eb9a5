"""Colours for code, whole or while it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from pygments.lexer import Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Error, Text
from pygments.util import ClassNotFound
from rich.segment import Segment
from rich.style import Style

from localspec.tui.rendering.palette import Palette

Token = tuple[int, Any, str]
"""Where it begins, its kind, its text."""

_LONGEST = 200_000
"""Characters; more are shown without colours."""


def highlighted(code: str, language: str, palette: Palette) -> list[list[Segment]]:
    """A whole block of visible code without tabs, row by row."""
    lexer = _lexer(language)
    tokens = lexer.get_tokens_unprocessed(code) if lexer and len(code) <= _LONGEST else ()
    return _rows(code, tokens, palette)


class GrowingHighlight:
    """Highlights code that grows. A finished row is read once, unless a comment or the like is still open in it.

    Its colours are those of the whole block wherever the language's rules look only at what came before; a finished
    block is therefore highlighted again as a whole.
    """

    _LONGEST_OPEN = 4000
    """Most characters that are read again because a construct is open."""

    def __init__(self, language: str, palette: Palette) -> None:
        self._lexer = _lexer(language)
        self._palette = palette
        self._stack = ["root"]
        self._open = ""

    def feed(self, added: str) -> tuple[list[list[Segment]], list[list[Segment]]]:
        """Take the next characters of visible code without tabs.

        Returns:
            the rows that are settled now, and those after them, which the next call gives again.
        """
        self._open += added
        tokens, end, self._stack = self._read()
        settled = _rows(self._open[: end - 1], tokens, self._palette) if end else []
        self._open = self._open[end:]
        growing = [(start - end, kind, text) for start, kind, text in tokens if start >= end]
        return settled, _rows(self._open.removesuffix("\n"), growing, self._palette) if self._open else []

    def _read(self) -> tuple[list[Token], int, list[str]]:
        """Tokens of the open text, where its settled part ends, and the lexer's state there."""
        text = self._open
        whole = text.rfind("\n") + 1
        if not isinstance(self._lexer, RegexLexer) or not _keeps_its_state_in_a_stack(self._lexer):
            return list(_row_by_row(self._lexer, text)), whole, self._stack
        stack = list(self._stack)
        end, state = 0, list(stack)
        tokens: list[Token] = []
        reached = 0
        for begins, token in _stepped(self._lexer, text, stack):
            start = token[0]
            if begins and 0 < start <= whole and text[start - 1] == "\n":
                end, state = start, list(stack)
            tokens.append(token)
            reached = start + len(token[2])
        if reached == whole and tokens and not tokens[-1][2].strip():
            end, state = whole, list(stack)
        if whole - end > self._LONGEST_OPEN:
            end = whole
        return tokens, end, state


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    if not language:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _keeps_its_state_in_a_stack(lexer: RegexLexer) -> bool:
    """Whether the lexer is nothing but the table of rules that `_stepped` follows."""
    return type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed


def _stepped(lexer: RegexLexer, text: str, stack: list[str]) -> Iterator[tuple[bool, Token]]:
    """What `RegexLexer.get_tokens_unprocessed` does, with its stack of states in the caller's hands.

    Yields:
        whether a rule matched at this token's beginning, so that `stack` is the state there; and the token.
    """
    place = 0
    while place < len(text):
        for match_at, action, new_state in lexer._tokens[stack[-1]]:  # noqa: SLF001 - what the lexer class compiles
            match = match_at(text, place)
            if not match:
                continue
            if action is not None:
                kinds = [(place, action, match.group())] if isinstance(action, type(Text)) else action(lexer, match)
                for index, token in enumerate(kinds):
                    yield index == 0, token
            place = match.end()
            if new_state is not None:
                _change(stack, new_state)
            break
        else:
            if text[place] == "\n":
                # As pygments does: a line end that no rule knows begins anew.
                stack[:] = ["root"]
            yield True, (place, Text if text[place] == "\n" else Error, text[place])
            place += 1


def _change(stack: list[str], new_state: Any) -> None:
    if isinstance(new_state, int):
        del stack[max(1, len(stack) + new_state) :]
        return
    for state in new_state if isinstance(new_state, tuple) else (new_state,):
        if state == "#pop":
            del stack[max(1, len(stack) - 1) :]
        else:
            stack.append(stack[-1] if state == "#push" else state)


def _row_by_row(lexer: Lexer | None, text: str) -> Iterator[Token]:
    if lexer is None:
        return
    place = 0
    for row in text.splitlines(keepends=True):
        for start, kind, piece in lexer.get_tokens_unprocessed(row):
            yield place + start, kind, piece
        place += len(row)


def _rows(code: str, tokens: Iterable[Token], palette: Palette) -> list[list[Segment]]:
    """The rows of the code in the tokens' styles. The text is the code's own: a lexer may leave some of it out."""
    rows: list[list[Segment]] = [[]]
    place = 0
    for start, kind, text in tokens:
        end = min(start + len(text), len(code))
        if start > place:
            _put(rows, code[place:start], palette.block)
        if end > max(place, start):
            _put(rows, code[max(place, start) : end], _style(palette, kind))
            place = end
    _put(rows, code[place:], palette.block)
    return rows


def _put(rows: list[list[Segment]], text: str, style: Style) -> None:
    first, *following = text.split("\n")
    if first:
        rows[-1].append(Segment(first, style))
    rows.extend([Segment(piece, style)] if piece else [] for piece in following)


@lru_cache(maxsize=1024)
def _style(palette: Palette, kind: Any) -> Style:
    while kind is not None:
        if kind in palette.syntax:
            return palette.block + palette.syntax[kind]
        kind = kind.parent
    return palette.block
