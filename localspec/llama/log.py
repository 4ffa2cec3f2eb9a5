"""What llama.cpp says: sent on to Python's logging, and remembered so that an error can quote it."""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from localspec.llama.bindings import c_function, low

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
        self.warnings = 0
        """How many warnings and errors came so far: note it, and ask `since` for those that came later."""
        self._recent: deque[LogLine] = deque(maxlen=remember)
        self._listeners: list[Callable[[LogLine], object]] = []
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

    def since(self, warnings: int) -> list[LogLine]:
        """The warnings and errors (the last 50 at most) that came after `self.warnings` was `warnings`."""
        with self._lock:
            new = self.warnings - warnings
            return list(self._recent)[-new:] if new > 0 else []

    @contextmanager
    def listening(self, listener: Callable[[LogLine], object]) -> Iterator[None]:
        """Call `listener` with every line that comes inside the block (debug only while the logger wants it).

        It runs inside llama.cpp's call of the log callback, so it must be short and must not raise.
        """
        with self._lock:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._lock:
                self._flush()
                self._listeners.remove(listener)

    @contextmanager
    def recording(self) -> Iterator[list[LogLine]]:
        """Collect every line that comes inside the block."""
        lines: list[LogLine] = []
        with self.listening(lines.append):
            yield lines

    def _flush(self) -> None:
        if self._pending:
            line, self._pending = self._pending, ""
            self._emit(line)

    def _emit(self, text: str) -> None:
        if not text.strip():
            return
        line = LogLine(self._level, text.rstrip())
        if line.level >= logging.WARNING:
            self.warnings += 1
            self._recent.append(line)
        for listener in self._listeners:
            listener(line)
        logger.log(line.level, "%s", line.text)


capture = LogCapture()


# Both are bound to the module, since llama.cpp keeps only bare pointers: a collected one would crash the process.
@low.llama_log_callback  # type: ignore[untyped-decorator] # the bindings are untyped here
def _on_log(level: int, text: bytes | None, _user_data: Any) -> None:
    capture.receive(level, (text or b"").decode("utf-8", "replace"))


@ctypes.CFUNCTYPE(None, ctypes.c_char_p)  # type: ignore[untyped-decorator] # ctypes does not keep the types
def _on_abort(message: bytes | None) -> None:
    """Say why llama.cpp is about to end the process, instead of its own way, a debugger's backtrace on stderr."""
    words = (message or b"").decode("utf-8", "replace").strip()
    logger.critical("llama.cpp gives up: %s", words)
    os.write(2, f"llama.cpp gives up: {words}\n".encode())


def install() -> None:
    """Send llama.cpp's log and its last words here. Without it, llama.cpp writes to stderr."""
    low.llama_log_set(_on_log, None)
    c_function("ggml_set_abort_callback", [ctypes.c_void_p], ctypes.c_void_p)(ctypes.cast(_on_abort, ctypes.c_void_p))


def uninstall() -> None:
    """Give llama.cpp its own ways back: it may still speak when Python is gone."""
    low.llama_log_set(low.llama_log_callback(), None)
    c_function("ggml_set_abort_callback", [ctypes.c_void_p], ctypes.c_void_p)(None)
