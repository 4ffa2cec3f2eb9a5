"""The colours: two themes of our own, one for dark and one for light terminals, beside all of Textual's."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="localspec-dark",
    primary="#7aa2f7",
    secondary="#9d7cd8",
    accent="#e0af68",
    foreground="#c8d0e8",
    background="#13151f",
    surface="#181b28",
    panel="#1f2335",
    success="#73c991",
    warning="#e0af68",
    error="#f7768e",
    dark=True,
    variables={"border": "#7aa2f7", "border-blurred": "#333a55", "footer-key-foreground": "#7aa2f7"},
)

LIGHT = Theme(
    name="localspec-light",
    primary="#2e5cb8",
    secondary="#7847bd",
    accent="#8a5a00",
    foreground="#23283b",
    background="#fbfbfd",
    surface="#f3f4f9",
    panel="#e6e9f3",
    success="#2f7d4f",
    warning="#8a5a00",
    error="#b3263f",
    dark=False,
    variables={"border": "#2e5cb8", "border-blurred": "#c3c9dd", "footer-key-foreground": "#2e5cb8"},
)

THEMES = (DARK, LIGHT)
