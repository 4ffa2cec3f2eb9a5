"""The program on a terminal of its own: keys go in, a screen comes out, and what it leaves behind is looked at."""

from __future__ import annotations

import codecs
import fcntl
import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pexpect  # type: ignore[import-untyped] # its stubs are a package of their own
import psutil  # type: ignore[import-untyped] # its stubs are a package of their own

from driving.screen import Screen

_KEPT = 60_000
"""Characters of what was written last that are kept, to be looked at after an end that nobody wanted."""

_SHELL_SECONDS = 1.0
"""How long nothing is written before it is looked whether the program was stopped."""

_OPTIONS = ("chat", "--pair", "demo", "--context", "1024", "--max-tokens", "160")


class Program:
    """One run of `localspec chat`."""

    def __init__(self, folder: Path, size: tuple[int, int], *options: str) -> None:
        """Start it, in a folder of its own, on a terminal of so many columns and rows."""
        self.began = time.monotonic()
        self.written = ""
        self.screen = Screen(*size)
        self.descendants: dict[int, psutil.Process] = {}
        self._lock = threading.Lock()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._child = pexpect.spawn(
            sys.executable,
            ["-P", "-m", "localspec", *_OPTIONS, *options],
            dimensions=(size[1], size[0]),
            cwd=folder,
            env=_environment(folder),
        )
        self.pid: int = self._child.pid
        os.set_blocking(self._child.child_fd, False)
        self._name = str(psutil.Process(self.pid).terminal())
        self._terminal = termios.tcgetattr(self._child.child_fd)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def lines(self) -> list[str]:
        """The rows of the screen."""
        with self._lock:
            return self.screen.lines

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return bool(self._child.isalive())

    @property
    def code(self) -> int:
        """How it ended; minus the number of the signal that ended it."""
        self.alive  # noqa: B018 - asks the system
        return int(self._child.exitstatus if self._child.exitstatus is not None else -(self._child.signalstatus or 0))

    @property
    def engine(self) -> psutil.Process | None:
        """The process that holds the models, when there is one."""
        for process in self.descendants_now():
            try:
                if process.status() != psutil.STATUS_ZOMBIE and "localspec.engine" in " ".join(process.cmdline()):
                    return process
            except psutil.NoSuchProcess:
                continue
        return None

    def send(self, keys: str | bytes, seconds: float = 30) -> bool:
        """Press keys; whether the program, or the system for it, took them all in time."""
        data = memoryview(keys if isinstance(keys, bytes) else keys.encode("utf-8", "surrogatepass"))
        deadline = time.monotonic() + seconds
        while data and self.alive and time.monotonic() < deadline:
            if select.select([], [self._child.child_fd], [], 0.2)[1]:
                try:
                    data = data[os.write(self._child.child_fd, data[:1024]) :]
                except BlockingIOError:
                    time.sleep(0.01)
                except OSError:  # it is gone
                    return False
        return not data

    def wait_until_read(self, seconds: float = 60) -> None:
        """Wait until it has read all that was sent: Escape and Enter read at once are Alt+Enter."""
        time.sleep(0.05)  # the system takes a moment to hand it on
        deadline = time.monotonic() + seconds
        while self._unread() and self.alive and time.monotonic() < deadline:
            time.sleep(0.02)

    def _unread(self) -> int:
        """Bytes that wait in the terminal; it is opened for a moment only, as its end must be seen."""
        terminal = os.open(self._name, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            return int.from_bytes(fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)), sys.byteorder)
        finally:
            os.close(terminal)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size; one that it has already tells the program nothing."""
        with self._lock:
            if (columns, rows) == (self.screen.columns, self.screen.rows):
                return
            self.screen.resize(columns, rows)
        self._child.setwinsize(rows, columns)

    def wait_for(self, seen: Callable[[list[str]], object], seconds: float) -> bool:
        """Wait until the screen satisfies `seen`; whether it did in time."""
        deadline = time.monotonic() + seconds
        while not seen(self.lines):
            if time.monotonic() > deadline or not self.alive:
                return bool(seen(self.lines))
            time.sleep(0.05)
        return True

    def descendants_now(self) -> list[psutil.Process]:
        """What it started, and what that started; all of them are remembered."""
        try:
            found: list[psutil.Process] = psutil.Process(self.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        self.descendants |= {process.pid: process for process in found}
        return found

    def quit(self, seconds: float = 45) -> bool:
        """Leave as a person does; whether it ended in time."""
        self.send("\x11")
        return self.wait(seconds)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; whether it came."""
        deadline = time.monotonic() + seconds
        while self.alive and time.monotonic() < deadline:
            time.sleep(0.05)
        return not self.alive

    def abort(self) -> None:
        """Have it write where each of its threads stands, and end: for one that does nothing any more."""
        self._child.kill(signal.SIGABRT)
        self.wait(10)
        self._reader.join(2)

    def kill(self) -> None:
        """End it as a person out of patience does, or the system out of memory."""
        self._child.kill(signal.SIGKILL)
        self.wait(10)

    def orphans(self, seconds: float) -> list[psutil.Process]:
        """What of all it started is still there, after some seconds at most."""
        alive: list[psutil.Process]
        _, alive = psutil.wait_procs(list(self.descendants.values()), timeout=seconds)
        return alive

    @property
    def terminal_restored(self) -> bool:
        """Whether the terminal is as it was before."""
        self._reader.join(5)
        return not self.screen.alternate and termios.tcgetattr(self._child.child_fd) == self._terminal

    def close(self) -> None:
        """Take the terminal away."""
        self._child.close(force=True)

    def _read(self) -> None:
        while True:
            try:
                if not select.select([self._child.child_fd], [], [], _SHELL_SECONDS)[0]:
                    self._go_on()
                    continue
                read = os.read(self._child.child_fd, 65536)
            except BlockingIOError:
                continue
            except (OSError, ValueError):
                return
            text = self._decode(read)
            with self._lock:
                self.written = (self.written + text)[-_KEPT:]
                self.screen.feed(text)

    def _go_on(self) -> None:
        """Have it go on when Ctrl+Z stopped it, as a person says `fg` to the shell, which is not there."""
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            if process.status() == psutil.STATUS_STOPPED:
                process.resume()


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the person's is read, written, or downloaded to."""
    left_out = ("DISPLAY", "WAYLAND_DISPLAY", "NO_COLOR", "TMUX")
    return {
        **{name: value for name, value in os.environ.items() if name not in left_out},
        **{f"LOCALSPEC_{kind}_DIR": str(folder / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE")},
        "HF_HOME": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
        "LOCALSPEC_THREADS": "1",
        "PYTHONFAULTHANDLER": "1",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
    }
