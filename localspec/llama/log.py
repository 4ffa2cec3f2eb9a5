"""What llama.cpp says: sent on to Python's logging, and remembered so that an error can quote it."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from localspec.llama.bindings import low

logger = logging.getLogger("localspec.llama")
# Without a handler of its own, Python would print llama.cpp's warnings to stderr in programs that set up no logging.
logger.addHandler(logging.NullHandler())

# enum ggml_log_level; CONT continues the line before it.
_DEBUG = 1
_CONTINUE = 5
_LEVELS = {0: logging.INFO, 1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR}


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of llama.cpp's log: `level` as in Python's logging, `text` without the line end."""

    level: int
    text: str


class LogCapture:
    """Puts the pieces llama.cpp logs together to lines; safe to call from any of its threads."""

    def __init__(self, remember: int = 50) -> None:
        self._recent: deque[LogLine] = deque(maxlen=remember)
        self._recordings: list[list[LogLine]] = []
        self._lock = threading.RLock()
        self._level = logging.INFO
        self._pending = ""
        self._dropping = False

    def receive(self, level: int, text: str) -> None:
        """Take one call of llama.cpp's log callback (`ggml_log_level`, text that may lack its line end)."""
        with self._lock:
            if level != _CONTINUE:
                self._flush()
                self._level = _LEVELS.get(level, logging.INFO)
                # Loading a small model logs 3,000 lines of debug: not worth a millisecond when nobody reads them.
                self._dropping = level == _DEBUG and not logger.isEnabledFor(logging.DEBUG)
            if self._dropping:
                return
            *lines, rest = (self._pending + text).split("\n")
            for line in lines:
                self._emit(line)
            self._pending = rest

    def recent(self) -> tuple[LogLine, ...]:
        """The last warnings and errors, oldest first."""
        with self._lock:
            return tuple(self._recent)

    @contextmanager
    def recording(self) -> Iterator[list[LogLine]]:
        """Every line that arrives inside the block (of debug level only while the logger wants those)."""
        lines: list[LogLine] = []
        with self._lock:
            self._recordings.append(lines)
        try:
            yield lines
        finally:
            with self._lock:
                self._flush()
                self._recordings = [other for other in self._recordings if other is not lines]

    def _flush(self) -> None:
        if self._pending:
            line, self._pending = self._pending, ""
            self._emit(line)

    def _emit(self, text: str) -> None:
        if not text.strip():
            return
        line = LogLine(self._level, text.rstrip())
        if line.level >= logging.WARNING:
            self._recent.append(line)
        for recording in self._recordings:
            recording.append(line)
        logger.log(line.level, "%s", line.text)


capture = LogCapture()


# Bound to the module, since llama.cpp keeps only a bare pointer: a collected callback would crash the process.
@low.llama_log_callback  # type: ignore[untyped-decorator] # the bindings are untyped here
def _callback(level: int, text: bytes | None, _user_data: Any) -> None:
    capture.receive(level, (text or b"").decode("utf-8", "replace"))


def install() -> None:
    """Send llama.cpp's log here. Without it, llama.cpp writes to stderr."""
    low.llama_log_set(_callback, None)


def uninstall() -> None:
    """Give llama.cpp its own log back: it may still speak when Python is gone."""
    low.llama_log_set(low.llama_log_callback(), None)


def words_of(lines: list[LogLine]) -> str:
    """The most telling line of a failure: the last error, else the last warning, without the C function's name."""
    for level in (logging.ERROR, logging.WARNING):
        for line in reversed(lines):
            if line.level == level:
                return _without_function_name(line.text)
    return ""


def _without_function_name(text: str) -> str:
    """Drop a leading "llama_model_load: ": it names a place in the source, which tells a person nothing."""
    head, separator, rest = text.partition(": ")
    return rest.strip() if separator and rest and head.replace("_", "").isalnum() and "_" in head else text.strip()
