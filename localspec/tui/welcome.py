"""What an empty conversation shows: what this is, and the first keys."""

from __future__ import annotations

from textual.content import Content

_KEYS = (
    ("Enter", "send"),
    ("Ctrl+J", "new line"),
    ("Ctrl+S", "speculation on or off"),
    ("Ctrl+T", "who wrote each token"),
    ("Ctrl+G", "compare on and off"),
    ("F4", "pairs of models"),
    ("F1", "all keys"),
)


def welcome() -> Content:
    """A few calm lines."""
    parts: list[Content | str | tuple[str, str]] = [
        ("localspec", "bold $primary"),
        "\n\nA small model guesses, the large one checks:\nits own text, in less time.\n",
    ]
    for key, what in _KEYS:
        parts += ["\n", (f"{key:>8}", "bold"), f"  {what}"]
    return Content.assemble(*parts)
