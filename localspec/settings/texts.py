"""Settings as a person types them into a field of one line, there and back."""

from __future__ import annotations

import json
import re
from typing import Any

from localspec.errors import UsageError
from localspec.settings.keys import Key, Settings
from localspec.settings.overrides import plain

_DEFAULTS = Settings()
_ESCAPES = {"\\\\": "\\", "\\n": "\n", "\\r": "\r", "\\t": "\t"}
_DEFAULT = re.compile(r"\(default: (.*)\)$")


def text_of(value: Any) -> str:
    """A value of a setting in one line; "" for none. Line ends are escaped, several texts are a list in brackets."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if not isinstance(value, tuple):
        return _in_one_line(str(value))
    each: list[str] = plain(value)
    if any(not isinstance(entry, str) for entry in value):
        return ", ".join(each)
    if len(each) == 1 and not each[0].startswith("["):
        return _in_one_line(each[0])
    return json.dumps(each, ensure_ascii=False) if each else ""


def value_of_text(key: Key, text: str) -> object:
    """What a person means who typed `text` for a setting; nothing typed takes back what has no default of its own.

    Raises:
        UsageError: the setting cannot be that, in the words of the command line.
    """
    default = getattr(_DEFAULTS, key.name)
    # A blank may be a text that ends an answer.
    nothing = not text if key.kind.repeatable else not text.strip()
    if nothing and default in (None, (), ""):
        return default
    return key.read(_typed(key, text), title_of(key))


def title_of(key: Key) -> str:
    """What a person calls a setting."""
    return key.name.replace("_", " ")


def words_of_default(key: Key) -> str:
    """What happens when a person sets nothing, in the words of the help; "" when it does not say."""
    found = _DEFAULT.search(key.help)
    return found[1] if found else ""


def _typed(key: Key, text: str) -> object:
    if isinstance(getattr(_DEFAULTS, key.name), str) and not key.kind.options:
        return _of_one_line(text)
    if not key.kind.repeatable:
        return text.strip()
    if not text.startswith("["):
        return _of_one_line(text)
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(f'{title_of(key)} must be one text, or a list such as ["one", "two"]') from None


def _in_one_line(text: str) -> str:
    for short, meant in _ESCAPES.items():
        text = text.replace(meant, short)
    return text


def _of_one_line(text: str) -> str:
    return re.sub(r"\\[\\nrt]", lambda found: _ESCAPES[found[0]], text)
