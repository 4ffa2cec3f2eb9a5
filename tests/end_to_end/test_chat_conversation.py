"""`localspec chat` as a conversation, on a terminal and through a pipe."""

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import psutil
import pytest

from tests.end_to_end.conftest import PROGRAM, Program

Start = Callable[..., "pexpect.spawn[str]"]

PROMPT = r"[\r\n](?:\x1b\[\?2004h)?> "
STORY = "Tell me a very long story about a whale."
A_FEW_WORDS = r"[a-z]+ [a-z]+ [a-z]+ [a-z]+"


def ask(child: "pexpect.spawn[str]", text: str) -> str:
    """Send a message and return what was shown until the next prompt."""
    child.sendline(text)
    child.expect(PROMPT)
    return str(child.before).partition("\n")[2]


def test_a_person_asks_stops_goes_on_and_leaves(terminal: Start, tmp_path: Path) -> None:
    environment = {"LOCALSPEC_DATA_DIR": str(tmp_path)}
    child = terminal("chat", "--plain", "--stats", "--context", "2048", "--max-tokens", "60", environment=environment)
    child.expect("/help lists the commands")
    child.expect(PROMPT)

    child.sendline(STORY)
    child.expect_exact(STORY)
    child.expect(A_FEW_WORDS)
    child.sendintr()
    child.expect("tok/s")
    child.expect(PROMPT)

    assert re.search(r"written by: .*draft", ask(child, "/stats"))
    assert "You are a pirate." in ask(child, "/system You are a pirate.")
    assert "There is no command /sing" in ask(child, "/sing")
    assert "/regenerate" in ask(child, "/help")

    # Pasted as terminals do it: the line end inside does not send the first half.
    child.send("\x1b[200~Say\nyes.\x1b[201~\r")
    child.expect("tok/s")
    child.expect(PROMPT)
    assert "tok/s" in ask(child, "/regenerate")
    assert "A new conversation" in ask(child, "/new")

    child.send("half a line")
    child.expect_exact("half a line")
    child.sendintr()
    child.expect(PROMPT)
    child.sendintr()
    child.expect("Ctrl-C once more leaves")
    child.expect(PROMPT)
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    history = tmp_path / "prompts"
    assert history.read_text().splitlines()[0] == STORY
    assert history.stat().st_mode & 0o077 == 0


def test_who_goes_on_pressing_ctrl_c_leaves(terminal: Start) -> None:
    child = terminal("chat", "--plain", "--no-speculation")
    child.expect(PROMPT)
    child.sendline(STORY)
    child.expect_exact(STORY)
    child.expect(A_FEW_WORDS)
    # Presses that follow too closely are one signal to the system, so their number is not fixed.
    for _ in range(20):
        child.sendintr()
        if child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=1) == 0:
            break
    child.close()
    assert child.exitstatus == 130


def test_what_is_typed_during_an_answer_is_not_shown_in_it_but_waits_for_the_prompt(terminal: Start) -> None:
    child = terminal("chat", "--plain", "--pair", "demo", "--no-speculation", "--max-tokens", "60")
    child.expect(PROMPT)
    child.sendline(STORY)
    child.expect_exact(STORY)
    child.expect(A_FEW_WORDS)
    # Ctrl-C stops the answer and does not take back what was typed.
    child.send("XYZZY")
    child.sendintr()
    child.expect(PROMPT)
    assert "XYZZY" not in str(child.before)
    child.expect_exact("XYZZY")
    child.sendintr()
    child.expect(PROMPT)
    child.sendline(STORY)
    child.expect_exact(STORY)
    child.expect(A_FEW_WORDS)
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_program_that_is_ended_amid_an_answer_gives_the_terminal_back(
    shell: "pexpect.spawn[str]", number: signal.Signals
) -> None:
    asked = ask_in(shell)
    os.kill(asked, number)
    shell.sendline("echo left $(stty -a | grep -c -E '[^-]icanon .*[^-]echo ') ")
    shell.expect_exact("left 1")


def test_a_program_that_is_paused_gives_the_terminal_back_and_goes_on(shell: "pexpect.spawn[str]") -> None:
    ask_in(shell)
    # A question must not be carried out as a command of the shell.
    shell.send("echo asked $((1 + 1))\r\x1a")
    shell.expect("Stopped")
    shell.sendline("echo paused")
    shell.expect("paused\r?\npaused")
    assert "asked 2" not in str(shell.before)
    shell.sendline("fg")
    shell.expect(A_FEW_WORDS)
    shell.send("XYZZY")
    shell.expect(PROMPT)
    assert "XYZZY" not in str(shell.before)
    shell.expect_exact("XYZZY")


