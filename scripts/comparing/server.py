"""One llama-server process: started on a free port of this machine, asked, stopped whatever happened."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from comparing import leash
from comparing.server_binary import install_command
from localspec.errors import LocalspecError

_HOST = "127.0.0.1"
_START_SECONDS = 300
_ANSWER_SECONDS = 1800
_STOP_SECONDS = 10
_LOG_LINES = 12
_FAULTS = {signal.SIGSEGV, signal.SIGILL, getattr(signal, "SIGBUS", signal.SIGSEGV)}


class Server:
    """Owns the process. Use it in a `with` block, or call `stop`.

    Attributes:
        name: what the person calls it.
        pid: of the process.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        """Start it; it is not ready yet.

        Args:
            name: what the person calls it.
            command: the program and its arguments; where to listen is added.
            log: file for what it writes.

        Raises:
            LocalspecError: the system refused.
        """
        self.name = name
        self._log = log
        self._port = _free_port()
        listening = ("--host", _HOST, "--port", str(self._port))
        with log.open("wb") as written:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", leash.__file__, str(os.getpid()), *command, *listening],
                    stdin=subprocess.DEVNULL,
                    stdout=written,
                    stderr=subprocess.STDOUT,
                    env=_environment(os.environ),
                    start_new_session=True,  # Ctrl-C reaches only us: the answer under way is given up in order
                )
            except OSError as error:
                raise LocalspecError(f"{self.name} cannot be started", f"{error.strerror}.") from error
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def wait_until_ready(self, seconds: float = _START_SECONDS) -> None:
        """Wait until its model is loaded.

        Raises:
            LocalspecError: it ended, or took longer; says what it logged last.
        """
        deadline = time.monotonic() + seconds
        while not self._is_healthy():
            if self._process.poll() is not None:
                raise self._death("did not start")
            if time.monotonic() > deadline:
                self.stop()
                raise LocalspecError(f"{self.name} did not get ready within {seconds:.0f} s", self._last_lines())
            time.sleep(0.1)

    def complete(self, body: Mapping[str, Any], seconds: float = _ANSWER_SECONDS) -> dict[str, Any]:
        """Ask for a completion and wait for it.

        Raises:
            LocalspecError: it refused, took too long, or died.
        """
        connection = http.client.HTTPConnection(_HOST, self._port, timeout=seconds)
        try:
            connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
            answer = json.loads(text)
        except TimeoutError as error:
            raise LocalspecError(f"{self.name} did not answer within {seconds:.0f} s", self._last_lines()) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            # The connection breaks a moment before the process is gone.
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                raise LocalspecError(f"{self.name} broke off its answer", self._last_lines()) from error
            raise self._death("died while it answered") from error
        finally:
            connection.close()
        if response.status != http.HTTPStatus.OK or not isinstance(answer, dict):
            raise LocalspecError(f"{self.name} refused a request", f"It says: {text[:500].decode('utf-8', 'replace')}")
        return answer

    def stop(self) -> None:
        """End it, by force when it does not listen; nothing when it has ended."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            finally:  # also when Ctrl-C comes a second time
                self._process.kill()
                self._process.wait()

    def _is_healthy(self) -> bool:
        connection = http.client.HTTPConnection(_HOST, self._port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _death(self, what: str) -> LocalspecError:
        code = self._process.returncode
        hint = ""
        how = f"It ended with code {code}."
        if code < 0:
            number = signal.Signals(-code)
            how = f"Signal {number.name} ended it."
            if number in _FAULTS:
                hint = (
                    "Some virtual machines offer AMX instructions and fault on them. Build it without them:\n"
                    f"{install_command()}"
                )
        return LocalspecError(f"{self.name} {what}", f"{how} {self._last_lines()}", hint)

    def _last_lines(self) -> str:
        lines = self._log.read_text("utf-8", "replace").splitlines()[-_LOG_LINES:]
        return "\n".join(["It wrote last:", *(f"  {line}" for line in lines)]) if lines else "It wrote nothing."


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Without the variables that set the server's options behind our back."""
    kept = {name: value for name, value in ours.items() if not name.startswith("LLAMA_ARG_")}
    # llama.cpp would start a debugger on itself to print a backtrace.
    return {**kept, "GGML_NO_BACKTRACE": "1"}
