"""What a person would read off the screen, as plain text."""

from __future__ import annotations

from typing import Any

from textual.app import App

MARKUP_TRAPS = (
    "[/b^x [b]y",
    "\\[b]back[/b]",
    "[b",
    "[/",
    "[@click=app.quit]x[/]",
    "$primary [$error]z",
    "end\\",
)
"""Texts that Textual's own escaping does not keep from being read as markup, or might not."""


def screen_text(app: App[Any]) -> str:
    """The rows of the screen on top, without spaces at their ends and blank rows at the end."""
    rows = [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]
    return "\n".join(rows).rstrip() + "\n"
