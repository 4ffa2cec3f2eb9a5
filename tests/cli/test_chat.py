"""Which of the ways to chat `localspec chat` takes, and that no option is left out in silence."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localspec.cli import main

Chat = Callable[..., tuple[int, list[tuple[Any, ...]]]]

OWN = str(Path(__file__))


class Stdin(io.TextIOWrapper):
    """What the program reads, from a terminal or not."""

    def __init__(self, text: str, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(text.encode()))
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Chat:  # noqa: ARG001 - its stdout
    """Call it, on a terminal or where it is told; returns its exit code, and how it went to chat, with what."""
    started: list[tuple[Any, ...]] = []

    def recording(name: str) -> Callable[..., int]:
        return lambda *given, **_: started.append((name, *given)) or 0

    monkeypatch.setattr("localspec.tui.run.run_app", recording("app"))
    monkeypatch.setattr("localspec.cli.repl.converse", recording("lines"))
    monkeypatch.setattr("localspec.cli.once.answer_once", recording("once"))

    def call(
        *arguments: str, stdin: str | None = None, stdout: bool = True, term: str = "xterm"
    ) -> tuple[int, list[tuple[Any, ...]]]:
        monkeypatch.setattr(sys, "stdin", Stdin(stdin or "", terminal=stdin is None))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: stdout)
        monkeypatch.setenv("TERM", term)
        monkeypatch.delenv("LOCALSPEC_PAIR", raising=False)
        return main(["chat", "--target", OWN, "--no-speculation", *arguments]), started

    return call


NO_TERMINAL = {"stdout": False}, "Standard output is no terminal"
DUMB = {"term": "dumb"}, "TERM=dumb"
PIPED = {"stdin": "hi"}, "piped to stdin"


@pytest.mark.parametrize(
    ("arguments", "where", "words"),
    [
        *(
            (arguments, *place)
            for arguments in (["--resume"], ["--resume", "x"])
            for place in (NO_TERMINAL, DUMB, PIPED)
        ),
        *((["--attach", OWN], *place) for place in (NO_TERMINAL, DUMB)),
    ],
)
def test_where_the_app_does_not_run_what_is_for_it_is_refused(
    chat: Chat, capsys: pytest.CaptureFixture[str], arguments: list[str], where: dict[str, Any], words: str
) -> None:
    assert chat(*arguments, **where) == (2, [])
    told = capsys.readouterr().err
    assert f"{arguments[0]} is for the app" in told
    assert words in told


def test_where_the_app_runs_it_gets_both(chat: Chat) -> None:
    code, ((how, _, (attachment,), resume),) = chat("--resume", "words", "--attach", OWN)
    assert (code, how, attachment.name, resume) == (0, "app", Path(OWN).name, "words")


@pytest.mark.parametrize("arguments", [[], ["-p", "What is this?"]])
def test_a_prompt_takes_its_attachments_along(chat: Chat, arguments: list[str]) -> None:
    code, ((how, prompt, *_),) = chat("--attach", OWN, *arguments, stdin="hi")
    assert (code, how, Path(OWN).name in prompt) == (0, "once", True)


@pytest.mark.parametrize(
    ("where", "way"), [({}, "app"), (NO_TERMINAL[0], "lines"), (DUMB[0], "lines"), (PIPED[0], "once")]
)
def test_without_them_each_place_has_its_way_to_chat(chat: Chat, where: dict[str, Any], way: str) -> None:
    code, started = chat(**where)
    assert (code, [how for how, *_ in started]) == (0, [way])
