"""The settings that a person changed in the app, kept pair by pair: stronger than config.toml, weaker than a flag."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from localspec import locations
from localspec.errors import LocalspecError, UsageError
from localspec.records import changing, write_whole
from localspec.settings.overrides import value_of


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept for a pair.

    Attributes:
        values: by name, every one of its kind.
        trouble: what of the file could not be used, one or two sentences for the person; "" when all could.
    """

    values: dict[str, object] = field(default_factory=dict)
    trouble: str = ""


def kept_settings(pair: str) -> Kept:
    """What was kept for `pair` (see `Choice.kept_as`). A broken file is moved aside, so that it is told once."""
    record, trouble = _read()
    values: dict[str, object] = {}
    for name, given in record.get(pair, {}).items():
        try:
            values[name] = value_of(name, given)
        except UsageError as error:
            trouble = f"{error.title}: what was kept of it for {pair} is left out."
    return Kept(values, trouble)


def keep_settings(pair: str, values: Mapping[str, Any]) -> None:
    """Keep these plain JSON values for `pair` in place of all that was kept for it; none forgets it.

    Raises:
        LocalspecError: the file cannot be written.
    """
    file = locations.pair_settings_file()
    try:
        with changing(file):
            record, _ = _read()
            record.pop(pair, None)
            if values:
                record[pair] = dict(values)
            write_whole(file, json.dumps({"schema": 1, "pairs": record}, indent=1).encode())
    except OSError as error:
        raise LocalspecError(
            "The settings could not be kept", f"{file}: {error.strerror or error}.", "They count until you leave."
        ) from error


def _read() -> tuple[dict[str, dict[str, Any]], str]:
    """What the file holds, pair by pair, and what is wrong with it."""
    file = locations.pair_settings_file()
    try:
        content = json.loads(file.read_bytes())
        return _checked(content), ""
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"The settings kept for each pair cannot be read ({error.strerror or error}): they are left out."
    except ValueError:
        aside = file.with_name(f"{file.name}.broken")
        with suppress(OSError):
            file.replace(aside)
        return {}, f"The settings kept for each pair were broken; the file is now {aside}, and they begin anew."


def _checked(content: Any) -> dict[str, dict[str, Any]]:
    """The pairs in what the file holds.

    Raises:
        ValueError: it is not of the form that `keep_settings` writes.
    """
    pairs = content.get("pairs") if isinstance(content, dict) and content.get("schema") == 1 else None
    if not isinstance(pairs, dict) or not all(isinstance(values, dict) for values in pairs.values()):
        raise ValueError
    return pairs
