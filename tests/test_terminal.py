"""What a model writes never steers the terminal, and escape codes go only where a person sees them."""

import io
import unicodedata

import pytest

from localspec.terminal import Terminal, VisibleStream, visible

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\x08\x7f\rX\r\nend\ttab\n"


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def steers(text: str) -> bool:
    return any(unicodedata.category(character) == "Cc" for character in text if character not in "\n\t") or any(
        character in text for character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


def test_no_control_character_and_no_override_survives() -> None:
    every = "".join(map(chr, range(0x3000)))
    assert steers(every)
    assert not steers(visible(every))


def test_control_characters_are_shown_not_dropped() -> None:
    assert visible("\x1b[31m\x07\x9b\u202e\x7f") == "␛[31m␇<U+009B><U+202E>␡"


def test_ordinary_text_of_any_script_passes_unchanged() -> None:
    text = "naïve 漢字 עברית \u200eعربي 👩‍👩‍👧 tab\t line\nnext"
    assert visible(text) == text


def test_cutting_the_text_anywhere_shows_the_same() -> None:
    whole = visible(HOSTILE)
    for cut in range(len(HOSTILE) + 1):
        stream = VisibleStream()
        assert stream.feed(HOSTILE[:cut]) + stream.feed(HOSTILE[cut:]) + stream.finish() == whole


def test_half_a_surrogate_pair_cannot_break_the_output() -> None:
    visible("\ud83d").encode()


def test_output_to_a_file_holds_no_escape_codes() -> None:
    answers, notes = io.StringIO(), io.StringIO()
    terminal = Terminal(answers, notes)
    terminal.status("loading")
    terminal.write("<think>hm", dim=True)
    terminal.write("yes\x1b[0m")
    terminal.end_answer()
    terminal.note("figures")
    assert answers.getvalue() == "<think>hmyes␛[0m\n"
    assert notes.getvalue() == "figures\n"


def test_thinking_is_dimmed_and_the_dimming_ends_with_the_answer() -> None:
    answers = FakeTerminal()
    terminal = Terminal(answers, io.StringIO())
    terminal.write("hm", dim=True)
    terminal.write("m", dim=True)
    terminal.end_answer()
    terminal.write("yes")
    assert answers.getvalue() == "\x1b[2mhmm\x1b[0m\nyes"


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_asks_for_no_colour_gets_none(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    answers, notes = FakeTerminal(), FakeTerminal()
    terminal = Terminal(answers, notes)
    terminal.write("hm", dim=True)
    terminal.end_answer()
    terminal.note("figures")
    assert "\x1b" not in answers.getvalue() + notes.getvalue()


def test_a_status_erases_itself_before_the_answer_appears() -> None:
    both = FakeTerminal()
    terminal = Terminal(both, both)
    terminal.status("loading \x1b[31m")
    terminal.write("yes")
    assert both.getvalue() == "\r\x1b[Kloading ␛[31m\r\x1b[Kyes"


def test_an_answer_ends_on_a_line_of_its_own_and_adds_none() -> None:
    answers = io.StringIO()
    terminal = Terminal(answers, io.StringIO())
    for text in ("one", "two\n"):
        terminal.write(text)
        terminal.end_answer()
    assert answers.getvalue() == "one\ntwo\n"
