"""`rm`: deletes of a pair what localspec fetched and nobody else needs; says of the rest why it stays."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localspec import locations
from localspec.errors import DownloadStoppedError, LocalspecError
from localspec.pairs.catalog import forget_pair
from localspec.pairs.fetched import forget_gone, was_fetched
from localspec.pairs.found import locate
from localspec.pairs.hub_cache import Place, cached, delete, is_shared, partial_bytes, partial_of
from localspec.pairs.noting import noting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from localspec.pairs.catalog import Catalog
    from localspec.pairs.pair import ModelFile, Pair


@dataclass(frozen=True, slots=True)
class Removal:
    """What became of one file.

    Attributes:
        file: what the pair names.
        path: where it was, or is; None when it was not here.
        freed: bytes of the disk.
        kept_because: why it stays; "" when it is gone.
    """

    file: ModelFile
    path: Path | None
    freed: int
    kept_because: str = ""


@dataclass(frozen=True, slots=True)
class Removed:
    """What became of a pair.

    Attributes:
        pair: the pair.
        files: of target and draft.
        forgotten: whether it was a remembered pair, and is none any more.
    """

    pair: Pair
    files: tuple[Removal, Removal]
    forgotten: bool

    @property
    def freed(self) -> int:
        """Bytes of the disk."""
        return sum(removal.freed for removal in self.files)


def remove_pair(pair: Pair, catalog: Catalog) -> Removed:
    """Delete a pair's files, those that another pair here or another tool uses left alone, and what a pull left half.

    Raises:
        LocalspecError: a file is being downloaded, then nothing was deleted; or one cannot be deleted, or the pair
            cannot be forgotten.
    """
    others = [other for other in catalog.pairs.values() if other.name != pair.name and _is_here(other)]
    try:
        with _without_downloads(pair):
            target, draft = (_remove(file, others) for file in pair.files)
    except OSError as error:
        raise LocalspecError(
            f"A file of {pair.name} cannot be deleted", f"{error}.", "Close programs that use it, and check its rights."
        ) from error
    # Not before: on a full disk it is the deletion that makes room to note it.
    forget_gone()
    with noting(f"The pair {pair.name} cannot be forgotten"):
        return Removed(pair, (target, draft), forget_pair(pair.name))


@contextmanager
def _without_downloads(pair: Pair) -> Iterator[None]:
    """Hold what the cache has of a pair, so that nobody downloads into what is deleted.

    Raises:
        LocalspecError: somebody does.
    """
    places = {(place.repo, place.blob_name): place for place in map(_place, pair.files) if place}
    with ExitStack() as locks:
        for place in places.values():
            try:
                locks.enter_context(place.locked(lambda: None, lambda: True))
            except DownloadStoppedError:
                raise LocalspecError(
                    f"{place.file} is being downloaded",
                    "Another program, or a pull that is stopping, writes it just now. Nothing was deleted.",
                    "Stop it there, or wait for its end; then delete it.",
                ) from None
        yield


def _place(file: ModelFile) -> Place | None:
    """Where what the cache has of a file lies, whole or not; None when it has nothing of it."""
    if file.path is not None:
        return None
    path = cached(file.repo, file.revision, file.file)
    if path is not None:
        return Place(file.repo, _commit(file, path), file.file, file.sha256 or path.resolve().name)
    if file.sha256 is not None and partial_of(file.repo, file.sha256).exists():
        return Place(file.repo, file.revision, file.file, file.sha256)
    return None


def _commit(file: ModelFile, path: Path) -> str:
    """The commit of a file that the cache has at `path`."""
    return path.parents[file.file.count("/")].name


def _is_here(pair: Pair) -> bool:
    return all(locate(file) for file in pair.files)


def _remove(file: ModelFile, others: list[Pair]) -> Removal:
    if file.path is not None:
        return _remove_local(file, others)
    path = cached(file.repo, file.revision, file.file)
    if path is None:
        freed = _remove_partial(file)
        elsewhere = locate(file)
        return Removal(file, elsewhere, freed, "it belongs to another program" if elsewhere else "")
    why = _why_keep(path, file, others)
    if why:
        return Removal(file, path, 0, why)
    place = Place(file.repo, _commit(file, path), file.file, path.resolve().name)
    freed = delete(path) + _remove_partial(file)
    place.tidy()
    return Removal(file, path, freed)


def _remove_local(file: ModelFile, others: list[Pair]) -> Removal:
    """Delete a file of this machine, if `localspec prune` made it."""
    path = locate(file)
    if path is None:
        return Removal(file, None, 0)
    if not locations.is_pruned_draft(path):
        return Removal(file, path, 0, "localspec did not make it")
    users = _users(file, others)
    if users:
        return Removal(file, path, 0, users)
    freed = path.stat().st_size
    path.unlink()
    return Removal(file, path, freed)


def _why_keep(path: Path, file: ModelFile, others: list[Pair]) -> str:
    """Why a file in the cache must stay; "" when nobody needs it."""
    if users := _users(file, others):
        return users
    if not was_fetched(path):
        return "localspec did not fetch it: another program may use it"
    if is_shared(file.repo, path):
        return "another revision in the hub's cache is the same file"
    return ""


def _users(file: ModelFile, others: list[Pair]) -> str:
    """Which other pairs here use the file, in words; "" when none does."""
    users = [other.name for other in others if any(_is_same(file, used) for used in other.files)]
    return f"{' and '.join(users)} {'uses' if len(users) == 1 else 'use'} it too" if users else ""


def _is_same(one: ModelFile, other: ModelFile) -> bool:
    if one.sha256 is not None and one.sha256 == other.sha256:
        return True
    return (one.repo, one.revision, one.file, one.path) == (other.repo, other.revision, other.file, other.path)


def _remove_partial(file: ModelFile) -> int:
    if file.sha256 is None or not partial_of(file.repo, file.sha256).exists():
        return 0
    size = partial_bytes(file.repo, file.sha256)
    partial_of(file.repo, file.sha256).unlink()
    Place(file.repo, file.revision, file.file, file.sha256).tidy()
    return size
