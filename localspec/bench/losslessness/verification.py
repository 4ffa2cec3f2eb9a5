"""`localspec verify` from the outside: start the process that looks, follow it, and say what it found."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from localspec import locations
from localspec.bench.losslessness.assignment import Assignment
from localspec.bench.losslessness.findings import Findings
from localspec.child import RunningChild
from localspec.engine.diagnosis import explain_death
from localspec.errors import LocalspecError

_EXAMINE = "localspec.bench.losslessness.examination:examine"
"""Named, not imported: only the child may load llama.cpp."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many steps of it are over, and how many there are."""


def verify(assignment: Assignment, progress: Progress, found: Findings) -> None:
    """Look into a pair in a process of its own: llama.cpp may end it without ending the program.

    Args:
        assignment: what to look into.
        progress: told how far it is.
        found: filled as things are found, so that a crash leaves what there was.

    Raises:
        LocalspecError: the pair could not be loaded, or the process died; says why.
    """
    began = time.monotonic()
    loading = assignment.loading
    found.models = loading.target.path.name, loading.draft.path.name if loading.draft else ""
    with RunningChild(_EXAMINE, assignment.as_argument()) as child:
        for line in child:
            _take(line, progress, found)
        code, log = child.wait(), child.log
    found.seconds = time.monotonic() - began
    if code != 0:
        log_file = locations.log_folder() / "verify.log"
        _keep(log)
        raise explain_death(code, log, log_file)


def _take(line: str, progress: Progress, found: Findings) -> None:
    try:
        told: dict[str, Any] = json.loads(line)
    except ValueError:
        # The child's death cut it short.
        return
    step, content = told["step"], told["content"]
    if step == "progress":
        progress(content["what"], content["done"], content["total"])
    elif step == "failed":
        error = LocalspecError(content["title"], content["message"], content["hint"])
        error.exit_code = content["exit_code"]
        raise error
    else:
        found.take(step, content)


def _keep(log: str) -> None:
    file = locations.log_folder() / "verify.log"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(log, "utf-8")
    except OSError:
        # What killed it is told all the same.
        return
