"""What is asked in a benchmark: prompts of our own, or any file in Spec-Bench's JSON-lines format.

One object a line: `question_id` (text or number), `category`, `turns` (the user's messages, in order). Spec-Bench: Xia
et al. 2024, arXiv 2401.07851.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from localspec.errors import UsageError


@dataclass(frozen=True, slots=True)
class Task:
    """One conversation to hold.

    Attributes:
        id: its name, unique in a benchmark.
        kind: what sort of text it asks for; Spec-Bench's `category`.
        turns: what the person says, turn by turn; every answer stays in the conversation.
    """

    id: str
    kind: str
    turns: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Tells whether two benchmarks asked the same."""
        return hashlib.sha256(json.dumps([self.kind, *self.turns]).encode()).hexdigest()[:16]


def built_in_tasks() -> tuple[Task, ...]:
    """Our own: four prompts of each kind, one of them Chinese, one in some kinds of two turns."""
    folder = files("localspec.bench") / "tasks"
    texts = sorted((file.name, file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".jsonl"))
    return tuple(task for name, text in texts for task in _parsed(text, name))


def read_tasks(path: Path) -> tuple[Task, ...]:
    """The tasks of a file.

    Raises:
        UsageError: there is no such file, or a line of it is no task; says which.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The tasks in {path} cannot be read", f"{error}.", "Name a JSON-lines file.") from error
    tasks = tuple(_parsed(text, str(path)))
    if not tasks:
        raise UsageError(f"There are no tasks in {path}", "", _FORMAT)
    return tasks


def chosen_tasks(tasks: Iterable[Task], kinds: Sequence[str] = (), limit: int | None = None) -> tuple[Task, ...]:
    """The tasks of these kinds, `limit` of each; in turns, so that a benchmark cut short has seen every kind.

    Args:
        tasks: all there are.
        kinds: names of kinds; none for all.
        limit: most tasks of a kind; None for all.

    Raises:
        UsageError: a kind that there is not.
    """
    by_kind: dict[str, list[Task]] = {}
    for task in tasks:
        by_kind.setdefault(task.kind, []).append(task)
    unknown = [kind for kind in kinds if kind not in by_kind]
    if unknown:
        raise UsageError(f"There is no kind of task called {unknown[0]!r}", f"There are: {', '.join(by_kind)}.")
    columns = [of_kind[:limit] for kind, of_kind in by_kind.items() if not kinds or kind in kinds]
    return tuple(task for row in itertools.zip_longest(*columns) for task in row if task is not None)


_FORMAT = 'A line looks like {"question_id": 1, "category": "story", "turns": ["Tell me a story."]}.'


def _parsed(text: str, name: str) -> Iterable[Task]:
    seen: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        task = _task(line)
        if task is None:
            raise UsageError(f"Line {number} of {name} is no task", "", _FORMAT)
        if task.id in seen:
            raise UsageError(f"Line {number} of {name} repeats the id {task.id}", "", "Give each task its own.")
        seen.add(task.id)
        yield task


def _task(line: str) -> Task | None:
    """The task in a line; None when there is none."""
    try:
        found: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    id_, kind, turns = (found.get(name) for name in ("question_id", "category", "turns"))
    if not isinstance(id_, int | str) or not isinstance(kind, str) or not kind or not isinstance(turns, list):
        return None
    if not turns or not all(isinstance(turn, str) and turn.strip() and _is_unicode(turn) for turn in turns):
        return None
    return Task(str(id_), kind, tuple(turns))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
