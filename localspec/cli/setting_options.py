"""The settings as options of a command."""

from __future__ import annotations

import argparse
import re
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from localspec.settings import KEYS

if TYPE_CHECKING:
    from localspec.settings import Key

_DEFAULT = re.compile(r"\(default: [^)]*\)$")


def add_settings(
    parser: argparse.ArgumentParser, left_out: Container[str] = (), defaults: Mapping[str, str] | None = None
) -> None:
    """Add an option for each setting, in groups.

    Args:
        parser: of the command.
        left_out: names of settings that mean nothing to it.
        defaults: words for those that it has other defaults for, by name.
    """
    keys = [key for key in KEYS if key.name not in left_out]
    groups = {key.group: parser.add_argument_group(key.group) for key in keys}
    for key in keys:
        told = key.help
        if defaults and key.name in defaults:
            told = _DEFAULT.sub(f"(default: {defaults[key.name]})", told)
        _add_setting(groups[key.group], key, told.replace("%", "%%"))


def _add_setting(group: argparse._ArgumentGroup, key: Key, told: str) -> None:
    """One option. Its text is judged later, together with variables and the file, so that all speak the same words."""
    if not key.kind.metavar:
        group.add_argument(key.flag, dest=key.name, action=argparse.BooleanOptionalAction, help=told)
    elif key.kind.repeatable:
        group.add_argument(key.flag, dest=key.name, action="append", metavar=key.kind.metavar, help=told)
    else:
        group.add_argument(key.flag, dest=key.name, metavar=key.kind.metavar, help=told)
