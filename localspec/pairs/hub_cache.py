"""The hub client's own cache, written in its own layout, so that every other tool finds what a pull fetched.

    models--OWNER--NAME/blobs/SHA256                 the bytes
    models--OWNER--NAME/snapshots/COMMIT/FILE        a link to them
    models--OWNER--NAME/refs/main                    the commit that a branch pointed to
    .locks/models--OWNER--NAME/SHA256.lock           held while a blob is written

Of a download that stopped, huggingface_hub 2.4 keeps nothing (measured: Ctrl-C deletes its partial file, a killed
process leaves one under a random name that is never looked at again). So the partial is ours: blobs/SHA256.incomplete,
which is also where older clients kept and resumed theirs.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import Timeout
from huggingface_hub import constants
from huggingface_hub.utils import WeakFileLock

from localspec.errors import DownloadStoppedError
from localspec.pairs.names import is_commit
from localspec.records import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOOK_AGAIN = 0.5  # seconds between looks at a lock that another process holds


def cache_root() -> Path:
    """The cache folder: HF_HUB_CACHE, or `hub` in HF_HOME."""
    return Path(constants.HF_HUB_CACHE)


@dataclass(frozen=True, slots=True)
class Place:
    """Where one file of one commit lies in the cache.

    All names were checked before (names.py), and the hash and the commit by the hub's answer: no path leaves the cache.

    Attributes:
        repo: "owner/name".
        commit: 40 hexadecimal digits.
        file: path inside the repo.
        blob_name: the hash that the hub names the contents by.
    """

    repo: str
    commit: str
    file: str
    blob_name: str

    @property
    def folder(self) -> Path:
        """The repo's folder."""
        return _folder(self.repo)

    @property
    def blob(self) -> Path:
        """The bytes."""
        return self.folder / "blobs" / self.blob_name

    @property
    def partial(self) -> Path:
        """The bytes of a download that is not complete."""
        return partial_of(self.repo, self.blob_name)

    @property
    def snapshot(self) -> Path:
        """The link by which every tool finds the file."""
        return self.folder.joinpath("snapshots", self.commit, *self.file.split("/"))

    @contextmanager
    def locked(self, waiting: Callable[[], None], cancelled: Callable[[], bool]) -> Iterator[None]:
        """Hold the hub client's own lock of this blob, so that nobody else, we or it, writes the same bytes.

        Args:
            waiting: called twice a second while another process holds it.
            cancelled: polled meanwhile.

        Raises:
            DownloadStoppedError: `cancelled` said so.
        """
        path = cache_root() / ".locks" / self.folder.name / f"{self.blob_name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as lock:
            while True:
                try:
                    lock.enter_context(WeakFileLock(path, timeout=_LOOK_AGAIN))
                    break
                except Timeout:
                    waiting()
                if cancelled():
                    raise DownloadStoppedError("Stopped while another download was running")
            yield

    @property
    def held(self) -> Path | None:
        """The bytes as the cache has them; where links cannot be made, the snapshot holds them itself."""
        return next((path for path in (self.blob, self.snapshot) if path.is_file()), None)

    def complete(self) -> None:
        """Make the partial the blob."""
        # A new file may be readable by its owner alone; a cache can be shared, as the umask says.
        umask = os.umask(0)
        os.umask(umask)
        self.partial.chmod(0o666 & ~umask)
        self.partial.replace(self.blob)

    def link(self) -> Path:
        """Link the blob where tools look, unless it is there; returns the link."""
        link = self.snapshot
        if not self.blob.is_file() or (link.is_symlink() and link.resolve() == self.blob.resolve()):
            return link
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        try:
            link.symlink_to(os.path.relpath(self.blob, link.parent))
        except FileExistsError:
            return link
        except OSError:
            # No links on this disk, or not for this user (Windows): the hub client then moves the blob there too.
            self.blob.replace(link)
        return link

    def remember_branch(self, revision: str) -> None:
        """Note what a branch or tag pointed to, as the hub client does: offline it is the only way to know."""
        if revision != self.commit:
            write_whole(self.folder.joinpath("refs", *revision.split("/")), self.commit.encode())

    def tidy(self) -> None:
        """Remove what a download that brought nothing left behind: an empty partial, empty folders."""
        if self.partial.exists() and not self.partial.stat().st_size:
            self.partial.unlink()
        depth = self.file.count("/") + 2
        for folder in (*list(self.snapshot.parents)[:depth], self.partial.parent):
            with suppress(OSError):
                folder.rmdir()
        if self.folder.is_dir() and {path.name for path in self.folder.iterdir()} <= {"refs"}:
            # Branches that point to nothing any more.
            shutil.rmtree(self.folder, ignore_errors=True)


def cached(repo: str, revision: str, file: str) -> Path | None:
    """The file as the cache has it, without asking the hub; a branch means the commit it last pointed to."""
    folder = _folder(repo)
    ref = folder.joinpath("refs", *revision.split("/"))
    with suppress(OSError):
        revision = ref.read_text("ascii").strip()
    if not is_commit(revision):
        return None
    link = folder.joinpath("snapshots", revision, *file.split("/"))
    return link if link.is_file() else None


def is_shared(repo: str, link: Path) -> bool:
    """Whether another file of another revision is the same blob as `link`."""
    blob = link.resolve()
    others = (path for path in (_folder(repo) / "snapshots").rglob("*") if path.is_symlink() and path != link)
    return any(path.resolve() == blob for path in others)


def delete(link: Path) -> int:
    """Delete a file of the cache, the link and the blob behind it; returns the bytes that frees.

    A blob that is a link itself lies in the store that newer clients share between repos, and stays there.

    Raises:
        OSError: it cannot be deleted.
    """
    blob = link.parent / link.readlink() if link.is_symlink() else link
    size = 0 if blob.is_symlink() else blob.stat().st_size
    blob.unlink()
    link.unlink(missing_ok=True)
    return size


def partial_of(repo: str, sha256: str) -> Path:
    """Where the beginning of a file with these contents is kept."""
    return _folder(repo) / "blobs" / f"{sha256}.incomplete"


def partial_bytes(repo: str, sha256: str) -> int:
    """Bytes that a pull which is not complete has left."""
    with suppress(OSError):
        return partial_of(repo, sha256).stat().st_size
    return 0


def blobs_named(sha256: str) -> list[Path]:
    """Blobs of any repo in the cache that claim these contents."""
    return [path for path in cache_root().glob(f"models--*/blobs/{sha256}") if path.is_file()]


def _folder(repo: str) -> Path:
    """A repo's folder, as the client's `repo_folder_name` has it, which takes a third of a second to import."""
    return cache_root() / constants.REPO_ID_SEPARATOR.join(("models", *repo.split("/")))
