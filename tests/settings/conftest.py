"""A person whose folders are empty."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hub.conftest import desk, tiny_pair

__all__ = ["desk", "tiny_pair"]


@pytest.fixture(autouse=True)
def empty_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"LOCALSPEC_{kind}_DIR", str(tmp_path / kind.lower()))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf"))
    return tmp_path
