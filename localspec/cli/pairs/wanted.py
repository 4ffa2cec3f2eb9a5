"""What a person asks of the caches, as `localspec chat` will: options, variables and config.toml decide."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from localspec import locations
from localspec.settings import KEYS, from_environment, from_file, from_flags, merge

if TYPE_CHECKING:
    from localspec.pairs.memory_fit import Wanted

_NAMES = ("context", "kv_type")


def add_cache_options(parser: argparse.ArgumentParser, context: str) -> None:
    """Add the settings that decide how much memory a pair takes; `context` says what is taken without one."""
    group = parser.add_argument_group("what the memory is reckoned for")
    for key in KEYS:
        if key.name in _NAMES:
            told = f"tokens the context holds (default: {context})" if key.name == "context" else key.help
            group.add_argument(key.flag, dest=key.name, metavar=key.kind.metavar, help=told)


def asked_context(arguments: argparse.Namespace) -> int | None:
    """The context the person asked for by an option; None when it was left out.

    Raises:
        UsageError: it is no such number.
    """
    context = _from_options(arguments).get("context")
    return context if isinstance(context, int) else None


def wanted(arguments: argparse.Namespace, context: int) -> Wanted:
    """What the caches are to hold; `context` tokens when the person said nothing.

    Raises:
        UsageError: an impossible setting.
    """
    sources = _from_options(arguments), from_environment(os.environ), from_file(locations.settings_file())
    return merge(*sources).wanted(context)


def _from_options(arguments: argparse.Namespace) -> dict[str, object]:
    # --target of `pull` is a repo and no file: only these names are settings here.
    return from_flags({name: getattr(arguments, name) for name in _NAMES})
