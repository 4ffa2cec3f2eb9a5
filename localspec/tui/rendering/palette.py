"""The colours and attributes that text is shown in, taken from a theme."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pygments.token import Comment, Error, Generic, Keyword, Literal, Name, Number, Operator, String
from rich.style import Style

from localspec.decoding.rounds import Origin

Resolve = Callable[[str], Style]
"""Makes a style of a definition such as "bold $text-primary on $panel"."""


_STYLES = {
    "text": "$text",
    "muted": "dim $text",
    "user": "bold $text-accent on $surface",
    "user_text": "$text on $surface",
    "user_muted": "dim $text on $surface",
    "model": "bold $text-primary",
    "figures": "$text-success",
    "chosen": "bold $accent",
    "heading": "bold $text-primary",
    "first_heading": "bold underline $text-primary",
    "strong": "bold",
    "emphasis": "italic",
    "struck": "strike",
    "code": "$text-warning on $panel",
    "link": "underline $text-primary",
    "address": "dim $text",
    "mark": "$text-secondary",
    "rule": "dim $text",
    "quote": "italic dim $text",
    "thinking": "italic dim $text",
    "block": "$text on $panel",
    "block_head": "dim $text on $panel",
    "block_language": "bold $text-secondary on $panel",
    "warning": "$text-warning",
    "failure": "bold $text-error",
    "draft": "underline $text-success",
    "looked_up": "underline italic $text-secondary",
    "correction": "bold reverse $text-warning",
    "bonus": "bold italic $text-primary",
    "plain": "$text",
    "pointed": "reverse bold",
}

_SYNTAX = {
    Comment: "italic dim $text",
    Error: "underline",
    Generic.Deleted: "$text-error",
    Generic.Emph: "italic",
    Generic.Heading: "bold $text-primary",
    Generic.Inserted: "$text-success",
    Generic.Strong: "bold",
    Generic.Subheading: "bold $text-primary",
    Keyword: "bold $text-accent",
    Keyword.Constant: "bold $text-warning",
    Keyword.Type: "$text-accent",
    Literal: "$text-success",
    Name.Attribute: "$text-warning",
    Name.Builtin: "$text-primary",
    Name.Class: "bold $text-primary",
    Name.Constant: "$text-warning",
    Name.Decorator: "italic $text-secondary",
    Name.Exception: "bold $text-primary",
    Name.Function: "bold $text-primary",
    Name.Namespace: "$text-primary",
    Name.Tag: "bold $text-accent",
    Name.Variable: "$text-secondary",
    Number: "$text-warning",
    Operator.Word: "bold $text-accent",
    String: "$text-success",
    String.Doc: "italic $text-success",
    String.Escape: "$text-warning",
    String.Interpol: "$text-warning",
}


@dataclass(frozen=True, slots=True, eq=False)
class Palette:
    """Styles by what they are for. Each differs from its surroundings by more than its colour, or stands beside a word.

    Two palettes are the same only when they are one object, so that what was rendered with one can be kept under it.
    """

    text: Style
    muted: Style
    user: Style
    user_text: Style
    user_muted: Style
    model: Style
    figures: Style
    chosen: Style
    heading: Style
    first_heading: Style
    strong: Style
    emphasis: Style
    struck: Style
    code: Style
    link: Style
    address: Style
    mark: Style
    rule: Style
    quote: Style
    thinking: Style
    block: Style
    block_head: Style
    block_language: Style
    warning: Style
    failure: Style
    draft: Style
    looked_up: Style
    correction: Style
    bonus: Style
    plain: Style
    pointed: Style
    syntax: Mapping[Any, Style]

    @classmethod
    def resolved(cls, resolve: Resolve) -> Palette:
        """The palette of a theme."""
        styles = {name: resolve(definition) for name, definition in _STYLES.items()}
        return cls(**styles, syntax={token: resolve(f"{each} on $panel") for token, each in _SYNTAX.items()})

    def origin(self, origin: Origin) -> Style:
        """How a token of that origin is shown."""
        return {
            Origin.DRAFT: self.draft,
            Origin.CORRECTION: self.correction,
            Origin.BONUS: self.bonus,
            Origin.PLAIN: self.plain,
        }[origin]


def _without_colour(definition: str) -> Style:
    """The attributes of a definition alone."""
    attributes = [word for word in definition.partition(" on ")[0].split() if not word.startswith("$")]
    return Style.parse(" ".join(attributes))


WITHOUT_COLOUR = Palette.resolved(_without_colour)
"""What is left on a terminal that shows no colour."""
