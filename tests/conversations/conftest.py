from __future__ import annotations

import pytest

from localspec.conversations.store import ConversationStore


@pytest.fixture
def history(tmp_path):
    return tmp_path / "data" / "history.sqlite3"


@pytest.fixture
def store(history):
    store = ConversationStore(history)
    yield store
    store.close()
