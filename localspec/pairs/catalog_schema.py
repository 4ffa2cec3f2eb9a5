"""From the text of a models.toml to files and pairs, or to one complaint that names the file, the line and the key."""

from __future__ import annotations

import difflib
import math
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from localspec.errors import UsageError
from localspec.pairs import demo
from localspec.pairs.names import is_gguf_path, is_pair_name, is_repo, is_revision, is_sha256
from localspec.pairs.pair import LONGEST_CONTEXT, ModelFile, Pair, SamplingDefaults
from localspec.pairs.toml_lines import KeyPath, line_numbers, line_of
from localspec.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Callable

_SAMPLING_RANGES = {
    "temperature": (0.0, 5.0),
    "top_p": (0.0, 1.0),
    "top_k": (0, 1_000_000),
    "min_p": (0.0, 1.0),
    "repetition_penalty": (0.1, 10.0),
}
_LINE_ENDS = "\n\t\u2028\u2029"
"""And tabs: what `visible` lets be, and one line does not hold."""
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class CatalogText:
    """A models.toml that parsed.

    Attributes:
        label: how to name it to the person, normally its path.
        tables: what it says.
        lines: where it says so.
        source: what its pairs are: "catalog", "own" or "remembered".
    """

    label: str
    tables: dict[str, Any]
    lines: dict[KeyPath, int]
    source: str

    @classmethod
    def parse(cls, text: str, label: str, source: str) -> CatalogText:
        """Read the text.

        Raises:
            UsageError: it is not TOML; names the line.
        """
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(
                "The catalog of pairs cannot be read",
                f"{label}: {error}.",
                "Correct that line (the format is TOML: key = value), or move the file away.",
            ) from error
        return cls(label, tables, line_numbers(text), source)

    def refuse(self, path: KeyPath, what: str) -> NoReturn:
        """Raise a UsageError that names the line of `path`."""
        raise UsageError(
            "The catalog of pairs has a mistake",
            f"{self.label}, line {line_of(self.lines, path)}: {what}.",
            "Correct that line, or move the file away.",
        )


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of the text, read key by key."""

    text: CatalogText
    path: KeyPath
    values: dict[str, Any]

    def refuse(self, key: str, what: str) -> NoReturn:
        self.text.refuse((*self.path, key), f"{key} of {'.'.join(self.path)} {what}")

    def only(self, *known: str) -> None:
        for key in self.values:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                meant = f"; did you mean {near[0]}?" if near else f" (known: {', '.join(known)})"
                self.text.refuse((*self.path, key), f"{'.'.join(self.path)} has an unknown key {key}{meant}")

    def take(self, key: str, kind: type | tuple[type, ...], words: str, default: Any = _MISSING) -> Any:
        value = self.values.get(key, default)
        if value is _MISSING:
            self.text.refuse(self.path, f"{'.'.join(self.path)} has no {key}")
        # A bool is an int to Python, not to a person.
        if value is not default and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            self.refuse(key, f"must be {words}, not {value!r}")
        return value

    def string(self, key: str, default: str | None = _MISSING, valid: Callable[[str], bool] | None = None,
               words: str = "") -> Any:  # fmt: skip
        value = self.take(key, str, "text in quotes", default)
        if value is not default and not _is_one_line(value):
            self.refuse(key, "must be one line of printable text")
        if valid is not None and value is not default and not valid(value):
            self.refuse(key, f"must be {words}, not {value!r}")
        return value

    def whole(self, key: str, low: int, high: int, default: int | None = _MISSING) -> Any:
        value = self.take(key, int, "a whole number", default)
        if value is not default and not low <= value <= high:
            self.refuse(key, f"must be from {low} to {high}, not {value}")
        return value

    def table(self, key: str) -> _Table:
        return _Table(self.text, (*self.path, key), self.take(key, dict, "a table", {}))


def is_local_path(path: str) -> bool:
    """Whether a catalog can name a file of this machine by this path. How its name ends does not matter."""
    return _is_one_line(path) and Path(path).is_absolute() and bool(Path(path).name)


def read_files(text: CatalogText) -> dict[str, ModelFile]:
    """The `[files.NAME]` tables.

    Raises:
        UsageError: a value is missing, unknown, of the wrong kind or unsafe as a path.
    """
    root = _Table(text, (), text.tables)
    root.only("files", "pairs")
    named = root.table("files")
    return {name: _read_file(named.table(name), name) for name in named.values}


def read_pairs(text: CatalogText, files: dict[str, ModelFile]) -> dict[str, Pair]:
    """The `[pairs.NAME]` tables; `files` are all that they may name.

    Raises:
        UsageError: as read_files, or a pair names a file that is not there.
    """
    named = _Table(text, (), text.tables).table("pairs")
    return {name: _read_pair(named.table(name), name, files) for name in named.values}


def _read_file(table: _Table, name: str) -> ModelFile:
    local = "path" in table.values
    table.only(*(("path", "bytes") if local else ("repo", "revision", "file", "bytes", "sha256")))
    if not is_pair_name(name):
        table.text.refuse(
            table.path, f"{name!r} cannot be a name: lower-case letters, digits, dots, dashes, underscores"
        )
    if local:
        path = table.string("path", valid=is_local_path, words="the whole path of a GGUF on this machine")
        return ModelFile(name, "", "", Path(path).name, table.whole("bytes", 1, 1 << 50, None), path=path)
    return ModelFile(
        name=name,
        repo=table.string("repo", valid=is_repo, words="owner/name"),
        revision=table.string("revision", "main", is_revision, "a commit, branch or tag"),
        file=table.string("file", valid=is_gguf_path, words="the path of a .gguf inside the repo"),
        bytes=table.whole("bytes", 1, 1 << 50, None),
        sha256=table.string("sha256", None, is_sha256, "64 lower-case hexadecimal digits"),
    )


def _read_pair(table: _Table, name: str, files: dict[str, ModelFile]) -> Pair:
    known = [field.name for field in fields(Pair) if field.name not in {"name", "source"}]
    table.only(*known)
    if not is_pair_name(name):
        table.text.refuse(
            table.path, f"{name!r} cannot be a name: lower-case letters, digits, dots, dashes, underscores"
        )
    if name == demo.NAME:
        table.text.refuse(table.path, f"{name} is the pair that comes with the program; choose another name")
    return Pair(
        name=name,
        title=_read_words(table, "title") or name,
        purpose=_read_words(table, "purpose"),
        licence=_read_words(table, "licence"),
        terms=_read_words(table, "terms"),
        memory=table.whole("memory", 1, 100_000, 1),
        target=_file_named(table, "target", files),
        draft=_file_named(table, "draft", files),
        context=table.whole("context", 1, LONGEST_CONTEXT, 4096),
        sampling=_read_sampling(table.table("sampling")),
        notes=_read_words(table, "notes"),
        default=table.take("default", bool, "true or false", default=False),
        source=table.text.source,
    )


def _read_words(table: _Table, key: str) -> str:
    """Words for a person; spaces alone are none."""
    words: str = table.string(key, "")
    return words.strip()


def _file_named(table: _Table, key: str, files: dict[str, ModelFile]) -> ModelFile:
    name = table.string(key)
    if name not in files:
        near = difflib.get_close_matches(name, files, n=1)
        table.refuse(
            key, f"names the file {name!r}, which is not there" + (f"; did you mean {near[0]}?" if near else "")
        )
    return files[name]


def _is_one_line(text: str) -> bool:
    """Whether it is one line that can be shown as it is, the spaces and marks of every script among it."""
    return visible(text) == text and not any(sign in text for sign in _LINE_ENDS)


def _read_sampling(table: _Table) -> SamplingDefaults:
    table.only(*_SAMPLING_RANGES)
    given: dict[str, Any] = {}
    for key in table.values:
        low, high = _SAMPLING_RANGES[key]
        kinds: type | tuple[type, ...] = int if key == "top_k" else (int, float)
        value = table.take(key, kinds, "a whole number" if key == "top_k" else "a number")
        if not (math.isfinite(value) and low <= value <= high):
            table.refuse(key, f"must be from {low} to {high}, not {value}")
        given[key] = value
    return SamplingDefaults(**given)
