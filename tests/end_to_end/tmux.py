"""A terminal that can be read: a shell in tmux, on a server and with a size of its own."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

SECONDS = 60.0
"""Patience with whatever is waited for: the machine may be busy."""

Seen = str | Callable[[str], object]


class Tmux:
    """One pane, its shell, and what a person does there."""

    def __init__(self, folder: Path, environment: Mapping[str, str], size: tuple[int, int] = (110, 34)) -> None:
        """Open it, as a terminal of 256 colours or as the TERM of `environment` says.

        Args:
            folder: where the server's socket is; also the shell's folder.
            environment: of the shell, whole.
            size: columns and rows.
        """
        self._socket = folder / "tmux"
        self._environment = dict(environment)
        columns, rows = size
        shell = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), "PS1=$ ", "sh", "-i"]
        self._tmux("new-session", "-d", "-s", "test", "-x", f"{columns}", "-y", f"{rows}", "-c", f"{folder}", *shell)
        self._tmux("set-option", "-g", "history-limit", "5000")
        self.until(lambda shown: shown.startswith("$"))

    @property
    def screen(self) -> str:
        """What a person sees; spaces that hold words together are spaces."""
        return self._tmux("capture-pane", "-p").replace("\xa0", " ")

    @property
    def colours(self) -> set[str]:
        """The codes of all that is on the screen, as `38;2;1;2;3` or `1`."""
        return set(re.findall(r"\x1b\[([0-9;:]*)m", self._tmux("capture-pane", "-p", "-e")))

    @property
    def in_full_screen(self) -> bool:
        """Whether a program holds the alternate screen."""
        return self._ask("#{alternate_on}") == "1"

    @property
    def title(self) -> str:
        """What the terminal's window is called."""
        return self._ask("#{pane_title}")

    def run(self, command: str) -> str:
        """Run a command in the shell and return what it wrote, for one that writes little."""
        self.type(f"clear; {command}; echo :$?:")
        self.until(lambda shown: re.search(r"^:\d+:$", shown, re.MULTILINE))
        return self.screen.partition("\n:")[0]

    def type(self, text: str) -> None:
        """Type a line, and Enter."""
        self._tmux("send-keys", "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._tmux("send-keys", *keys)

    def paste(self, text: str) -> None:
        """Paste, as a terminal does that was asked to mark pastes."""
        self._tmux("load-buffer", "-", given=text)
        self._tmux("paste-buffer", "-p", "-d")

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self._tmux("resize-window", "-x", f"{columns}", "-y", f"{rows}")

    def until(self, seen: Seen, seconds: float = SECONDS) -> str:
        """Wait until the screen shows a text, or satisfies a function; return it."""
        satisfies = (lambda shown: seen in shown) if isinstance(seen, str) else seen
        deadline = time.monotonic() + seconds
        while not satisfies(shown := self.screen):
            assert time.monotonic() < deadline, f"{seen} is not to be seen in time:\n{shown}"
            time.sleep(0.05)
        return shown

    def processes(self) -> list[psutil.Process]:
        """What runs in the pane, the shell left out."""
        return psutil.Process(int(self._ask("#{pane_pid}"))).children(recursive=True)

    def close(self) -> None:
        """End it, and all that runs in it."""
        left = self.processes()
        self._tmux("kill-server")
        _, alive = psutil.wait_procs(left, timeout=5)
        for process in alive:
            process.kill()

    def _ask(self, what: str) -> str:
        return self._tmux("display-message", "-p", what).strip()

    def _tmux(self, *arguments: str, given: str | None = None) -> str:
        command = ["tmux", "-u", "-S", f"{self._socket}", "-f", "/dev/null", *arguments]
        done = subprocess.run(command, input=given, capture_output=True, check=False, encoding="utf-8", timeout=30)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout
