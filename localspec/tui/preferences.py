"""What a person set about the screen itself, kept for the next time."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from localspec.records import write_whole
from localspec.tui.themes import DARK


@dataclass(frozen=True, slots=True)
class Preferences:
    """How the screen looks.

    Attributes:
        theme: name of the colours.
        readout: whether the figures are shown.
    """

    theme: str = DARK.name
    readout: bool = True


def load_preferences(file: Path) -> Preferences:
    """What was kept; the defaults where it cannot be read: looks are not worth an error."""
    with suppress(OSError, ValueError, TypeError):
        kept = json.loads(file.read_bytes())
        return Preferences(theme=str(kept["theme"]), readout=bool(kept["readout"]))
    return Preferences()


def keep_preferences(file: Path, preferences: Preferences) -> None:
    """Keep them for the next time, if that can be done."""
    with suppress(OSError):
        write_whole(file, json.dumps(asdict(preferences)).encode())
