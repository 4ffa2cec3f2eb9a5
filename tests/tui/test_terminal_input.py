"""What a terminal sends: pastes arrive whole, and keys as they always did."""

from __future__ import annotations

import os
import random
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest
from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.message import Message

from localspec.tui.terminal_input import InputParser
from tests.tui.waiting import wait_until

LOG = "error:\x1b[31m red\r\nsend me\r\x1b]0;title\x07 \x1b[200~ \x1b[A \x1b[<0;1;1M 漢字 \x1b"


def paste(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


def read(data: str, cuts: list[int] | None = None) -> list[tuple[str, str]]:
    parser = InputParser()
    ends = [*sorted(cuts or ()), len(data)]
    pieces = [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False) if end > begin]
    return [told(event) for piece in pieces for event in parser.feed(piece)] + [told(event) for event in parser.tick()]


def keys(data: str, cuts: list[int] | None = None) -> list[str]:
    return [name for _, name in read(data, cuts)]


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


def test_escape_alone_is_a_key_once_nothing_follows() -> None:
    parser = InputParser()

    assert [*parser.feed("\x1b")] == []
    assert parser.wait < 0.2
    assert [told(event) for event in parser.tick()] == [("key", "escape")]
    assert [*parser.tick()] == []


UNKNOWN = [
    "\x1b[999;999z", "\x1b[<0;9M", "\x1b[?1;2c", "\x1b[>41;354;0c", "\x1b[?9999;0$y", "\x1b[9:9u", "\x1b[1114112u",
    "\x1b[Mabc", "\x1bO5z", "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b]52;c;5pel\x07", "\x1bP1+r4d73=41\x1b\\",
    "\x1b_Gi=1;OK\x1b\\", "\x1b[" + "1;" * 40 + "m", "\x1b[201~",
]  # fmt: skip


@pytest.mark.parametrize("sequence", UNKNOWN)
def test_a_sequence_that_nobody_knows_is_nothing_however_it_is_cut(sequence: str) -> None:
    data = f"a{sequence}b\x1b[A"
    for first in range(len(data)):
        for second in range(first, len(data)):
            assert read(data, [first, second]) == [("key", "a"), ("key", "b"), ("key", "up")], (first, second)


BEGUN = ["\x1b[", "\x1b[1;", "\x1b[?", "\x1b[M", "\x1b[Ma", "\x1b[[", "\x1b[<0;9", "\x1bO1;", "\x1b]11;rgb", "\x1bP1+r"]


@pytest.mark.parametrize("begun", BEGUN)
@pytest.mark.parametrize(
    ("after", "then"),
    [
        ("\x1b[A", ["up"]),
        ("\x1b\x1b[A", ["escape", "up"]),
        ("\x1bOP", ["f1"]),
        ("\x1bq", ["alt+q"]),
        ("\x1b\x1b", None),
    ],
)
def test_a_sequence_that_breaks_off_is_nothing_and_takes_nothing_with_it(
    begun: str, after: str, then: list[str] | None
) -> None:
    data = f"a{begun}{after}"
    for cut in range(1, len(data)):
        assert keys(data, [cut]) == ["a", *(then or ["escape", "escape"])], cut


@pytest.mark.parametrize("begun", BEGUN)
def test_a_sequence_that_does_not_go_on_is_nothing(begun: str) -> None:
    parser = InputParser()
    found = [*parser.feed(f"a{begun}"), *parser.tick(), *parser.feed("日b")]
    assert [told(event)[1] for event in found] == ["a", "日", "b"]


@pytest.mark.parametrize("pasted", ["x", LOG])
def test_keys_around_a_paste_are_not_taken_together(pasted: str) -> None:
    data = f"\x1b{paste(pasted)}a\x1b{paste(pasted)}[A"
    wanted = [("key", "escape"), ("paste", pasted), ("key", "a"), ("key", "escape"), ("paste", pasted)]
    wanted += [("key", "left_square_bracket"), ("key", "A")]
    for cut in range(1, len(data)):
        assert read(data, [cut]) == wanted


def test_escapes_in_a_row_are_keys() -> None:
    assert keys("\x1b\x1b\x1b") == ["escape"] * 3
    assert keys("\x1b\x1ba", [1]) == ["escape", "alt+a"]


def test_whatever_comes_every_letter_that_no_sequence_holds_is_typed_and_keys_go_on() -> None:
    chance = random.Random(9)
    for _ in range(3000):
        pieces = [chance.choice([*UNKNOWN, "x", "é", "日", "\x1b[B"]) for _ in range(chance.randint(1, 8))]
        data = "".join(pieces)
        cuts = chance.sample(range(1, len(data)), min(len(data) - 1, 3)) if len(data) > 1 else []
        typed = [key for key in keys(data, cuts) if len(key) == 1]
        assert typed == [piece for piece in pieces if len(piece) == 1], (pieces, cuts)


def test_bytes_of_chance_end_no_reader() -> None:
    chance = random.Random(10)
    signs = "\x1b\x1b\x1b[[]O?<;:01259~uMmRPcy$\\\x07\r\x00a\u65e5"
    for _ in range(5000):
        parser = InputParser()
        for _ in range(4):
            [*parser.feed("".join(chance.choices(signs, k=chance.randint(1, 9))))]
            [*parser.tick()]
        [*parser.feed("\x1b[201~")]
        assert [told(event) for event in parser.feed("z")] == [("key", "z")]


