"""The prompts a person wrote, of this run and of earlier ones, and the walk through them with Up and Down."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from localspec.records import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_KEPT = 1000
_SLACK = 500
"""Lines that may be added before the file is cut back: adding one must not write them all."""

_PATIENCE = 1.0
"""Seconds to wait for another window that is writing; a prompt less in the file is worth no more."""


class PromptHistory:
    """Prompts, oldest first, in a file with one JSON string a line.

    The conversation in lines keeps its own file: the line editors write that one, in formats of theirs, and cut a
    prompt of several lines into several.
    """

    def __init__(self, file: Path | None) -> None:
        """Remember in `file`, read when the first prompt is asked for; None keeps nothing beyond this run."""
        self._file = file
        self._earlier: list[str] | None = None
        self._new: list[str] = []

    @property
    def prompts(self) -> list[str]:
        """All that are known, oldest first, never the same twice in a row."""
        if self._earlier is None:
            self._earlier = self._read()
        return [*self._earlier, *self._new][-_KEPT:]

    def add(self, prompt: str) -> None:
        """Remember a prompt; a file that cannot be written is no reason to bother the person."""
        if not prompt.strip() or prompt == next(reversed(self._new or self.prompts), None):
            return
        self._new.append(prompt)
        if self._file is None:
            return
        line = json.dumps(prompt, ensure_ascii=False) + "\n"
        with contextlib.suppress(OSError), self._alone(self._file) as file, file.open("ab") as stream:
            # One write: what another process adds meanwhile comes before or after it.
            stream.write(line.encode("utf-8", "replace"))

    def _read(self) -> list[str]:
        if self._file is None:
            return []
        try:
            lines = self._file.read_bytes().split(b"\n")
        except OSError:
            return []
        if len(lines) > _KEPT + _SLACK:
            with contextlib.suppress(OSError), self._alone(self._file) as file:
                write_whole(file, b"\n".join(file.read_bytes().split(b"\n")[-_KEPT - 1 :]))
        return list(_prompts(lines))[-_KEPT:]

    @contextlib.contextmanager
    def _alone(self, file: Path) -> Iterator[Path]:
        """Hold the file against other windows; OSError when it cannot be had."""
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(file.with_name(f".{file.name}.lock"), timeout=_PATIENCE):
                # What a person asks a model is theirs alone.
                file.touch(mode=0o600)
                yield file
        except Timeout as error:
            raise TimeoutError(str(error)) from error


class Walk:
    """One walk through the prompts: every text that was left is found again, the unsent one at the end."""

    def __init__(self, history: PromptHistory) -> None:
        """Stand at the end, where the person writes."""
        self._prompts = history.prompts
        self._at = len(self._prompts)
        self._left: dict[int, str] = {}

    def older(self, text: str) -> str | None:
        """The prompt before the one that is shown as `text`; None when there is none."""
        return self._step(text, -1)

    def newer(self, text: str) -> str | None:
        """The prompt after the one that is shown as `text`, or the unsent one; None when there is none."""
        return self._step(text, 1)

    def _step(self, text: str, by: int) -> str | None:
        if not 0 <= self._at + by <= len(self._prompts):
            return None
        self._left[self._at] = text
        self._at += by
        if self._at in self._left:
            return self._left[self._at]
        return self._prompts[self._at]


def _prompts(lines: list[bytes]) -> Iterator[str]:
    """What the lines hold; one that was cut, or that something else wrote, is passed over."""
    before = None
    for line in lines:
        try:
            prompt = json.loads(line)
        except ValueError:
            continue
        if isinstance(prompt, str) and prompt.strip() and prompt != before:
            before = prompt
            yield prompt
