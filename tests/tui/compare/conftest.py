"""A scripted engine that has loaded the pair of the chat."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from localspec.tui.engine_link import EngineLink
from tests.tui.compare.host import PATIENCE, TEXT
from tests.tui.scripted_engine import PAIR, ScriptedEngine


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(answers=(TEXT,))


@pytest.fixture
def link(engine: ScriptedEngine) -> Iterator[EngineLink]:
    link = EngineLink(engine)
    loading = link.load(PAIR)
    deadline = time.monotonic() + PATIENCE
    while not loading.over and time.monotonic() < deadline:
        loading.take()
        time.sleep(0.001)
    yield link
    link.close()
