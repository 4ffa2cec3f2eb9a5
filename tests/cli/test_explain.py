"""`localspec explain`: its pages on a terminal, in a pipe, and as JSON."""

from __future__ import annotations

import io
import json

import pytest

from localspec.bench.explaining.words import Section
from localspec.cli import explain, main
from localspec.terminal import Terminal
from tests.bench.explained import facts

PAGES = (Section("First", ("one", "")), Section("Second", ("two", "")), Section("Third", ("three", "")))


def shown(by_page: bool) -> str:
    out = io.StringIO()
    explain.show(PAGES, Terminal(out, io.StringIO()), by_page=by_page)
    return out.getvalue()


def test_without_a_person_all_pages_come_at_once() -> None:
    assert shown(by_page=False) == "1. FIRST\n\none\n\n2. SECOND\n\ntwo\n\n3. THIRD\n\nthree\n"


@pytest.mark.parametrize(("answers", "last"), [(["", ""], "three"), (["", "q"], "two"), (["Q"], "one"), ([], "one")])
def test_a_person_turns_the_pages_and_may_leave(monkeypatch: pytest.MonkeyPatch, answers: list[str], last: str) -> None:
    given = iter(answers)

    def ask(_prompt: str) -> str:
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", ask)
    assert shown(by_page=True).split()[-1] == last


def test_pages_of_json_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--json", "--all"]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_what_is_explained_cannot_be_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--draft-length", "3"]) == 2
    assert "There is no --draft-length" in capsys.readouterr().err


def test_a_pair_that_is_not_there_is_told_before_anything_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--pair", "nobody-knows-it"]) == 2
    assert "nobody-knows-it" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--json"], ["--all"], []])
def test_the_command_measures_and_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    monkeypatch.setattr("localspec.bench.explaining.gathering.gather", lambda *_: facts())
    assert main(["explain", "--pair", "demo", "--threads", "1", "--context", "256", *arguments]) == 0
    out = capsys.readouterr().out
    if arguments == ["--json"]:
        assert json.loads(out)["schema"] == 1
    else:
        assert out.startswith("1. WHAT A TOKEN COSTS\n")
        assert "8. IN SHORT\n" in out
