"""Pairs that a person puts together: `pull --target OWNER/REPO[:FILE][@REVISION] --draft ...`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from localspec.errors import DownloadError, UsageError
from localspec.pairs import demo
from localspec.pairs.hub import list_ggufs
from localspec.pairs.names import is_gguf_path, is_pair_name, is_repo, is_revision, pair_name_of, shown
from localspec.pairs.pair import LONGEST_CONTEXT, ModelFile, Pair

if TYPE_CHECKING:
    from localspec.pairs.catalog import Catalog

_SOURCE = re.compile(r"(?P<repo>[^:@]+)(:(?P<file>[^@]+))?(@(?P<revision>.+))?")

# Where a repo has a model in several types and none was asked for: the ones that are small and hardly worse come first.
_PREFERRED = ("q4_k_m", "q4_0", "q4_k_s", "iq4_nl", "iq4_xs", "q5_k_m", "q8_0")
_NO_MODEL = re.compile(r"mmproj|imatrix|-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)

_LONGEST_STEM = 50
"""Of a name, so that a number and the names of the files fit behind it."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file on the hub as a person names it.

    Attributes:
        repo: "owner/name".
        file: path inside the repo; None for the one that fits best.
        revision: branch, tag or commit.
    """

    repo: str
    file: str | None = None
    revision: str = "main"


def parse_source(text: str) -> Source:
    """Read OWNER/REPO[:FILE][@REVISION].

    Raises:
        UsageError: it is none, or a name in it is not safe as a path.
    """
    found = _SOURCE.fullmatch(text.strip().removeprefix("hf.co/").removeprefix("https://huggingface.co/"))
    repo, file, revision = (found["repo"], found["file"], found["revision"]) if found else ("", None, None)
    if not is_repo(repo):
        raise _no_source(text, "the part before the colon is not OWNER/REPO")
    if file is not None and not is_gguf_path(file):
        raise _no_source(text, "the part behind the colon is not the path of a .gguf")
    if revision is not None and not is_revision(revision):
        raise _no_source(text, "the part behind the @ is not a branch, tag or commit")
    return Source(repo, file, revision or "main")


def make_pair(target: Source, draft: Source, catalog: Catalog, name: str | None = None, context: int = 4096) -> Pair:
    """A pair of two files on the hub, with a name that no other pair has; the same files get the name they had.

    The hub is asked only for files that were not named. Nothing is remembered yet: see catalog.remember_pair.

    Raises:
        UsageError: the name that was asked for is taken or not allowed, or the context is too long.
        DownloadError: a repo has no GGUF, or several and none that can be preferred.
    """
    if context > LONGEST_CONTEXT:
        raise UsageError(f"A context of {context:,} tokens is too long", f"A pair has {LONGEST_CONTEXT:,} at most.")
    files = [_choose(source) for source in (target, draft)]
    same = next((pair for pair in catalog.pairs.values() if _is_made_of(pair, files)), None)
    if same is not None and name in (None, same.name):
        return same
    chosen = _free_name(files[0].file, catalog) if name is None else _asked_name(name, catalog)
    return Pair(
        name=chosen,
        title=f"{_stem(files[0].file)} + {_stem(files[1].file)}",
        purpose="put together by you",
        licence="",
        terms="",
        memory=1,
        target=replace(files[0], name=f"{chosen}.target"),
        draft=replace(files[1], name=f"{chosen}.draft"),
        context=context,
        source="remembered",
    )


def _is_made_of(pair: Pair, files: list[ModelFile]) -> bool:
    def identity(file: ModelFile) -> tuple[str, str]:
        return file.repo, file.file

    if [identity(file) for file in pair.files] != [identity(file) for file in files]:
        return False
    return all(asked.revision in {"main", held.revision} for asked, held in zip(files, pair.files, strict=True))


def _choose(source: Source) -> ModelFile:
    if source.file is not None:
        return ModelFile("", source.repo, source.revision, source.file)
    models = [file for file in list_ggufs(source.repo, source.revision) if not _NO_MODEL.search(file.file)]
    if len(models) == 1:
        return replace(models[0], sha256=None, bytes=None)
    for kind in _PREFERRED:
        of_kind = [file for file in models if _stem(file.file).lower().endswith(kind)]
        if len(of_kind) == 1:
            return replace(of_kind[0], sha256=None, bytes=None)
    hint = f"Name the file: {source.repo}:FILE.gguf"
    if not models:
        why = "localspec runs models in that format only, each in one file."
        raise DownloadError(f"{source.repo} has no GGUF of a whole model", why, hint)
    names = ", ".join(file.file for file in models[:12]) + (", …" if len(models) > 12 else "")
    raise DownloadError(f"It is not clear which file of {source.repo} is meant", f"It has {names}.", hint)


def _stem(file: str) -> str:
    return file.rsplit("/", 1)[-1][: -len(".gguf")]


def _free_name(file: str, catalog: Catalog) -> str:
    """A name made of the target's file name."""
    stem = pair_name_of(_stem(file), _LONGEST_STEM) or "pair"
    numbered = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(catalog.pairs) + 3))
    return next(name for name in numbered if name not in catalog.pairs and name != demo.NAME)


def _asked_name(name: str, catalog: Catalog) -> str:
    if not (is_pair_name(name) and is_pair_name(f"{name}.target")):  # a catalog names its files, too
        why = "A name has lower-case letters, digits, dots, dashes and underscores, 57 at most, and no dot at its end."
        raise UsageError(f"{shown(name)} cannot be a pair's name", why, "Choose another one.")
    if name == demo.NAME:
        raise UsageError("There is a pair called demo already", "It comes with localspec.", "Choose another name.")
    held = catalog.pairs.get(name)
    if held is not None and held.source != "remembered":
        raise UsageError(f"There is a pair called {name} already", f"It is {held.title}.", "Choose another name.")
    return name


def _no_source(text: str, why: str) -> UsageError:
    return UsageError(
        f"{shown(text)} does not name a file on the hub",
        f"It should be OWNER/REPO, OWNER/REPO:FILE.gguf or OWNER/REPO:FILE.gguf@REVISION, but {why}.",
        "For a file on this machine use `localspec chat --target PATH --draft PATH`.",
    )
