"""Model files that are on this machine already, whoever fetched them: they are used where they lie, once checked."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localspec import locations
from localspec.pairs.hub_cache import blobs_named, cache_root, cached
from localspec.pairs.names import is_commit, is_sha256
from localspec.pairs.verified import digest_of, is_verified, remember_verified, verified_copies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from localspec.pairs.pair import ModelFile
    from localspec.pairs.progress import Meter

_DEEPEST = 6  # folders below a tool's own; LM Studio has two


def locate(file: ModelFile) -> Path | None:
    """Where `file` is, by what is known without reading it or asking the hub; None when it is not here."""
    return next(_known_places(file), None)


def search(file: ModelFile, meter: Meter) -> Path | None:
    """Where `file` is, its contents checked; other tools' folders are searched too, by its size.

    Raises:
        DownloadStoppedError: `meter.cancelled` said so.
    """
    for path in _known_places(file):
        if _is_right(path, file, meter):
            return path
    if file.sha256 is None or file.bytes is None:
        return None
    for path in ggufs_of_other_tools():
        with suppress(OSError):
            if path.stat().st_size == file.bytes and _is_right(path, file, meter):
                return path
    return None


def ggufs_on_this_machine() -> list[Path]:
    """Every GGUF in the hub's cache, in other tools' folders and in our own; the same bytes only once."""
    seen: dict[Path, Path] = {}
    for path in [*cache_root().glob("models--*/snapshots/*/**/*.gguf"), *ggufs_of_other_tools()]:
        if path.is_file():
            seen.setdefault(path.resolve(), path)
    return sorted(seen.values())


def ggufs_of_other_tools() -> Iterator[Path]:
    """GGUFs in the folders of llama.cpp and LM Studio, and in our own."""
    for folder in _folders():
        for parent, folders, names in os.walk(folder):
            if len(Path(parent).relative_to(folder).parts) >= _DEEPEST:
                folders.clear()
            yield from (Path(parent, name) for name in sorted(names) if name.lower().endswith(".gguf"))


def _folders() -> list[Path]:
    """Where the tools keep their models, as their documentation and sources say (llama.cpp: fs_get_cache_directory)."""
    home = Path.home()
    folders = [locations.models_folder()]
    if told := os.environ.get("LLAMA_CACHE"):
        folders.append(Path(told))
    elif sys.platform == "darwin":
        folders.append(home / "Library" / "Caches" / "llama.cpp")
    elif sys.platform == "win32":
        folders.append(Path(os.environ.get("LOCALAPPDATA", home)) / "llama.cpp")
    else:
        folders.append(Path(os.environ.get("XDG_CACHE_HOME", home / ".cache")) / "llama.cpp")
    studio = home / ".lmstudio"
    # LM Studio writes the folder that the person chose for it into this file.
    with suppress(OSError, UnicodeDecodeError):
        studio = Path((home / ".lmstudio-home-pointer").read_text("utf-8").strip())
    folders += [studio / "models", home / ".cache" / "lm-studio" / "models"]
    return [folder for folder in folders if folder.is_dir()]


def _known_places(file: ModelFile) -> Iterator[Path]:
    here = None if file.path is None else Path(file.path)
    if here is None:
        here = cached(file.repo, file.revision, file.file)
    places = [here if here is not None and here.is_file() else None]
    if file.sha256 is not None:
        places += [*blobs_named(file.sha256), *verified_copies(file.sha256)]
    for path in places:
        if path is not None and (file.bytes is None or path.stat().st_size == file.bytes):
            yield path


def _is_right(path: Path, file: ModelFile, meter: Meter) -> bool:
    """Whether the contents are the ones named; of a file whose hash nobody told us, the name of its blob tells."""
    digest = file.sha256 or path.resolve().name
    if not (is_sha256(digest) or is_commit(digest)):
        return True
    if is_verified(path, digest):
        return True
    meter.begin(f"checking {path.name}, which is on this machine already")
    try:
        right = digest_of(path, digest, meter.cancelled) == digest
    except OSError:
        return False
    if right:
        remember_verified(path, digest)
    return right
