"""Terminals for the app, and what it keeps."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.conversations.store import ConversationStore
from tests.end_to_end.app.driving import Open
from tests.end_to_end.tmux import Tmux


@pytest.fixture
def history(tmp_path: Path) -> ConversationStore:
    """What the program keeps, read beside it."""
    return ConversationStore(tmp_path / "data" / "history.sqlite3")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    """Open a terminal: `terminal(size=(96, 34), TERM="xterm")`; with a context that holds a few answers."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    ours = {name: value for name, value in os.environ.items() if name.startswith("LOCALSPEC_")}
    opened: list[Tmux] = []

    def open_(size: tuple[int, int] = (96, 34), **environment: str) -> Tmux:
        folder = tmp_path / f"{len(opened)}"
        folder.mkdir()
        colours = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        own = {"LOCALSPEC_DATA_DIR": f"{tmp_path / 'data'}", "LOCALSPEC_CONTEXT": "2048", "HOME": f"{tmp_path}"}
        base = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        opened.append(Tmux(folder, {**base, **colours, **ours, **own, **environment}, size))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()
