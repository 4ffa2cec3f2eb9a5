"""Starts a program that ends when its parent ends, however that ended: `leash.py PARENT PROGRAM ARGUMENT...`.

A server holds gigabytes, and its idle threads would go on beside whatever is measured next. Linux only; elsewhere the
program is started as it is.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Become the program."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):  # it ended before the line above
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - no shell is meant


if __name__ == "__main__":
    main()
