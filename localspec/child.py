"""Short work in a process of its own, so that llama.cpp may end its process without ending the program."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Self, cast

_BOOTSTRAP = """\
import importlib, sys
module, name = sys.argv[1].split(":")
getattr(importlib.import_module(module), name)(*sys.argv[2:])
"""

_PYTHON = [sys.executable, "-P", "-X", "utf8", "-c", _BOOTSTRAP]


def run_in_child(function: str, *arguments: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Call a function of ours in a fresh Python and wait for it.

    Args:
        function: "package.module:name".
        arguments: what it is called with.
        timeout: seconds after which it is killed; None to wait for ever.

    Returns:
        Its exit code (minus the signal's number when a signal ended it) and what it wrote.

    Raises:
        subprocess.TimeoutExpired: it took longer; holds what it had written, as bytes.
    """
    return subprocess.run(  # noqa: S603 - our own interpreter and our own code
        [*_PYTHON, function, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
        env=_environment(),
        timeout=timeout,
    )


class RunningChild:
    """A function of ours at work in a fresh Python: its lines are read as they come. Use it in a `with` block.

    It has a process group of its own: Ctrl-C reaches only us, and whatever it started ends with it.
    """

    def __init__(self, function: str, *arguments: str) -> None:
        """Start it.

        Args:
            function: "package.module:name".
            arguments: what it is called with.

        Raises:
            OSError: it cannot be started.
        """
        self._log = cast("IO[bytes]", tempfile.TemporaryFile())  # noqa: SIM115 - open as long as the child
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own code
            [*_PYTHON, function, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            encoding="utf-8",
            errors="replace",
            env=_environment(),
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, and all that it started."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()
        self._output.close()
        self._log.close()

    def __iter__(self) -> Iterator[str]:
        """The lines that it prints, until it ends."""
        return iter(self._output)

    def wait(self) -> int:
        """Its exit code; minus the signal's number when a signal ended it."""
        return self._process.wait()

    @property
    def log(self) -> str:
        """What it wrote to stderr so far."""
        self._log.seek(0)
        return self._log.read().decode("utf-8", "replace")

    @property
    def _output(self) -> IO[str]:
        return cast("IO[str]", self._process.stdout)


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        # The same modules as here, whatever the current folder holds (-P).
        "PYTHONPATH": os.pathsep.join(sys.path),
        # llama.cpp would start a debugger on itself to print a backtrace.
        "GGML_NO_BACKTRACE": "1",
    }
