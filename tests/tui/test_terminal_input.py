"""What a terminal sends: pastes arrive whole, and keys as they always did."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from textual import events
from textual.message import Message

from localspec.tui.terminal_input import InputParser

LOG = "error:\x1b[31m red\r\nsend me\r\x1b]0;title\x07 \x1b[200~ \x1b[A \x1b[<0;1;1M 漢字 \x1b"


def paste(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


def read(data: str, cuts: list[int] | None = None) -> list[tuple[str, str]]:
    parser = InputParser()
    ends = [*sorted(cuts or ()), len(data)]
    pieces = [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False) if end > begin]
    return [told(event) for piece in pieces for event in parser.feed(piece)]


def told(event: Message) -> tuple[str, str]:
    if isinstance(event, events.Paste):
        return "paste", event.text
    assert isinstance(event, events.Key)
    return "key", event.key


def test_a_paste_with_escapes_and_line_ends_presses_no_key() -> None:
    assert read(f"a{paste(LOG)}b\x1b[A") == [("key", "a"), ("paste", LOG), ("key", "b"), ("key", "up")]


def test_it_does_not_matter_how_the_input_is_cut() -> None:
    data = f"a{paste(LOG)}\x1b[A{paste('x')}{paste('')}b"
    whole = read(data)
    chance = random.Random(7)

    for _ in range(1000):
        cuts = chance.sample(range(1, len(data)), chance.randint(1, 12))
        assert read(data, cuts) == whole, cuts


def test_any_text_survives() -> None:
    chance = random.Random(8)
    for _ in range(200):
        text = "".join(map(chr, chance.choices([*range(0xD800), 0x1B, 0x1B, 0x5B, 0x32], k=50)))
        assert read(paste(text)) == [("paste", text)]


def test_alt_enter_is_not_enter_in_terminals_that_send_it_as_two_characters() -> None:
    assert read("\x1b\r\rx", [1]) == [("key", "alt+enter"), ("key", "enter"), ("key", "x")]


def test_five_megabytes_are_one_paste() -> None:
    text = "lorem ipsum dolor sit amet\r" * 200_000

    assert read(paste(text), list(range(4096, len(text), 4096))) == [("paste", text)]


def test_escape_alone_is_a_key_once_nothing_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = InputParser()
    now = 100.0
    monkeypatch.setattr("textual._parser.get_time", lambda: now)

    assert [*parser.feed("\x1b")] == []
    assert parser.wait < 0.05
    found = [*parser.tick()]
    now += 1
    found += parser.tick()

    assert [told(event) for event in found] == [("key", "escape")]


APP = """
import sys
from textual.app import App
from localspec.tui.prompt_history import PromptHistory
from localspec.tui.terminal_input import terminal_driver
from localspec.tui.widgets.composer import Composer


class Host(App):
    def compose(self):
        yield Composer(PromptHistory(None))

    def on_mount(self):
        self.query_one(Composer).focus()

    def on_composer_submitted(self, event):
        open(sys.argv[1], "w", encoding="utf-8", newline="").write(event.text)
        self.exit()


Host(driver_class=terminal_driver()).run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_real_terminals_paste_is_sent_as_it_is(tmp_path: Path) -> None:
    import pexpect  # noqa: PLC0415 - not there on Windows

    (tmp_path / "app.py").write_text(APP)
    got = tmp_path / "got"
    child = pexpect.spawn(sys.executable, [str(tmp_path / "app.py"), str(got)], dimensions=(24, 80), timeout=60)
    child.expect(r"\x1b\[\?2004h")
    child.expect("for commands")
    for keys in (b"typed \x1b\r", paste(LOG).encode(), b"\xff", b"\n", b"end\r"):
        child.send(keys)
    child.expect(pexpect.EOF)
    child.close()

    pasted = LOG.replace("\r\n", "\n").replace("\r", "\n")
    assert got.read_text(encoding="utf-8") == f"typed \n{pasted}\ufffd\nend"