def ask_in(shell: "pexpect.spawn[str]") -> int:
    """Start a conversation in a shell, and return its process id amid an answer."""
    shell.sendline(" ".join([*PROGRAM, "chat", "--plain", "--pair", "demo", "--no-speculation", "--max-tokens", "60"]))
    shell.expect(PROMPT)
    shell.sendline(STORY)
    shell.expect_exact(STORY)
    shell.expect(A_FEW_WORDS)
    return psutil.Process(shell.pid).children()[0].pid


@pytest.fixture
def shell() -> Iterator["pexpect.spawn[str]"]:
    """A shell with job control."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    environment = {**os.environ, "PS1": "$ ", "TERM": "xterm", "NO_COLOR": "1"}
    arguments = ["--norc", "--noprofile", "--noediting", "-i"]
    with pexpect.spawn(bash, arguments, encoding="utf-8", timeout=30, dimensions=(40, 200), env=environment) as started:
        started.expect_exact("$ ")
        yield started


def test_an_engine_that_dies_takes_nothing_with_it(terminal: Start) -> None:
    child = terminal("chat", "--plain", "--no-speculation", "--max-tokens", "60")
    child.expect(PROMPT)
    child.sendline(STORY)
    child.expect_exact(STORY)
    child.expect(A_FEW_WORDS)
    for engine in psutil.Process(child.pid).children():
        engine.kill()
    child.expect("What had come is kept")
    child.expect(r"The engine was killed \(SIGKILL\)")
    child.expect(PROMPT)
    assert re.search(A_FEW_WORDS, ask(child, "Go on."))
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def fill_context(child: "pexpect.spawn[str]") -> None:
    """Ask until the program offers its choice."""
    choice = re.escape("[g]o on without the oldest turns, [n]ew conversation, [l]eave? ")
    for _ in range(10):
        child.sendline("Name some countries, one after the other, please.")
        if child.expect([PROMPT, choice]) == 1:
            return
    pytest.fail("the context never filled")


def test_a_full_context_is_told_and_the_person_chooses(terminal: Start) -> None:
    child = terminal("chat", "--plain", "--no-speculation", "--context", "128", "--max-tokens", "40", "--seed", "1")
    child.expect(PROMPT)
    fill_context(child)
    child.sendline("g")
    child.expect(PROMPT)
    assert re.search(A_FEW_WORDS, ask(child, "Go on without another question."))

    ask(child, "/new")
    fill_context(child)
    child.sendline("nonsense")
    child.expect_exact("[l]eave? ")
    child.sendline("n")
    child.expect(PROMPT)

    fill_context(child)
    child.sendline("l")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_lines_through_a_pipe_are_answered_in_turn(program: Program) -> None:
    lines = "Say yes.\n\n/stats\n//x\n/nothing\nOne \\\nquestion.\n/exit\nnever read\n"
    run = program("chat", "--plain", "--no-speculation", "--max-tokens", "5", stdin=lines)
    assert run.returncode == 0
    assert len(run.stdout.splitlines()) >= 3
    assert "> " not in run.stdout
    assert "\x1b" not in run.stdout + run.stderr
    assert "written by: plain" in run.stderr
    assert "There is no command /nothing" in run.stderr


def test_a_conversation_under_the_lossy_rule_begins_by_saying_so(program: Program) -> None:
    run = program("chat", "--plain", "--acceptance", "typical", stdin="/exit\n")
    assert "typical acceptance: NOT the target's distribution" in run.stderr
    run = program("chat", "--plain", "--acceptance", "typical", "--temperature", "0", stdin="/exit\n")
    assert "NOT" not in run.stderr


def test_the_end_of_stdin_is_the_end_and_no_error(program: Program) -> None:
    assert program("chat", "--plain", "--no-speculation", stdin="").returncode == 0


def test_lines_that_are_no_text_are_told_in_words(program: Program) -> None:
    run = program("chat", "--plain", "--no-speculation", stdin=b"\xff\xfe\n")
    assert run.returncode == 2
    assert "not text" in run.stderr
    assert "Traceback" not in run.stderr


def test_without_colour_the_terminal_gets_none(terminal: Start) -> None:
    child = terminal("chat", "-p", "Say yes.", "--stats", "--max-tokens", "4", environment={"NO_COLOR": "1"})
    child.expect(pexpect.EOF)
    assert not re.search(r"\x1b\[\d*m", str(child.before))
    assert "tok/s" in str(child.before)


def test_statuses_are_erased_again(terminal: Start) -> None:
    child = terminal("chat", "-p", "Say yes.", "--max-tokens", "4", "--no-speculation")
    child.expect(pexpect.EOF)
    shown = str(child.before)
    assert "Loading the target" in shown
    for status in re.findall(r"(?:Starting|Loading the target: \d+%)(.{4})", shown):
        assert status == "\r\x1b[K"
