"""A hub on loopback with one small pair, and pulls of it in processes of their own."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.hub.server import LoopbackHub
from tests.pairs.gguf_files import TinyModel

ROOT = Path(__file__).parents[2]
# No power of two, so that bytes in the wrong place are other bytes.
NOISE = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(31))


@dataclass
class Outcome:
    """How a pull went."""

    returncode: int
    lines: list[dict[str, Any]]
    stderr: str

    def told(self, what: str) -> Any:
        """The last line of that kind."""
        found = [line[what] for line in self.lines if what in line]
        assert found, (self.lines, self.stderr)
        return found[-1]

    @property
    def notes(self) -> str:
        """All that was said on the way."""
        return "\n".join(f"{one['what']} {one['note']}" for one in (line.get("progress") for line in self.lines) if one)


@dataclass
class Pulling:
    """A pull that is running."""

    process: subprocess.Popen[str]

    def stop(self, how: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(how)

    def outcome(self) -> Outcome:
        """Wait for its end."""
        output, stderr = self.process.communicate(timeout=240)
        assert stderr == "", stderr
        return Outcome(self.process.returncode, [json.loads(line) for line in output.splitlines()], stderr)


@dataclass
class Desk:
    """A person's folders, a hub, and the pair `tiny` between them."""

    hub: LoopbackHub
    folder: Path
    target: Path
    draft: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        """The hub's cache."""
        return Path(self.environment["HF_HOME"]) / "hub"

    def write_catalog(self, part: str = "target", **changes: str) -> None:
        """Name the pair, pinned as the hub has it now; `changes` replace values of one file, "" leaves one out."""
        lines: list[str] = []
        for name, path in (("target", self.target), ("draft", self.draft)):
            repo = f"somebody/{name}-GGUF"
            values = {
                "repo": repo,
                "file": path.name,
                "revision": self.hub.commit(repo),
                "bytes": path.stat().st_size,
                "sha256": self.hub.file(repo, path.name).etag,
            } | (changes if name == part else {})
            lines.append(f"[files.{name}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in values.items() if value != ""]
        lines += ["[pairs.tiny]", 'target = "target"', 'draft = "draft"', "context = 512"]
        catalog = Path(self.environment["LOCALSPEC_CONFIG_DIR"]) / "models.toml"
        catalog.parent.mkdir(parents=True, exist_ok=True)
        catalog.write_text("\n".join(lines))

    def start(self, **environment: str) -> Pulling:
        """Begin a pull."""
        command = [sys.executable, "-m", "tests.hub.pull_in_child"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return Pulling(subprocess.Popen(command, cwd=ROOT, env=self.environment | environment, **pipes))

    def pull(self, **environment: str) -> Outcome:
        """Pull, and wait for the end."""
        return self.start(**environment).outcome()

    def cached(self, which: str) -> Path | None:
        """Where the hub's client finds the file, if it does."""
        path = getattr(self, which)
        repo = f"somebody/{which}-GGUF"
        found = self.cache.glob(f"models--{repo.replace('/', '--')}/snapshots/*/{path.name}")
        return next(found, None)

    def check_cache(self) -> dict[str, int]:
        """Check that the cache holds whole blobs, beginnings of them, links and locks, and nothing else.

        Returns:
            The sizes of the beginnings, by name.
        """
        whole = {hashlib.sha256(path.read_bytes()).hexdigest(): path.read_bytes() for path in (self.target, self.draft)}
        beginnings: dict[str, int] = {}
        for path in self.cache.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                assert any(path.iterdir()), f"{path} is empty"
            elif path.name.endswith(".incomplete"):
                content = path.read_bytes()
                assert content, f"{path} is empty"
                assert whole[path.name.removesuffix(".incomplete")].startswith(content)
                beginnings[path.name] = len(content)
            elif path.parent.name == "blobs":
                assert whole[path.name] == path.read_bytes()
            elif "snapshots" in path.parts:
                assert path.resolve().parent.name == "blobs"
                assert path.exists()
            else:
                assert path.suffix == ".lock" or path.parent.name == "refs", path
        return beginnings


@pytest.fixture(scope="session")
def tiny_pair(tmp_path_factory):
    """Two models with one tokenizer: 3.2 MB and 0.5 MB."""
    folder = tmp_path_factory.mktemp("models")
    target, draft = folder / "big-q8.gguf", folder / "small-q4.gguf"
    target.write_bytes(TinyModel(layers=6, width=128, fill=NOISE).bytes())
    draft.write_bytes(TinyModel(layers=2, width=64, fill=NOISE[::-1]).bytes())
    return target, draft


def own_environment(hub: LoopbackHub, folder: Path) -> dict[str, str]:
    """The environment of a person whose hub is `hub` and whose folders are in `folder`."""
    environment = {name: value for name, value in os.environ.items() if not name.upper().startswith("HF_")}
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        environment.pop(name, None)
    return environment | {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DOWNLOAD_TIMEOUT": "1",
        "HF_HUB_ETAG_TIMEOUT": "1",
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "home" / ".cache"),
        "LOCALSPEC_CACHE_DIR": str(folder / "cache"),
        "LOCALSPEC_CONFIG_DIR": str(folder / "config"),
        "LOCALSPEC_DATA_DIR": str(folder / "data"),
    }


@pytest.fixture
def desk(tmp_path, tiny_pair):
    """A person with nothing yet, and a hub in good order."""
    with LoopbackHub() as hub:
        found = Desk(hub, tmp_path, *tiny_pair, own_environment(hub, tmp_path))
        hub.add("somebody/target-GGUF", found.target)
        hub.add("somebody/draft-GGUF", found.draft)
        found.write_catalog()
        yield found
