"""What the process that looks says to the one that started it: a JSON line for each step."""

from __future__ import annotations

import json
from typing import Any


def tell(step: str, content: dict[str, Any]) -> None:
    """Something was found, or failed."""
    print(json.dumps({"step": step, "content": content}), flush=True)


def tell_progress(what: str, done: int, total: int) -> None:
    """How far it is."""
    tell("progress", {"what": what, "done": done, "total": total})
