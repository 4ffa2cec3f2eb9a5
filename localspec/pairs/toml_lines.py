"""Where each key of a TOML text stands: tomllib gives the line of a syntax error, but not of a wrong value."""

from __future__ import annotations

import tomllib
from typing import Any

KeyPath = tuple[str, ...]


def line_numbers(text: str) -> dict[KeyPath, int]:
    """The line, from 1, on which each table and key of a valid TOML text begins.

    A statement may run over several lines (arrays, long strings), so lines are gathered until they parse: no proper
    prefix of a TOML statement is a statement itself. Keys of an inline table get the line of the table.

    Args:
        text: TOML that tomllib accepts.
    """
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    statement = ""
    begin = 1
    for number, line in enumerate(text.split("\n"), start=1):
        if not statement:
            begin = number
        statement += line + "\n"
        try:
            parsed = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        if statement.lstrip().startswith("["):
            table = _header_path(parsed)
            lines.setdefault(table, begin)
        else:
            for path in _paths(parsed):
                lines.setdefault(table + path, begin)
        statement = ""
    return lines


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """The line of `path`, or of the nearest table around it (where a key is missing, that is where it belongs)."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _header_path(parsed: dict[str, Any]) -> KeyPath:
    """The path named by a lone table header, for instance `[files."a.b"]`."""
    path: list[str] = []
    inner: Any = parsed
    while isinstance(inner, dict) and inner:
        key = next(iter(inner))
        path.append(key)
        inner = inner[key]
    return tuple(path)


def _paths(parsed: dict[str, Any]) -> list[KeyPath]:
    """Every key path of a parsed statement, outer ones first."""
    paths: list[KeyPath] = []
    for key, value in parsed.items():
        paths.append((key,))
        if isinstance(value, dict):
            paths.extend((key, *inner) for inner in _paths(value))
    return paths
