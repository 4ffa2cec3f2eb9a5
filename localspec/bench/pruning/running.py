"""Carries a search for layers to drop out on a real engine, and keeps what it found."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped] # its stubs are a package of their own

from localspec import locations
from localspec.bench.pruning.prompts import CHECK_PROMPTS, PROMPTS
from localspec.bench.pruning.result import PruningResult, cut_words, note_of, part_words
from localspec.bench.pruning.search import Search, Space
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.client import EngineClient
from localspec.engine.prunings import (
    BeginPruning,
    Cut,
    JudgeCut,
    JudgedCut,
    KeepCut,
    KeptCut,
    PruningBegun,
    PruningProgress,
)
from localspec.errors import LocalspecError
from localspec.pairs.catalog import load_catalog
from localspec.pairs.gguf_bytes import LocalFile
from localspec.pairs.gguf_header import GgufHeader
from localspec.pairs.gguf_reading import read_header
from localspec.pairs.memory_fit import Memory, Wanted, pair_fit
from localspec.pairs.pair import Pair
from localspec.pairs.prunable import bytes_for_trying, droppable_layers, file_types
from localspec.pairs.pruned import PruneTarget, pruned_name, pruned_path, remember_pruned
from localspec.pairs.sizes import gigabytes

Tell = Callable[[str], None]
"""Told what is going on, for a person."""

_ROOM = 200_000_000  # bytes of the disk that are left free


@dataclass(frozen=True, slots=True)
class Wish:
    """How to search.

    Attributes:
        sampling: how the texts are written and guesses will be drawn.
        tokens: most tokens of each text.
        seconds: for the search itself, without the loading and the last judging.
        device: of the drafts, as in `ModelSettings`.
        gpu_layers: of the drafts, as in `ModelSettings`.
    """

    sampling: SamplingSettings
    tokens: int
    seconds: float
    device: str | None = None
    gpu_layers: int = -1


@contextmanager
def trial_folder(header: GgufHeader) -> Iterator[Path]:
    """A folder to try drafts of a target in, gone with all that is in it when the block is left, however.

    Folders of searches that were killed are removed, too.

    Raises:
        LocalspecError: there is no room for it, or it cannot be made.
    """
    parent = locations.pruning_folder()
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _remove_orphans(parent)
        needed, free = bytes_for_trying(header) + _ROOM, shutil.disk_usage(parent).free
        if free < needed:
            raise LocalspecError(
                "There is not enough room on the disk",
                f"Trying drafts takes up to {gigabytes(needed)}, and {gigabytes(free)} are free in {parent}.",
                f"Make room for {gigabytes(needed - free)}, or set LOCALSPEC_CACHE_DIR to a folder on another disk.",
            )
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=f"{psutil.Process().pid}-"))
    except OSError as error:
        raise LocalspecError(
            "Drafts cannot be tried", f"{error}.", "Check the folder's rights, or set LOCALSPEC_CACHE_DIR to another."
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            parent.rmdir()


def find_best(client: EngineClient, header: GgufHeader, wish: Wish, folder: Path, tell: Tell) -> PruningResult:
    """Search for the layers to drop.

    Args:
        client: with the target loaded, and nothing else.
        header: the target's.
        wish: how.
        folder: an empty one, as `trial_folder` makes it.
        tell: what is going on.

    Raises:
        LocalspecError: see `EngineClient.prune`.
    """
    began = time.monotonic()
    request = BeginPruning(PROMPTS, CHECK_PROMPTS, wish.tokens, wish.sampling, folder, wish.device, wish.gpu_layers)
    begun = _last(client, request, tell, "")
    assert isinstance(begun, PruningBegun)  # as it ends such a request
    space = Space(droppable_layers(header), file_types(header), begun.curve)
    searching = time.monotonic()

    def judge(cut: Cut) -> JudgedCut:
        spent = time.monotonic() - searching
        told = f"{_clock(spent)} of {_clock(wish.seconds)}, draft {len(search.tried) + 1}: without {_words(cut)}"
        return _judged(client, JudgeCut(cut), tell, told)

    search = Search(space, judge, wish.seconds)
    best = search.run()
    finalists = [
        space.tried(
            _judged(
                client,
                JudgeCut(each.judged.cut, check=True),
                tell,
                f"the best again: without {_words(each.judged.cut)}",
            )
        )
        for each in best
    ]
    return PruningResult(
        target=header.name,
        layers=header.layers,
        sampling=wish.sampling,
        begun=begun,
        tried=tuple(search.tried.values()),
        finalists=tuple(sorted(finalists, key=lambda each: each.speed_up, reverse=True)),
        seconds=time.monotonic() - began,
    )


def keep_best(client: EngineClient, result: PruningResult, target: PruneTarget, folder: Path, tell: Tell) -> Pair:
    """Keep the best draft, and remember it with its target as a pair.

    Args:
        client: as it was for the search.
        result: which found a draft.
        target: what was pruned.
        folder: as in the search.
        tell: what is going on.

    Raises:
        LocalspecError: it cannot be written.
    """
    assert result.best is not None  # as said
    made = folder / "kept.gguf"
    cut = result.best.judged.cut
    kept = _last(client, KeepCut(cut, made, part_words(result, cut)), tell, f"keeping the one without {_words(cut)}")
    assert isinstance(kept, KeptCut)  # as it ends such a request
    try:
        name = pruned_name(target, load_catalog())
        path = pruned_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        headers = [read_header(LocalFile(each)) for each in (target.path, made)]
        fit = pair_fit(
            headers[0], headers[1], Wanted(target.like.context if target.like else 4096), Memory.of_machine()
        )
        made.replace(path)
        return remember_pruned(name, target, fit.machine_gigabytes, f"{note_of(result)}.")
    except OSError as error:
        raise LocalspecError("The draft cannot be kept", f"{error}.", "Check the folder's rights.") from error


def _judged(client: EngineClient, request: JudgeCut, tell: Tell, told: str) -> JudgedCut:
    judged = _last(client, request, tell, told)
    assert isinstance(judged, JudgedCut)  # as it ends such a request
    return judged


def _last(
    client: EngineClient, request: BeginPruning | JudgeCut | KeepCut, tell: Tell, told: str
) -> PruningBegun | JudgedCut | KeptCut | None:
    if told:
        tell(told)
    last = None
    for event in client.prune(request):
        if isinstance(event, PruningProgress):
            tell(f"{event.what}: {event.fraction:.0%}")
        else:
            last = event
    return last


def _words(cut: Cut) -> str:
    return f"{cut_words(cut)}{f', {cut.file_type}' if cut.file_type else ''}"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _remove_orphans(parent: Path) -> None:
    """Remove what searches left that were killed."""
    for folder in parent.iterdir():
        number = folder.name.partition("-")[0]
        if number.isdigit() and not psutil.pid_exists(int(number)):
            shutil.rmtree(folder, ignore_errors=True)
