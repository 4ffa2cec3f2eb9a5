"""Kinds of settings: how each is read from text (a flag, a variable) or from TOML, and the words for what it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Kind:
    """What a setting may be.

    Attributes:
        words: finishes the sentence "X must be ...".
        of_text: value of a text; raises ValueError when the text is no such thing.
        of_toml: value of a TOML value (or of what `of_text` made); raises ValueError likewise.
        metavar: what stands for the value in the help; "" for a switch.
        repeatable: whether a flag may be given several times; its texts then come as one list.
        options: the words it may be, where they can be counted.
    """

    words: str
    of_text: Callable[[str], object]
    of_toml: Callable[[object], object]
    metavar: str
    repeatable: bool = False
    options: tuple[str, ...] = ()

    def read(self, given: object) -> object:
        """The value of what a flag, a variable or a file gave.

        Raises:
            ValueError: it is not of this kind.
        """
        try:
            return self.of_text(given) if isinstance(given, str) else self.of_toml(given)
        except (OverflowError, RuntimeError) as error:  # a number beyond floats; a "~name" with no home folder
            raise ValueError from error


def whole_number(low: int, high: int | None = None) -> Kind:
    """An integer from `low` to `high` (None: no limit), both included."""
    words = f"a whole number, {low} or more" if high is None else f"a whole number from {low} to {high}"

    def of_toml(given: object) -> int:
        if not isinstance(given, int) or isinstance(given, bool) or given < low or (high is not None and given > high):
            raise ValueError
        return given

    return Kind(words, lambda text: of_toml(int(text)), of_toml, "N")


def whole_number_or(word: str, low: int, high: int) -> Kind:
    """`word`, or an integer from `low` to `high`, both included."""
    number = whole_number(low, high)

    def of_text(given: str) -> object:
        return word if given == word else number.of_text(given)

    return Kind(f"{word} or {number.words}", of_text, number.of_toml, f"{{{word},N}}")


def real_number(words: str, allowed: Callable[[float], bool]) -> Kind:
    """A finite number for which `allowed` is true; `words` say when that is."""

    def of_toml(given: object) -> float:
        number = _number(given)
        if not math.isfinite(number) or not allowed(number):
            raise ValueError
        return number

    return Kind(words, lambda text: of_toml(float(text)), of_toml, "X")


def one_of(*values: str) -> Kind:
    """One of a few words."""

    def of_text(given: str) -> str:
        if given not in values:
            raise ValueError
        return given

    return Kind("one of " + ", ".join(values), of_text, _refuse, "{" + ",".join(values) + "}", options=values)


def name() -> Kind:
    """A text that is not empty."""
    return Kind("a name", _not_empty, _refuse, "NAME")


def free_text() -> Kind:
    """Any text; an empty one takes back what a weaker source set."""
    return Kind("a text", lambda given: given and _not_empty(given), _refuse, "TEXT")


def file_path() -> Kind:
    """The path of a file; a leading ~ is the home folder."""

    def of_text(given: str) -> Path:
        if "\0" in given:
            raise ValueError
        try:
            return Path(_not_empty(given)).expanduser()
        except RuntimeError as no_home:
            raise ValueError from no_home

    return Kind("the path of a file", of_text, _refuse, "PATH")


def switch() -> Kind:
    """On or off."""
    words = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}

    def of_text(given: str) -> bool:
        if given.lower() not in words:
            raise ValueError
        return words[given.lower()]

    def of_toml(given: object) -> bool:
        if not isinstance(given, bool):
            raise ValueError  # noqa: TRY004 - one error for all that is not of the kind
        return given

    return Kind("true or false", of_text, of_toml, "")


def texts() -> Kind:
    """Texts, none of them empty."""

    def of_toml(given: object) -> tuple[str, ...]:
        if not isinstance(given, list):
            raise ValueError  # noqa: TRY004 - one error for all that is not of the kind
        return tuple(_not_empty(each) for each in given)

    return Kind("texts that are not empty", lambda one: (_not_empty(one),), of_toml, "TEXT", repeatable=True)


def token_biases() -> Kind:
    """Token ids with what is added to their logits: ID=BIAS texts, comma-separated in one, or a TOML table."""

    def of_pairs(pairs: list[tuple[str, object]]) -> tuple[tuple[int, float], ...]:
        biases = {int(token): _bias(bias) for token, bias in pairs}
        if min(biases, default=0) < 0:
            raise ValueError
        return tuple(biases.items())

    def of_texts(given: list[str]) -> tuple[tuple[int, float], ...]:
        split = [each.partition("=") for each in given]
        return of_pairs([(token, float(bias)) for token, _, bias in split])

    def of_toml(given: object) -> tuple[tuple[int, float], ...]:
        if isinstance(given, Mapping):
            return of_pairs(list(given.items()))
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            raise ValueError
        return of_texts(given)

    words = "token ids with a bias, as ID=BIAS (-inf forbids the token)"
    return Kind(words, lambda given: of_texts(given.split(",")), of_toml, "ID=BIAS", repeatable=True)


def _bias(given: object) -> float:
    """A number to add to a logit; minus infinity is one, plus infinity and NaN are not."""
    number = _number(given)
    if math.isnan(number) or number == math.inf:
        raise ValueError
    return number


def _number(given: object) -> float:
    """The number, unless it is none; true and false are none."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError  # noqa: TRY004 - one error for all that is not of the kind
    return float(given)


def _not_empty(given: object) -> str:
    """The text, unless it is none, is empty, or cannot be written as UTF-8 (UnicodeEncodeError is a ValueError)."""
    if not isinstance(given, str) or not given:
        raise ValueError
    given.encode()
    return given


def _refuse(given: object) -> object:
    """What is not a text is not of a kind that is written as text."""
    raise ValueError(given)
