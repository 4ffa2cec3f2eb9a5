from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from localspec.conversations.conversation import Attachment
from localspec.errors import UsageError
from localspec.tui.attachments import MOST_BYTES, described, read_attachment

TEXT = "Grüße, 漢字\nand more\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my 'notes' [b].txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def refusal(named: str, context: int | None = None) -> str:
    with pytest.raises(UsageError) as refused:
        read_attachment(named, context=context)
    return str(refused.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_in_each_unicode_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT.encode(encoding))

    assert read_attachment(str(path)) == Attachment("a.txt", TEXT)


def test_line_ends_of_windows_become_plain_ones(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\r\nb\rc\n")

    assert read_attachment(str(tmp_path / "a.txt")).text == "a\nb\rc\n"


@pytest.mark.skipif(os.name == "nt", reason="there, the backslash separates folders")
def test_a_path_is_read_as_terminals_and_people_give_it(file: Path) -> None:
    escaped = str(file).replace(" ", "\\ ").replace("'", "\\'").replace("[", "\\[").replace("]", "\\]")

    for named in (str(file), f"  {file}\n", f'"{file}"', escaped, file.as_uri()):
        assert read_attachment(named).text == TEXT


def test_home_and_the_folder_one_is_in_count(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(file.parent))
    monkeypatch.setenv("USERPROFILE", str(file.parent))
    monkeypatch.chdir(file.parent)

    assert read_attachment(f"~/{file.name}").name == file.name
    assert read_attachment(file.name).name == file.name


def test_a_quoted_name_may_be_the_files_own(tmp_path: Path) -> None:
    (tmp_path / "'a'").write_text("quoted", encoding="utf-8")

    assert read_attachment(f"{tmp_path}/'a'").text == "quoted"


def test_what_is_not_there_is_named() -> None:
    assert "nothere.txt" in refusal("/nowhere/nothere.txt")
    assert "/attach" in refusal("  ")
    refusal("a\0b")
    refusal("x" * 5000)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "folder" in refusal(str(tmp_path))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="who may do everything is refused nothing")
def test_a_file_that_may_not_be_read_says_so(file: Path) -> None:
    file.chmod(0)

    assert "ermission" in refusal(str(file))


@pytest.mark.skipif(os.name == "nt", reason="a Unix matter")
def test_pipes_devices_and_sockets_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "pipe" in refusal(str(tmp_path / "pipe"))
    assert "device" in refusal("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        refusal(str(tmp_path / "s"))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.7 text", "a PDF"),
        (b"PK\x03\x04...", "ZIP"),
        (b"\x89PNG\r\n", "picture"),
        (b"GGUF\x03\x00\x00\x00", "a model"),
        (b"text with a \0 in it", "binary"),
        ("Grüße".encode("latin-1"), "not UTF-8"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "file").write_bytes(content)

    assert kind in refusal(str(tmp_path / "file"))


def test_what_cannot_fit_into_the_context_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("ü" * 40_000, encoding="utf-8")

    said = refusal(str(path), context=4096)

    assert "4,096 tokens" in said
    assert "80 kB" in said
    assert len(read_attachment(str(path), context=16384).text) == 40_000


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.write(b"x" * (MOST_BYTES + 1))
        file.truncate(50_000_000_000)

    assert "50000.0 MB" in refusal(str(path)) or "too long" in refusal(str(path))


def test_a_strange_name_cannot_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b]0;t\x07b"
    path.write_bytes(b"\0")

    assert "\x1b" not in refusal(str(path))


def test_an_empty_file_is_attached(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()

    assert read_attachment(str(tmp_path / "empty")) == Attachment("empty", "")


def test_how_much_it_is_stands_in_words() -> None:
    assert described(Attachment("a", "")) == "0 lines, 0 B"
    assert described(Attachment("a", "é")) == "1 line, 2 B"
    assert described(Attachment("a", "line\n" * 4512)) == "4,512 lines, 23 kB"
    assert described(Attachment("a", "x" * 5_000_000)) == "1 line, 5.0 MB"
