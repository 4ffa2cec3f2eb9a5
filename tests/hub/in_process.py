"""The loopback hub for code that runs in the test's own process: the client read its variables when it was imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.hub.conftest import Desk


def sit_at(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be the person at this desk."""
    for name, value in desk.environment.items():
        monkeypatch.setenv(name, value)
    constants = {
        "ENDPOINT": desk.hub.endpoint,
        "HUGGINGFACE_CO_URL_TEMPLATE": f"{desk.hub.endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
        "HF_HUB_CACHE": str(desk.cache),
        "HF_HUB_DOWNLOAD_TIMEOUT": 1,
        "HF_HUB_ETAG_TIMEOUT": 1,
    }
    for name, value in constants.items():
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