def test_every_key_that_textual_knows_is_that_key_however_it_is_cut() -> None:
    for sequence in ANSI_SEQUENCES_KEYS.keys() - {"\x1b", "\x1b\x1b"}:
        textual = XTermParser()
        known = [*textual.feed(sequence)]
        if any(isinstance(event, events.CursorPosition) for event in known):
            continue
        wanted = [told(event)[1] for event in known]
        for cut in range(1, len(sequence) + 1):
            assert keys(sequence, [cut] if cut < len(sequence) else None) == wanted, sequence


APP = """
import sys
import threading
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
        readers = [each for each in threading.enumerate() if each.name == "textual-input"]
        assert len(readers) == 1, readers
        self.exit()


Host(driver_class=terminal_driver()).run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
@pytest.mark.parametrize("stops", [0, 3])
def test_a_real_terminals_paste_is_sent_as_it_is(tmp_path: Path, stops: int) -> None:
    import termios  # noqa: PLC0415 - not there on Windows

    import pexpect  # noqa: PLC0415 - as said

    (tmp_path / "app.py").write_text(APP)
    got = tmp_path / "got"
    child = pexpect.spawn(sys.executable, [str(tmp_path / "app.py"), str(got)], dimensions=(24, 80), timeout=60)
    before = termios.tcgetattr(child.child_fd)
    child.expect(r"\x1b\[\?2004h")
    child.expect("for commands")
    for _ in range(stops):
        child.kill(signal.SIGSTOP)
        child.kill(signal.SIGCONT)
        child.expect(r"\x1b\[\?2004h")
        child.expect("for commands")
    for keys in (b"typed \x1b\r", paste(LOG).encode(), b"\xff", b"\n", b"end\r"):
        child.send(keys)
    child.expect(pexpect.EOF)
    assert termios.tcgetattr(child.child_fd) == before
    child.close()

    pasted = LOG.replace("\r\n", "\n").replace("\r", "\n")
    assert got.read_text(encoding="utf-8") == f"typed \n{pasted}\ufffd\nend"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_stop_that_comes_while_it_leaves_is_a_stop_and_no_more(tmp_path: Path) -> None:
    import pexpect  # noqa: PLC0415 - not there on Windows
    import psutil  # type: ignore[import-untyped] # noqa: PLC0415 - its stubs are a package of their own

    (tmp_path / "app.py").write_text(APP + "print('the terminal is not ours any more')\ninput()\n")
    child = pexpect.spawn(
        sys.executable, [str(tmp_path / "app.py"), str(tmp_path / "got")], dimensions=(24, 80), timeout=60
    )

    def stopped_and_continued() -> None:
        child.kill(signal.SIGTSTP)
        process = psutil.Process(child.pid)
        wait_until(lambda: process.status() == psutil.STATUS_STOPPED)
        child.kill(signal.SIGCONT)

    child.expect("for commands")
    stopped_and_continued()
    child.expect("for commands")
    child.send("done\r")
    child.expect("not ours any more")
    stopped_and_continued()
    child.send("\n")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, child.before
    assert (tmp_path / "got").read_text(encoding="utf-8") == "done"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_what_no_reader_understands_costs_no_later_key(tmp_path: Path) -> None:
    import pexpect  # noqa: PLC0415 - not there on Windows

    (tmp_path / "app.py").write_text(
        """
from localspec.tui.terminal_input import InputParser
feed = InputParser.feed
def failing(self, data):
    yield from feed(self, data.partition("!")[0])
    if "!" in data:
        raise ArithmeticError("a mistake of ours")
InputParser.feed = failing
"""
        + APP
    )
    child = pexpect.spawn(
        sys.executable, [str(tmp_path / "app.py"), str(tmp_path / "got")], dimensions=(24, 80), timeout=60
    )
    child.expect("for commands")
    for keys in ("one", "!", " two", "\r"):
        child.send(keys)
        time.sleep(0.3)
    child.expect(pexpect.EOF)
    child.close()

    assert (tmp_path / "got").read_text(encoding="utf-8") == "one two"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
@pytest.mark.parametrize("errors", ["", "2>errors"])
def test_an_app_whose_terminal_is_closed_ends(tmp_path: Path, errors: str) -> None:
    """Both a signal and the end of what is typed tell it, in two threads, one of which waits for the other."""
    import pexpect  # noqa: PLC0415 - not there on Windows
    import psutil  # noqa: PLC0415 - its stubs are a package of their own

    focus = "self.query_one(Composer).focus()"
    leaving = f"{focus}\n        leave_on_signals(lambda code: self.exit(return_code=code))"
    app = "from localspec.tui.leaving import leave_on_signals\n" + APP.replace(focus, leaving)
    (tmp_path / "app.py").write_text(app)
    for _ in range(3):
        command = f"exec {shlex.join([sys.executable, 'app.py', 'got'])} {errors}"
        child = pexpect.spawn("sh", ["-c", command], cwd=tmp_path, dimensions=(24, 80), timeout=60)
        child.expect("for commands")
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), child.child_fd)
        psutil.Process(child.pid).wait(30)
