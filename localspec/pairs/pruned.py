"""Pairs whose draft is made here of the target's own layers: which target is meant, and how such a pair is kept."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from localspec import locations
from localspec.errors import LocalspecError, UsageError
from localspec.pairs import demo
from localspec.pairs.catalog import load_catalog, remember_pair
from localspec.pairs.catalog_schema import is_local_path
from localspec.pairs.found import locate, search
from localspec.pairs.names import pair_name_of
from localspec.pairs.pair import ModelFile, Pair, SamplingDefaults

if TYPE_CHECKING:
    from localspec.pairs.catalog import Catalog
    from localspec.pairs.progress import Meter

_SUFFIX = "-pruned"
_LONGEST_STEM = 40
"""Of a name, so that the suffix, a number and the names of the files fit behind it."""


@dataclass(frozen=True, slots=True)
class PruneTarget:
    """A model to prune.

    Attributes:
        path: where it is.
        file: what a pair of it names.
        called: by the person: the pair's name, or the file's.
        like: the pair that it is the target of; None for a file that was named by itself.
    """

    path: Path
    file: ModelFile
    called: str
    like: Pair | None = None

    @property
    def sampling(self) -> SamplingDefaults:
        """What its authors recommend."""
        return self.like.sampling if self.like else SamplingDefaults()


def named_target(called: str, meter: Meter) -> PruneTarget:
    """The model that a person means: the path of a GGUF, the name of a pair or of a model of the catalog.

    Raises:
        UsageError: there is none, or no catalog could name it or a draft made of it.
        LocalspecError: it was not pulled, or is damaged.
        DownloadStoppedError: `meter.cancelled` said so, while its contents were checked.
    """
    if not is_local_path(str(locations.pruned_folder())):
        raise _unnameable(locations.pruned_folder(), "Set LOCALSPEC_CACHE_DIR to another folder.")
    path = Path(called).expanduser()
    if path.exists() or called.lower().endswith(".gguf") or os.sep in called:
        if not path.is_file():
            raise UsageError(f"There is no file {path}", "", "Name the GGUF file of a model, or a pair.")
        return PruneTarget(path.absolute(), _local(path), path.name)
    if called == demo.NAME:
        target = demo.demo_target()
        return PruneTarget(target, _local(target), called)
    catalog = load_catalog()
    pair = catalog.pairs.get(called)
    file = pair.target if pair else catalog.files.get(called)
    if file is None:
        names = [*catalog.pairs, *catalog.files]
        near = difflib.get_close_matches(called, names, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"There is no file, pair or model called {called}", "", f"{meant}`localspec list` shows the pairs."
        )
    found = search(file, meter)
    if found is None:
        name = pair.name if pair else "the pair that it belongs to"
        raise LocalspecError(f"{file} is not on this machine", "", f"Fetch it: localspec pull {name}")
    return PruneTarget(found, file, called, pair)


def pruned_name(target: PruneTarget, catalog: Catalog) -> str:
    """The name of the pair that comes of it: the same for the same target, and no other pair's."""
    whole = re.sub(r"\.gguf$", "", target.called, flags=re.IGNORECASE)
    stem = pair_name_of(whole, _LONGEST_STEM) or "model"
    numbered = (f"{stem}{_SUFFIX}{f'-{number}' if number > 1 else ''}" for number in range(1, len(catalog.pairs) + 3))
    return next(name for name in numbered if _is_free_for(catalog.pairs.get(name), target.path))


def pruned_path(name: str) -> Path:
    """Where the draft of the pair of that name is kept."""
    return locations.pruned_folder() / f"{name}.gguf"


def remember_pruned(name: str, target: PruneTarget, memory: int, notes: str) -> Pair:
    """Keep the pair of a target and its pruned draft, which is at `pruned_path`, under a name.

    Args:
        name: as `pruned_name` gives it.
        target: the model.
        memory: decimal gigabytes of a machine for both.
        notes: what was found out.

    Raises:
        OSError: it cannot be written.
    """
    like = target.like
    pair = Pair(
        name=name,
        title=f"{like.title if like else target.file.file} + a smaller copy of itself",
        purpose="the target drafts for itself",
        licence=like.licence if like else "",
        terms=like.terms if like else "",
        memory=memory,
        target=replace(target.file, name=f"{name}.target"),
        draft=replace(_local(pruned_path(name)), name=f"{name}.draft"),
        context=like.context if like else 4096,
        sampling=target.sampling,
        notes=notes,
        source="remembered",
    )
    remember_pair(pair)
    return pair


def pruned_draft_of(target: Path) -> Path | None:
    """The draft that `localspec prune` made of a target; None when it made none, or it is gone.

    Raises:
        UsageError: a catalog has a mistake.
    """
    for pair in load_catalog().pairs.values():
        if pair.is_pruned and _is_of(pair, target) and (draft := locate(pair.draft)):
            return draft
    return None


def _is_of(pair: Pair, target: Path) -> bool:
    held = locate(pair.target)
    return held is not None and held.resolve() == target.resolve()


def _is_free_for(pair: Pair | None, target: Path) -> bool:
    return pair is None or (pair.is_pruned and pair.source == "remembered" and _is_of(pair, target))


def _local(path: Path) -> ModelFile:
    whole = path.absolute()
    if not is_local_path(str(whole)):
        raise _unnameable(whole, "Rename it, or make a link to it, by a name without them.")
    return ModelFile("", "", "", whole.name, whole.stat().st_size, path=str(whole))


def _unnameable(path: Path, hint: str) -> UsageError:
    return UsageError(
        f"{path} cannot be a part of a pair",
        "Its name holds bytes that are no text, or characters that steer a terminal: no catalog of pairs can name it.",
        hint,
    )
