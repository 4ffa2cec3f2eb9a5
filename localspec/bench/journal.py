"""The file a benchmark writes as it goes, so that nothing is lost when it is interrupted, and it can go on.

Its first line says what the benchmark is; every further line is a record (see `records`). The last line may be cut
short by a crash: then that generation is made again.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from localspec import locations
from localspec.bench.records import Record, as_json, from_json
from localspec.errors import LocalspecError, UsageError

SCHEMA = 2
_KEPT = 20
"""Journals in the data folder; the oldest ones are removed."""

Key = tuple[str, str, int, int]


@dataclass(slots=True)
class Journal:
    """One such file, open for appending. Use it in a `with` block.

    Attributes:
        path: where it is.
        made: the records in it, by key.
    """

    path: Path
    made: dict[Key, Record]
    _file: IO[str]

    def add(self, record: Record) -> None:
        """Write a record down, at once.

        Raises:
            LocalspecError: the disk is full.
        """
        try:
            self._file.write(json.dumps(as_json(record)) + "\n")
            self._file.flush()
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self.made[record.key] = record

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def begin_journal(what: dict[str, Any]) -> Journal:
    """A new journal in the data folder.

    Args:
        what: says what the benchmark is, in JSON values: to go on with it later, they must be the same.

    Raises:
        LocalspecError: it cannot be written.
    """
    folder = locations.bench_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in sorted(folder.glob("*.jsonl"))[: -_KEPT + 1]:
            old.unlink(missing_ok=True)
        path = _free_path(folder)
        file = path.open("x", encoding="utf-8")
        file.write(json.dumps({"schema": SCHEMA, "what": what}) + "\n")
        file.flush()
    except OSError as error:
        raise _unwritable(folder, error) from error
    return Journal(path, {}, file)


def check_resumable(what: dict[str, Any]) -> None:
    """Refuse now what `resume_journal` would refuse later, when all of the benchmark is known.

    Args:
        what: as much as is known of what the benchmark is.

    Raises:
        UsageError: there is nothing to go on with, or it is another benchmark; says what differs.
    """
    path = _newest()
    before, _ = _parts(_content(path)[0], path)
    _refuse_another({name: before.get(name) for name in what}, what, path)


def resume_journal(what: dict[str, Any], path: Path | None = None) -> Journal:
    """Go on with a journal.

    Args:
        what: what the benchmark is now.
        path: the journal; None for the newest in the data folder.

    Raises:
        UsageError: there is none, it is none, or it is of another benchmark; says what differs.
        LocalspecError: it cannot be written.
    """
    path = path or _newest()
    whole, cut_short = _content(path)
    before, lines = _parts(whole, path)
    _refuse_another(before, what, path)
    made = {record.key: record for record in _records(lines, path)}
    try:
        if cut_short:
            with path.open("r+b") as cut:
                cut.truncate(len(whole))
        return Journal(path, made, path.open("a", encoding="utf-8"))
    except OSError as error:
        raise _unwritable(path, error) from error


def _newest() -> Path:
    path = max(locations.bench_folder().glob("*.jsonl"), default=None)
    if path is None:
        raise UsageError("There is no benchmark to go on with", "", "Start one without --resume.")
    return path


def _content(path: Path) -> tuple[bytes, bool]:
    """The whole lines of a journal, and whether a crash left part of another one behind them."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read", f"{error.strerror}.") from error
    whole = content[: content.rfind(b"\n") + 1]
    return whole, len(whole) < len(content)


def _parts(whole: bytes, path: Path) -> tuple[dict[str, Any], list[str]]:
    """What a journal says that its benchmark is, and the lines of the records."""
    first, *lines = whole.decode("utf-8", "replace").splitlines() or [""]
    return _what(first, path), lines


def _refuse_another(before: dict[str, Any], now: dict[str, Any], path: Path) -> None:
    differences = _differences(before, now)
    if differences:
        raise UsageError(
            "The interrupted benchmark was another one",
            f"It differs in: {', '.join(differences)}. Its records are in {path}.",
            "Call it as it was called, on the same machine and builds, or start anew without --resume.",
        )


def _free_path(folder: Path) -> Path:
    stem = time.strftime("%Y%m%d-%H%M%S")
    # Names sort by time.
    names = (f"{stem}-{number:03d}.jsonl" for number in range(1, 1000))
    return next(path for name in names if not (path := folder / name).exists())


def _what(line: str, path: Path) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or not isinstance(head.get("what"), dict):
        raise UsageError(f"{path} is no journal of a benchmark", "", "Start one without --resume.")
    if head.get("schema") != SCHEMA:
        raise UsageError(
            "The interrupted benchmark is of another version of localspec",
            f"Its records are in {path}, in a form that this version cannot go on with.",
            "Go on with the version that began it, or start anew without --resume.",
        )
    what: dict[str, Any] = head["what"]
    return what


def _records(lines: list[str], path: Path) -> list[Record]:
    try:
        return [from_json(json.loads(line)) for line in lines]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is damaged", f"{error}.", "Start anew without --resume.") from error


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The names of what is not the same, in words."""
    # Through JSON, as the journal went: a tuple has become a list.
    now = json.loads(json.dumps(now))
    names = dict.fromkeys((*before, *now))
    return [name.replace("_", " ") for name in names if before.get(name) != now.get(name)]


def _unwritable(path: Path, error: OSError) -> LocalspecError:
    return LocalspecError(
        "The records of the benchmark cannot be written",
        f"{path}: {error.strerror or error}.",
        "Make room, or set LOCALSPEC_DATA_DIR to a folder of yours.",
    )
