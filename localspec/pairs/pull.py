"""`pull`: check a pair before its gigabytes, then fetch what of it is not here.

`prepare` asks and checks (a few megabytes, seconds); its plan can be shown to the person; `carry_out` fetches.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from localspec.errors import DownloadError, DownloadStoppedError, OutOfMemoryError
from localspec.pairs.catalog import remember_pair
from localspec.pairs.compatibility import PairHeaders, read_pair
from localspec.pairs.download import download, kept_bytes
from localspec.pairs.fetched import write_anew
from localspec.pairs.found import search
from localspec.pairs.gguf_bytes import LocalFile
from localspec.pairs.hub import HubFile, RemoteFile, look_up
from localspec.pairs.hub_cache import cache_root
from localspec.pairs.memory_fit import Memory, PairFit, Wanted, pair_fit
from localspec.pairs.names import is_sha256
from localspec.pairs.noting import noting
from localspec.pairs.side_by_side import side_by_side
from localspec.pairs.sizes import gigabytes

if TYPE_CHECKING:
    from pathlib import Path

    from localspec.pairs.pair import ModelFile, Pair
    from localspec.pairs.patience import Patience
    from localspec.pairs.progress import Meter

_MOST = 50_000_000_000  # bytes: the hub serves larger files only by its own protocol
_ROOM = 100_000_000  # bytes of the disk that are left free
_SHORTEST_CONTEXT = 1024  # tokens: with less a pair is of no use


@dataclass(frozen=True, slots=True)
class Here:
    """A file of a pair that is on this machine, its contents checked.

    Attributes:
        file: what the pair names.
        path: where it is.
    """

    file: ModelFile
    path: Path

    @property
    def missing(self) -> int:
        """Bytes to fetch: none."""
        return 0

    def source(self, meter: Meter) -> LocalFile:  # noqa: ARG002 (a file to fetch needs it)
        """To read its header."""
        return LocalFile(self.path)

    def bring(self, meter: Meter, patience: Patience | None) -> Path:  # noqa: ARG002 (a file to fetch needs it)
        """Where it is."""
        meter.found(self.path.stat().st_size)
        return self.path


@dataclass(frozen=True, slots=True)
class ToFetch:
    """A file of a pair that must come from the hub.

    Attributes:
        file: what the pair names, with the commit, size and hash that it has there.
        hub: what the hub says of it.
        kept: bytes that an earlier pull left of it.
    """

    file: ModelFile
    hub: HubFile
    kept: int

    @property
    def missing(self) -> int:
        """Bytes to fetch."""
        return self.hub.size - self.kept

    def source(self, meter: Meter) -> RemoteFile:
        """To read its header."""
        return RemoteFile(self.hub, meter.cancelled)

    def bring(self, meter: Meter, patience: Patience | None) -> Path:
        """Fetch it, and tell where it is."""
        return download(self.hub, meter, patience)


Planned = Here | ToFetch


@dataclass(frozen=True, slots=True)
class PullPlan:
    """What a pull will do; both files fit each other and this machine.

    Attributes:
        pair: with both files pinned.
        target: the large file.
        draft: the small one.
        headers: of both.
        fit: how they fit into memory.
        checked_bytes: what the checks read over the network.
        free: bytes free on the disk of the hub's cache.
    """

    pair: Pair
    target: Planned
    draft: Planned
    headers: PairHeaders
    fit: PairFit
    checked_bytes: int
    free: int

    @property
    def files(self) -> tuple[Planned, Planned]:
        """Target and draft, in this order."""
        return self.target, self.draft

    @property
    def missing(self) -> int:
        """Bytes to fetch."""
        return sum(planned.missing for planned in self.files)


@dataclass(frozen=True, slots=True)
class Pulled:
    """A pair that is here, whole and checked.

    Attributes:
        pair: with both files pinned.
        target: path of the large file.
        draft: path of the small one.
        fetched: bytes that this pull downloaded.
        resumed: bytes that an earlier one had left.
        seconds: that fetching took.
    """

    pair: Pair
    target: Path
    draft: Path
    fetched: int
    resumed: int
    seconds: float


def prepare(pair: Pair, memory: Memory, meter: Meter, wanted: Wanted | None = None) -> PullPlan:
    """Check a pair: where its files are, that they fit each other, this machine's memory and its disk.

    Args:
        pair: what to pull.
        memory: what both models must fit into.
        meter: told about files that are checked.
        wanted: context and type of keys and values; None for the pair's own context.

    Raises:
        PairMismatchError: the draft cannot guess for the target; names the first difference.
        OutOfMemoryError: they do not fit into memory, at any context that would be of use.
        DownloadError: the hub refuses, or there is no room on the disk.
        ModelFileError: one is not a sound GGUF.
    """
    meter.begin(f"looking for {pair.name}")
    target, draft = _plan_files(pair, meter)
    meter.begin("checking that both fit each other")
    sources = [planned.source(meter) for planned in (target, draft)]
    headers = read_pair(*sources)
    fit = pair_fit(headers.target, headers.draft, wanted or Wanted(pair.context), memory)
    if not fit.fits and fit.largest_context < _SHORTEST_CONTEXT:
        raise OutOfMemoryError(
            f"{pair.name} does not fit this machine",
            f"It {fit.words}.",
            "`localspec list` shows the pairs that do.",
        )
    plan = PullPlan(
        pair=replace(pair, target=target.file, draft=draft.file),
        target=target,
        draft=draft,
        headers=headers,
        fit=fit,
        checked_bytes=sum(source.transferred for source in sources if isinstance(source, RemoteFile)),
        free=_free(cache_root()),
    )
    _check_disk(plan)
    return plan


def carry_out(plan: PullPlan, meter: Meter, patience: Patience | None = None) -> Pulled:
    """Fetch what a plan misses.

    Raises:
        DownloadError: see localspec.pairs.download; what came is kept for the next pull.
        DownloadStoppedError: Ctrl-C, or `meter.cancelled` said so; what came is kept too.
        LocalspecError: it cannot be noted.
    """
    begin = time.monotonic()
    if plan.pair.source == "remembered":
        # Before the first byte, so that an unfinished one is in the list and goes on with the same commits.
        with noting(f"The pair {plan.pair.name} cannot be remembered"):
            remember_pair(replace(plan.pair, memory=plan.fit.machine_gigabytes))
    if plan.missing:
        write_anew()
    meter.total = sum(planned.file.bytes or 0 for planned in plan.files)
    try:
        target, draft = [planned.bring(meter, patience) for planned in plan.files]
    except (KeyboardInterrupt, DownloadStoppedError):
        raise DownloadStoppedError(
            "Stopped",
            f"{gigabytes(meter.done)} of {gigabytes(meter.total)} are here and are kept.",
            "The same command goes on from there.",
        ) from None
    return Pulled(plan.pair, target, draft, meter.fetched_bytes, meter.resumed, time.monotonic() - begin)


def _plan_files(pair: Pair, meter: Meter) -> list[Planned]:
    """Where both files are; the hub is asked about those that are not here, both at once."""
    here = [search(file, meter) for file in pair.files]

    def plan(item: tuple[ModelFile, Path | None]) -> Planned:
        file, path = item
        return _plan_missing(file, meter) if path is None else _here(file, path)

    return side_by_side(plan, zip(pair.files, here, strict=True))


def _here(file: ModelFile, path: Path) -> Here:
    return Here(replace(file, bytes=path.stat().st_size), path)


def _plan_missing(file: ModelFile, meter: Meter) -> Planned:
    if file.path is not None:
        raise DownloadError(
            f"{file.file} is not on the hub",
            f"It was a file of this machine, {file.path}, and is gone, or is another file now.",
            "`localspec prune` makes such a pair, `localspec rm` forgets it.",
        )
    hub = look_up(file, cancelled=meter.cancelled)
    if hub.size > _MOST:
        raise DownloadError(
            f"{file.file} is too large to be fetched by localspec",
            f"It has {gigabytes(hub.size)}. More than {gigabytes(_MOST)} the hub sends by its own protocol only.",
            f"Fetch it with `hf download {file.repo} {file.file} --revision {hub.commit}`: it is found then.",
        )
    digest = hub.blob_name if is_sha256(hub.blob_name) else file.sha256
    pinned = replace(file, revision=hub.commit, bytes=hub.size, sha256=digest)
    if file.sha256 is None and (path := search(pinned, meter)) is not None:
        # Now that the hub has told size and hash, another tool's copy is recognised.
        return Here(pinned, path)
    return ToFetch(pinned, hub, kept_bytes(hub))


def _check_disk(plan: PullPlan) -> None:
    if plan.missing and plan.free < plan.missing + _ROOM:
        short = plan.missing + _ROOM - plan.free
        raise DownloadError(
            "There is not enough room on the disk",
            f"{gigabytes(plan.missing)} are to be fetched, and {gigabytes(plan.free)} are free in {cache_root()}.",
            f"Make room for {gigabytes(short)} more, or set HF_HOME to a folder on another disk.",
        )


def _free(folder: Path) -> int:
    """Bytes free on the disk of a folder that may not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
