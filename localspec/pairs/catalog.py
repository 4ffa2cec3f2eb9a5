"""The pairs a person can name: those that come with the program, those of earlier pulls, and the person's own."""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

from localspec import locations
from localspec.errors import LocalspecError, UsageError
from localspec.pairs.catalog_schema import CatalogText, read_files, read_pairs
from localspec.pairs.pair import ModelFile, Pair, SamplingDefaults
from localspec.records import changing, write_whole

__all__ = ["Catalog", "ModelFile", "Pair", "SamplingDefaults", "forget_pair", "load_catalog", "remember_pair"]


@dataclass(frozen=True, slots=True)
class Catalog:
    """All pairs, in the order of the catalog: smallest memory first.

    Attributes:
        pairs: the pairs, by name.
        files: the files they may use, by name.
    """

    pairs: dict[str, Pair]
    files: dict[str, ModelFile]

    def pair(self, name: str) -> Pair:
        """The pair of that name.

        Raises:
            UsageError: there is none; names the nearest.
        """
        if name not in self.pairs:
            near = difflib.get_close_matches(name, self.pairs, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise UsageError(f"There is no pair called {name}", "", hint + "`localspec list` shows all of them.")
        return self.pairs[name]

    def default_pair(self, memory: int) -> Pair:
        """The pair to propose on a machine of `memory` bytes: the largest default meant for no more than that.

        On a machine smaller than every tier it is the smallest pair, and the memory check says what does not fit.
        """
        defaults = sorted((pair for pair in self.pairs.values() if pair.default), key=lambda pair: pair.memory)
        candidates = defaults or sorted(self.pairs.values(), key=lambda pair: pair.memory)
        fitting = [pair for pair in candidates if pair.is_meant_for(memory)]
        return fitting[-1] if fitting else candidates[0]


def load_catalog() -> Catalog:
    """Read the three catalogs; a name in a later one replaces the same name in an earlier one.

    Raises:
        UsageError: one of them has a mistake; names file, line and key.
    """
    texts = [CatalogText.parse(_shipped_text(), "models.toml", "catalog")]
    own = ((locations.remembered_pairs_file(), "remembered"), (locations.catalog_file(), "own"))
    texts.extend(_read(path, source) for path, source in own if path.exists())
    files: dict[str, ModelFile] = {}
    for text in texts:
        files |= read_files(text)
    pairs: dict[str, Pair] = {}
    for text in texts:
        pairs |= read_pairs(text, files)
    return Catalog(dict(sorted(pairs.items(), key=lambda item: item[1].memory)), files)


def remember_pair(pair: Pair) -> None:
    """Keep a pair that a pull put together, or a prune made, under its name, for the next time.

    Raises:
        OSError: it cannot be written.
        LocalspecError: it could not be read again.
    """
    with changing(locations.remembered_pairs_file()):
        _write_remembered(_remembered() | {pair.name: pair})


def forget_pair(name: str) -> bool:
    """Forget a remembered pair; False when there was none of that name.

    Raises:
        OSError: it cannot be written.
    """
    if name not in _remembered():
        return False
    with changing(locations.remembered_pairs_file()):
        _write_remembered({other: pair for other, pair in _remembered().items() if other != name})
    return True


def _remembered() -> dict[str, Pair]:
    path = locations.remembered_pairs_file()
    if not path.exists():
        return {}
    return _pairs_of(_read(path, "remembered"))


def _pairs_of(text: CatalogText) -> dict[str, Pair]:
    return read_pairs(text, read_files(text))


def _write_remembered(pairs: dict[str, Pair]) -> None:
    made_by = "`localspec pull --target ... --draft ...` and `localspec prune`"
    blocks = [f"# Pairs put together by {made_by}; `localspec rm NAME` takes one out.\n"]
    for pair in pairs.values():
        blocks.extend(_file_text(file) for file in pair.files)
        blocks.append(_pair_text(pair))
    text = "\n".join(blocks)
    _check_readable(text)
    write_whole(locations.remembered_pairs_file(), text.encode())


def _check_readable(text: str) -> None:
    """Refuse a text that could not be read: with it neither list nor pull nor rm would run any more.

    Raises:
        LocalspecError: it is one.
    """
    try:
        _pairs_of(CatalogText.parse(text, str(locations.remembered_pairs_file()), "remembered"))
    except UsageError as error:
        raise LocalspecError(
            "The pair cannot be remembered", f"It could not be read again: {error.message}", "Nothing was written."
        ) from error


def _file_text(file: ModelFile) -> str:
    kept = ("path", "bytes") if file.path else ("repo", "revision", "file", "bytes", "sha256")
    values = {key: value for key, value in asdict(file).items() if key in kept and value is not None}
    return _table_text(("files", file.name), values)


def _pair_text(pair: Pair) -> str:
    values: dict[str, object] = {
        "title": pair.title,
        "purpose": pair.purpose,
        "licence": pair.licence,
        "terms": pair.terms,
        "memory": pair.memory,
        "target": pair.target.name,
        "draft": pair.draft.name,
        "context": pair.context,
        "notes": pair.notes,
    }
    sampling = {key: value for key, value in asdict(pair.sampling).items() if value is not None}
    told = _table_text(("pairs", pair.name), values)
    return told + ("\n" + _table_text(("pairs", pair.name, "sampling"), sampling) if sampling else "")


def _table_text(path: tuple[str, ...], values: dict[str, object]) -> str:
    # A JSON string of printable characters, kept as they are, is a TOML basic string.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    header = ".".join([path[0], *(f'"{part}"' for part in path[1:])])
    return "\n".join([f"[{header}]", *lines, ""])


def _shipped_text() -> str:
    """The catalog in the wheel or, in a checkout, at its root (the wheel's copy is made when it is built)."""
    package = resources.files("localspec")
    inside = package / "models.toml"
    if inside.is_file():
        return inside.read_text("utf-8")
    return Path(str(package)).parent.joinpath("models.toml").read_text("utf-8")


def _read(path: Path, source: str) -> CatalogText:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "The catalog of pairs cannot be read", f"{path}: {error}.", "Correct or move the file."
        ) from error
    return CatalogText.parse(text, str(path), source)
