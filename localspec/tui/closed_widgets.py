"""Closed widgets that Textual keeps in memory, with all that they drew, and how they are let go of."""

from __future__ import annotations

from functools import lru_cache

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.dom import DOMNode
from textual.style import Style


@lru_cache(1024)
def _inner_outer(base_background: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base_background + background), Style(background=base_background)


def look_styles_up_by_colours() -> None:
    """Have the styles of a widget's ground looked up by its two colours alone.

    Textual's own look-up is a cache on a method: its keys hold what draws the widget, with all the lines that it drew.
    So each dialog that was closed stays in memory until a thousand other widgets were drawn: up to a megabyte.
    """

    def get_inner_outer(_: StylesCache, base_background: Color, background: Color) -> tuple[Style, Style]:
        return _inner_outer(base_background, background)

    StylesCache.get_inner_outer = get_inner_outer  # type: ignore[method-assign, assignment] # a cache's type is its own


def forget_closed_watchers(watched: DOMNode) -> None:
    """Forget the closed widgets that watched it: Textual does so only when what they watched changes, if ever.

    Args:
        watched: what outlives them.
    """
    for watchers in getattr(watched, "__watchers", {}).values():
        watchers[:] = [(node, callback) for node, callback in watchers if not node._closing]  # noqa: SLF001 - it has no other name
