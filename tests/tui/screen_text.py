"""What a person would read off the screen, as plain text."""

from __future__ import annotations

from typing import Any

from textual.app import App


def screen_text(app: App[Any]) -> str:
    """The rows of the screen on top, without spaces at their ends and blank rows at the end."""
    rows = [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]
    return "\n".join(rows).rstrip() + "\n"
