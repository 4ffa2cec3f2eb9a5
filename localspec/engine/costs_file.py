"""What was measured on this machine, kept in one file, so that it is measured once."""

from __future__ import annotations

import hashlib
import json
import math
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from localspec import locations
from localspec.records import changing, write_whole

SCHEMA = 1
"""A file of another one is taken for none."""

_MOST_ENTRIES = 200
"""Of each kind; the oldest go first."""

_PIECES = 64
_PIECE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class MeasuredOn:
    """What a figure holds for. Where any of this is another, it is measured anew.

    Attributes:
        model: the file, whatever its name and place (`identity_of`).
        role: "target", whose passes put out a row for each token, or "draft", whose passes put out one.
        build: llama.cpp and the bindings, with their build flags.
        device: where the model runs, and the processor.
        gpu_layers: layers on the GPU, as asked for.
        kv_type: type of the keys and values.
        flash_attention: as asked for.
    """

    model: str
    role: str
    build: str
    device: str
    gpu_layers: int
    kv_type: str
    flash_attention: str


@dataclass(frozen=True, slots=True)
class KnownCosts:
    """Figures of one model.

    Attributes:
        seconds: of a pass, by its width.
        text: tokens that stood before the passes.
        made: when, ISO 8601.
    """

    seconds: dict[int, float]
    text: int
    made: str = ""


def identity_of(path: Path) -> str:
    """A fingerprint of a file's size and of pieces from all over it: the same for every copy, and quick to take.

    Raises:
        OSError: it cannot be read.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(b"%d" % size)
    with path.open("rb", buffering=0) as file:
        for piece in range(_PIECES):
            file.seek(max(0, size - _PIECE_BYTES) * piece // (_PIECES - 1))
            digest.update(file.read(_PIECE_BYTES))
    return digest.hexdigest()


def recall_costs(on: MeasuredOn, threads: int) -> KnownCosts | None:
    """What is known of a model's passes with so many threads; None when nothing sensible is."""
    entry = _entries("costs").get(_key(on, threads), {})
    try:
        seconds = {int(width): float(each) for width, each in entry["seconds"].items()}
        known = KnownCosts(seconds, int(entry["text"]), str(entry["made"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    sensible = all(width >= 1 and 0 < each < math.inf for width, each in seconds.items())
    return known if seconds and sensible else None


def recall_threads(on: MeasuredOn) -> int | None:
    """The number of threads that was found best for a model; None when it was not looked for."""
    found = _entries("threads").get(_key(on), {}).get("threads")
    return found if type(found) is int and 1 <= found <= 4096 else None


def keep_costs(on: MeasuredOn, threads: int, seconds: dict[int, float], text: int) -> None:
    """Note what passes cost, in place of what was known.

    Raises:
        OSError: the file cannot be written.
    """
    figures = {"seconds": {str(width): each for width, each in sorted(seconds.items())}, "text": text}
    _keep("costs", _key(on, threads), {"for": asdict(on), "threads": threads, **figures})


def keep_threads(on: MeasuredOn, threads: int) -> None:
    """Note how many threads are best.

    Raises:
        OSError: the file cannot be written.
    """
    _keep("threads", _key(on), {"for": asdict(on), "threads": threads})


def _key(on: MeasuredOn, *more: object) -> str:
    return hashlib.sha256(json.dumps([asdict(on), *more], sort_keys=True).encode()).hexdigest()[:32]


def _keep(kind: str, key: str, entry: dict[str, Any]) -> None:
    path = locations.pass_costs_file()
    with changing(path):
        document = _document()
        entries = document[kind]
        # Behind the others, so that the first ones are the oldest.
        entries.pop(key, None)
        entries[key] = {**entry, "made": time.strftime("%Y-%m-%dT%H:%M:%S%z")}
        document[kind] = dict(list(entries.items())[-_MOST_ENTRIES:])
        write_whole(path, json.dumps({"schema": SCHEMA, **document}, indent=1, allow_nan=False).encode())


def _entries(kind: str) -> dict[str, dict[str, Any]]:
    return _document()[kind]


def _document() -> dict[str, dict[str, dict[str, Any]]]:
    """What the file holds; a missing, damaged or foreign one holds nothing."""
    kept: dict[str, dict[str, dict[str, Any]]] = {"costs": {}, "threads": {}}
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(locations.pass_costs_file().read_bytes())
        if isinstance(found, dict) and found.get("schema") == SCHEMA:
            for kind in kept:
                entries = found.get(kind)
                if isinstance(entries, dict):
                    kept[kind] = {key: entry for key, entry in entries.items() if isinstance(entry, dict)}
    return kept
