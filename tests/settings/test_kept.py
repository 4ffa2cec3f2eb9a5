"""What was changed in the app for a pair: kept whole, and never in the way of a start."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec import locations
from localspec.errors import LocalspecError
from localspec.settings.kept import Kept, keep_settings, kept_settings


def write(content: bytes) -> Path:
    file = locations.pair_settings_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def test_nothing_is_kept_at_first() -> None:
    assert kept_settings("demo") == Kept()


def test_each_pair_has_its_own() -> None:
    keep_settings("demo", {"temperature": 0.5, "stop": ["a", "b"], "seed": None})
    keep_settings("big", {"top_k": 5})
    assert kept_settings("demo") == Kept({"temperature": 0.5, "stop": ("a", "b"), "seed": None})
    assert kept_settings("big") == Kept({"top_k": 5})


def test_keeping_nothing_forgets_the_pair_and_no_other() -> None:
    keep_settings("demo", {"temperature": 0.5})
    keep_settings("big", {"top_k": 5})
    keep_settings("demo", {})
    assert kept_settings("demo") == Kept()
    assert kept_settings("big") == Kept({"top_k": 5})


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"\xff\xfe{}", b'{"schema": 2, "pairs": {}}', b'{"schema": 1, "pairs": {"demo": 5}}'],
)
def test_a_broken_file_is_told_once_and_moved_aside(content: bytes) -> None:
    file = write(content)
    kept = kept_settings("demo")
    aside = file.with_name("pair_settings.json.broken")
    assert (kept.values, str(aside) in kept.trouble) == ({}, True)
    assert aside.read_bytes() == content
    assert kept_settings("demo") == Kept()


def test_a_wrong_value_is_told_and_the_others_count() -> None:
    write(b'{"schema": 1, "pairs": {"demo": {"temperature": "hot", "top_k": 5}}}')
    kept = kept_settings("demo")
    assert kept.values == {"top_k": 5}
    assert "temperature must be a number, 0 or more, not 'hot'" in kept.trouble


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOCALSPEC_DATA_DIR", str(tmp_path / "file"))
    with pytest.raises(LocalspecError) as caught:
        keep_settings("demo", {"top_k": 5})
    assert "pair_settings.json" in caught.value.message
    assert kept_settings("demo").values == {}
