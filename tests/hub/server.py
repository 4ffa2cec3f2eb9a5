"""A hub on loopback: what the real client asks of the real hub, real files behind it, and faults by request.

Two servers, as with the real one: the hub itself, which knows repos, revisions and rights and redirects, and a
storage host on another port, which serves the bytes and must never see a token.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Literal, Self
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from pathlib import Path

RESOLVE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)")
TREE = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)/tree/(?P<revision>[^/]+)/?.*")


@dataclass
class Fault:
    """Something that goes wrong.

    Attributes:
        kind: drop (the connection ends), stall (nothing more comes), status (an error instead of an answer),
            wrong (other bytes, same length), short (fewer bytes, announced so), cut (fewer bytes, not announced at
            all), shifted (bytes from another place, and it says so), slow, whole (ranges ignored).
        times: to how many requests it happens; then all is well.
        after: bytes of the body that still come.
        status: of the answer.
        headers: of the answer.
        where: "hub" or "storage".
        rate: bytes a second of a slow one.
        downloads_only: whether the short reads of a check are spared.
    """

    kind: Literal["drop", "stall", "status", "wrong", "short", "cut", "shifted", "slow", "whole"]
    times: int = 1_000_000
    after: int = 0
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    where: str = "storage"
    rate: int = 1_000_000
    downloads_only: bool = False

    def __str__(self) -> str:
        told = [self.where, self.kind, str(self.status) if self.kind == "status" else "", *self.headers.values()]
        return "-".join([*told, "download" if self.downloads_only else ""])

    def happens_to(self, where: str, method: str, asked: str | None) -> bool:
        """Whether a request, for the range `asked`, meets it."""
        if self.times <= 0 or where != self.where or (method != "GET" and where == "storage"):
            return False
        return not self.downloads_only or (asked or "").endswith("-")


@dataclass
class HubFile:
    """One file of a repo. `etag` and `size` are what the hub claims; by default the truth."""

    path: Path
    etag: str = ""
    size: int = -1

    def __post_init__(self) -> None:
        if self.size < 0:
            self.size = self.path.stat().st_size
        if not self.etag:
            with self.path.open("rb") as file:
                self.etag = hashlib.file_digest(file, "sha256").hexdigest()


@dataclass
class Repo:
    """A repo: branches and tags, commits, and who may read it."""

    commits: dict[str, dict[str, HubFile]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    gated: bool = False
    private: bool = False


@dataclass(frozen=True)
class Seen:
    """A request that was answered."""

    where: str
    method: str
    path: str
    range: str | None
    authorization: str | None
    status: int
    sent: int


class LoopbackHub:
    """The hub; use it in a `with` block."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        self.members: set[str] = set()  # tokens that may read gated and private repos
        self.claims: dict[str, str] = {}  # headers that replace the truth about a file
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._servers = [_Server(self, "hub"), _Server(self, "storage")]
        self.endpoint, self.storage = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)

    def __enter__(self) -> Self:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def add(self, repo: str, path: Path, name: str | None = None, branch: str = "main") -> str:
        """Commit a file to a repo; returns the commit."""
        held = self.repos.setdefault(repo, Repo())
        files = dict(held.commits.get(held.branches.get(branch, ""), {}))
        files[name or path.name] = HubFile(path)
        told = json.dumps({file: held.etag for file, held in sorted(files.items())})
        commit = hashlib.sha1(f"{repo} {told}".encode()).hexdigest()
        held.commits[commit] = files
        held.branches[branch] = commit
        return commit

    def commit(self, repo: str, branch: str = "main") -> str:
        """The commit that a branch points to."""
        return self.repos[repo].branches[branch]

    def file(self, repo: str, name: str) -> HubFile:
        """A file of the newest commit."""
        return self.repos[repo].commits[self.commit(repo)][name]

    def bytes_sent(self) -> int:
        """Bytes of bodies that both servers sent."""
        return sum(seen.sent for seen in self.seen)

    def fault(self, where: str, method: str, asked: str | None) -> Fault | None:
        """The fault that happens to this request, if any; it counts as one of its times."""
        with self._lock:
            for fault in self.faults:
                if fault.happens_to(where, method, asked):
                    fault.times -= 1
                    return fault
        return None

    def record(self, seen: Seen) -> None:
        """Remember an answered request."""
        with self._lock:
            self.seen.append(seen)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, hub: LoopbackHub, where: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub
        self.where = where

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = 60

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the parent's name)
        """Tests look at `LoopbackHub.seen`."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub, where = self.server.hub, self.server.where
        fault = hub.fault(where, self.command, self.headers.get("Range"))
        if fault and fault.kind == "status":
            self._tell(fault.status, fault.headers)
        elif fault and where == "hub" and fault.kind in {"drop", "stall"}:
            self._go_silent(fault)
        elif where == "storage":
            self._serve_bytes(fault)
        else:
            self._serve_hub(urlsplit(self.path).path)

    def _serve_hub(self, path: str) -> None:
        if found := RESOLVE.fullmatch(path):
            self._resolve(found["repo"], unquote(found["revision"]), unquote(found["file"]))
        elif found := TREE.fullmatch(path):
            self._tree(found["repo"], unquote(found["revision"]))
        else:
            self._tell(404)

    def _files(self, name: str, revision: str) -> tuple[str, dict[str, HubFile]] | None:
        """Commit and files, or None after an error was sent."""
        repo = self.server.hub.repos.get(name)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        member = token in self.server.hub.members
        if repo is None or (repo.private and not member):
            self._tell(
                404 if token else 401, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
            )
            return None
        if repo.gated and not member:
            message = "Access to model is restricted. Ask for access."
            self._tell(403 if token else 401, {"X-Error-Code": "GatedRepo", "X-Error-Message": message})
            return None
        commit = repo.branches.get(revision, revision)
        if commit not in repo.commits:
            self._tell(404, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": f"Invalid rev id: {revision}"})
            return None
        return commit, repo.commits[commit]

    def _resolve(self, name: str, revision: str, file: str) -> None:
        found = self._files(name, revision)
        if found is None:
            return
        commit, files = found
        if file not in files:
            self._tell(
                404, {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found", "X-Repo-Commit": commit}
            )
            return
        headers = {
            "X-Repo-Commit": commit,
            "X-Linked-Etag": f'"{files[file].etag}"',
            "X-Linked-Size": str(files[file].size),
            "ETag": f'"{files[file].etag}"',
            "Location": f"{self.server.hub.storage}/{name}/{commit}/{file}",
        } | self.server.hub.claims
        self._tell(302, headers)

    def _tree(self, name: str, revision: str) -> None:
        found = self._files(name, revision)
        if found is None:
            return
        entries = [
            {
                "type": "file",
                "path": path,
                "size": file.size,
                "oid": "0" * 40,
                "lfs": {"oid": file.etag, "size": file.size, "pointerSize": 134},
            }
            for path, file in found[1].items()
        ]
        self._tell(200, {"Content-Type": "application/json"}, json.dumps(entries).encode())

    def _serve_bytes(self, fault: Fault | None) -> None:
        owner, repo, commit, file = urlsplit(self.path).path[1:].split("/", 3)
        held = self.server.hub.repos[f"{owner}/{repo}"].commits[commit][unquote(file)]
        size = held.path.stat().st_size
        if fault and fault.kind == "short":
            size = min(size, fault.after)  # all of its answers agree on it
        asked = self.headers.get("Range")
        begin, end = 0, size
        if asked and not (fault and fault.kind == "whole"):
            first, last = asked.removeprefix("bytes=").split("-")
            begin, end = int(first), min(size, int(last) + 1 if last else size)
        if begin >= size and size:
            self._tell(416, {"Content-Range": f"bytes */{size}"})
            return
        if fault and fault.kind == "shifted":
            begin = 0
        partial = asked is not None and not (fault and fault.kind == "whole")
        self.send_response(206 if partial else 200)
        if fault and fault.kind == "cut":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(end - begin))
        self.send_header("Accept-Ranges", "bytes")
        if partial:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        self.end_headers()
        sent = 0
        try:
            if self.command == "GET":
                sent = self._send_body(held.path, begin, end, fault)
        finally:
            self._record(206 if partial else 200, sent)

    def _send_body(self, path: Path, begin: int, end: int, fault: Fault | None) -> int:
        kind = fault.kind if fault else ""
        limit = min(end, begin + fault.after) if fault and kind in {"drop", "stall", "cut"} else end
        sent = 0
        with path.open("rb") as file, suppress(OSError):
            self.wfile.flush()
            if kind in {"slow", "wrong"}:
                sent = self._send_slowly(file, begin, limit, fault)
            else:
                sent = self.connection.sendfile(file, begin, limit - begin) if limit > begin else 0
        if fault and kind in {"drop", "stall", "cut"} and limit < end:
            self._go_silent(fault)
        return sent

    def _send_slowly(self, file, begin: int, end: int, fault: Fault) -> int:
        """In pieces of a twentieth of a second, or with one bit of every megabyte turned."""
        file.seek(begin)
        sent, piece = 0, fault.rate // 20 if fault.kind == "slow" else 1 << 20
        while begin + sent < end and not self.server.hub.stopping.is_set():
            data = bytearray(file.read(min(piece, end - begin - sent)))
            if fault.kind == "wrong":
                data[-1] ^= 1
            else:
                time.sleep(0.05)
            self.connection.sendall(data)
            sent += len(data)
        return sent

    def _go_silent(self, fault: Fault) -> None:
        """End the connection, or keep it open and send nothing until the client gives up."""
        self.close_connection = True
        if fault.kind == "stall":
            self.connection.settimeout(0.1)
            while not self.server.hub.stopping.is_set():
                try:
                    if not self.connection.recv(1):
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _tell(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
        self._record(status, len(body) if self.command == "GET" else 0)

    def _record(self, status: int, sent: int) -> None:
        asked, token = self.headers.get("Range"), self.headers.get("Authorization")
        self.server.hub.record(Seen(self.server.where, self.command, self.path, asked, token, status, sent))
