"""Settings as plain JSON values: how a conversation, or the file of kept settings, holds what was changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from localspec.errors import UsageError
from localspec.settings.keys import KEYS, Settings
from localspec.settings.sources import MODEL_NAMES, refuse_contradictions

CHANGEABLE = {key.name: key for key in KEYS if key.name not in MODEL_NAMES}
"""The settings that can be changed while a pair stays the same, by name."""

_DEFAULTS = Settings()


def with_overrides(settings: Settings, overrides: Mapping[str, Any]) -> Settings:
    """`settings` with plain JSON values in place of its own; null takes back what has no default of its own.

    Raises:
        UsageError: an unknown setting, an impossible value, or settings that contradict each other.
    """
    values: dict[str, Any] = {name: value_of(name, given) for name, given in overrides.items()}
    changed = replace(settings, **values)
    refuse_contradictions(changed)
    return changed


def differences(settings: Settings, base: Settings) -> dict[str, Any]:
    """What to override in `base` to have `settings`, as plain JSON values; the names of models are left out."""
    return {
        name: plain(getattr(settings, name)) for name in CHANGEABLE if getattr(settings, name) != getattr(base, name)
    }


def value_of(name: str, given: object) -> object:
    """The value of a setting that a plain JSON value stands for.

    Raises:
        UsageError: there is no such setting to change, or it cannot have that value.
    """
    key = CHANGEABLE.get(name)
    if key is None:
        raise UsageError(f"There is no setting {name!r} that can be changed here")
    if given is None and getattr(_DEFAULTS, name) is None:
        return None
    return key.read(given, name)


def plain(value: Any) -> Any:
    """A value of a setting as JSON has it: texts in lists, biases as "ID=BIAS" (JSON knows no infinity)."""
    if isinstance(value, tuple):
        return [each if isinstance(each, str) else "{}={}".format(*each) for each in value]
    return value
