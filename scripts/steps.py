"""One long step of the set-up: its output goes to a log, its progress to the terminal, its failure into words."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from localspec.errors import LocalspecError
from pip_failures import explain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LINES_SHOWN = 15
_SECONDS_BETWEEN_LINES = 60
_TAIL_BYTES = 200_000  # the last progress mark may stand before long warnings


def say(words: str) -> None:
    """Tells the person. On standard error: standard output belongs to the command that follows the set-up."""
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


def build_progress(output: str) -> str:
    """How far the compiler is, from the last of ninja's "[12/345]" or make's "[ 12%]" in `output`; "" when neither."""
    found = re.findall(r"\[\s*(\d+/\d+|\d+%)\]", output)
    return f"[{found[-1]}]" if found else ""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where steps run.

    Attributes:
        folder: their working folder.
        log: the file their output is appended to.
        environment: their environment variables.
        lock: an open lock file; the running step holds it too, should this process be killed.
    """

    folder: Path
    log: Path
    environment: Mapping[str, str]
    lock: IO[bytes]

    def run(self, title: str, *command: str, **variables: str) -> None:
        """Runs `command` with further environment `variables`, saying `title` and, now and then, that it lives.

        Raises:
            LocalspecError: it failed.
        """
        with self.log.open("ab") as output:
            output.write(f"\n$ {shlex.join(command)}\n".encode())
            output.flush()
            start = output.tell()
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**self.environment, "PYTHONUNBUFFERED": "1", **variables},
                cwd=self.folder,
                pass_fds=(self.lock.fileno(),),
            )
            try:
                _wait(process, title, self.log, start)
            finally:
                process.terminate()
                process.wait()
        if process.returncode:
            raise _failure(title, _written_since(self.log, start), self.log)


def _wait(process: subprocess.Popen[bytes], title: str, log: Path, start: int) -> None:
    lively = sys.stderr.isatty()
    began = spoken = time.monotonic()
    say(f"{title} ...")
    while process.poll() is None:
        try:
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            if not lively and now - spoken < _SECONDS_BETWEEN_LINES:
                continue
            spoken = now
            minutes, seconds = divmod(int(now - began), 60)
            recent = max(start, log.stat().st_size - _TAIL_BYTES)
            progress = f"  {minutes}:{seconds:02d} {build_progress(_written_since(log, recent))}"
            sys.stderr.write(f"\r{progress}\033[K" if lively else f"{progress}\n")
            sys.stderr.flush()
    if lively:
        sys.stderr.write("\r\033[K")


def _written_since(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")


def telling_lines(output: str) -> list[str]:
    """The lines that most likely say what went wrong: from the first error on, or the last ones."""
    lines = output.splitlines()
    errors = (
        number for number, line in enumerate(lines) if re.search(r"^ERROR:|CMake Error|\b(error|fatal)\b.*:", line)
    )
    first = next(errors, max(0, len(lines) - _LINES_SHOWN))
    return lines[first : first + _LINES_SHOWN]


def _failure(title: str, output: str, log: Path) -> LocalspecError:
    explanation = explain(output)
    shown = "\n".join(f"  | {line}" for line in telling_lines(output))
    return LocalspecError(
        f"{title}: failed", f"{explanation.why}\n{shown}", f"{explanation.hint}\nThe whole log: {log}"
    )
