"""Copies text: through the terminal, which may be far from here, and with the desktop's own tool where there is one."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from textual.app import App

_PATIENCE = 3.0
"""Seconds a tool may take."""

_OSC52_BYTES = 74_000
"""Bytes of text that terminals take at once; many drop a longer one."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that puts its input on the clipboard.

    Attributes:
        command: path and arguments.
        encoding: what it reads.
    """

    command: tuple[str, ...]
    encoding: str = "utf-8"

    def copy(self, text: str) -> bool:
        """Run it; False when it failed or took too long."""
        try:
            subprocess.run(  # noqa: S603 - found by `tool_for`, and the text is input, never an argument
                self.command,
                input=text.encode(self.encoding, "replace"),
                # xclip and wl-copy go on in the background, and would keep a pipe open.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_PATIENCE,
                check=True,
                start_new_session=True,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return True


def tool_for(
    platform: str, environ: Mapping[str, str], which: Callable[[str], str | None] = shutil.which
) -> Tool | None:
    """The tool of the desktop this program runs on; None when there is none, or when it is that of another machine.

    Args:
        platform: as `sys.platform`.
        environ: as `os.environ`.
        which: finds a program.
    """
    remote = "SSH_CONNECTION" in environ or "SSH_TTY" in environ
    wanted: list[tuple[str, ...]] = []
    if platform == "darwin" and not remote:
        wanted.append(("pbcopy",))
    if environ.get("WAYLAND_DISPLAY") and not remote:
        wanted.append(("wl-copy",))
    if environ.get("DISPLAY"):  # over ssh, it is the person's own screen
        wanted += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    if platform == "win32" or "WSL_DISTRO_NAME" in environ:
        wanted.insert(0, ("clip.exe",))
    for name, *arguments in wanted:
        if path := which(name):
            return Tool((path, *arguments), "utf-16" if name == "clip.exe" else "utf-8")
    return None


def copied(what: str, text: str, tool: Tool | None, *, worked: bool, environ: Mapping[str, str]) -> str:
    """What to tell the person.

    Args:
        what: what was copied: "the answer".
        text: all of it.
        tool: what was run beside asking the terminal.
        worked: whether that did it.
        environ: as `os.environ`.
    """
    what = what[:1].upper() + what[1:]
    if tool is not None and worked:
        return f"{what} is on the clipboard ({_amount(text)})."
    told = f"{what} was handed to the terminal for its clipboard ({_amount(text)})."
    if len(text.encode("utf-8", "replace")) > _OSC52_BYTES:
        return f"{told} That is more than many terminals take: if nothing arrives, export it to a file."
    if "TMUX" in environ:
        return f"{told} If nothing arrives: set -g set-clipboard on, in tmux."
    if environ.get("TERM", "").startswith("screen"):
        return f"{told} GNU screen does not pass it on."
    if environ.get("TERM_PROGRAM") == "Apple_Terminal" or "SSH_CONNECTION" in environ:
        return f"{told} Not every terminal takes it; macOS Terminal does not."
    return told


def copy(app: App[Any], text: str, what: str) -> None:
    """Copy a text and tell the person; returns at once.

    Args:
        app: tells the terminal, and shows what was done.
        text: all of it.
        what: what is copied, for that word: "the answer".
    """
    if not text:
        app.notify(f"There is nothing in {what} to copy.", severity="warning", markup=False)
        return
    # Escape codes to the terminal; lone surrogates are no text.
    app.copy_to_clipboard(text.encode("utf-8", "replace").decode())
    app.run_worker(_copy_with_tool(app, text, what), group="clipboard")


async def _copy_with_tool(app: App[Any], text: str, what: str) -> None:
    tool = tool_for(sys.platform, os.environ)
    worked = tool is not None and await asyncio.to_thread(tool.copy, text)
    app.notify(copied(what, text, tool, worked=worked, environ=os.environ), markup=False)


def _amount(text: str) -> str:
    lines = text.count("\n") + (not text.endswith("\n"))
    return f"{len(text):,} characters" if lines == 1 else f"{lines:,} lines"
