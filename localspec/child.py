"""Short work in a process of its own, so that llama.cpp may end its process without ending the program."""

from __future__ import annotations

import os
import subprocess
import sys

_BOOTSTRAP = """\
import importlib, sys
module, name = sys.argv[1].split(":")
getattr(importlib.import_module(module), name)(*sys.argv[2:])
"""


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
    environment = {
        **os.environ,
        # The same modules as here, whatever the current folder holds (-P).
        "PYTHONPATH": os.pathsep.join(sys.path),
        # llama.cpp would start a debugger on itself to print a backtrace.
        "GGML_NO_BACKTRACE": "1",
    }
    return subprocess.run(  # noqa: S603 - our own interpreter and our own code
        [sys.executable, "-P", "-X", "utf8", "-c", _BOOTSTRAP, function, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
        env=environment,
        timeout=timeout,
    )
