"""The app in a real terminal, on a real model: what a person does with it, and what must not cost a word."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from localspec.chat.events import Role
from localspec.conversations.conversation import Conversation, Entry
from localspec.conversations.store import ConversationStore
from localspec.errors import HistoryError
from tests.end_to_end.conftest import PROGRAM
from tests.end_to_end.tmux import SECONDS, Tmux

STORY = "Tell me a long story about a whale."
FISH = "Name three fish."
APP = shlex.join([*PROGRAM, "chat", "--temperature", "0"])
LOADED = "CPU, "
STOPPED = "You stopped this answer. F6 goes on with it."

Open = Callable[..., Tmux]


@pytest.fixture
def history(tmp_path: Path) -> ConversationStore:
    """What the program keeps, read beside it."""
    return ConversationStore(tmp_path / "data" / "history.sqlite3")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    """Open a terminal: `terminal(size=(96, 34), TERM="xterm")`; with a context that holds a few answers."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    ours = {name: value for name, value in os.environ.items() if name.startswith("LOCALSPEC_")}
    opened: list[Tmux] = []

    def open_(size: tuple[int, int] = (96, 34), **environment: str) -> Tmux:
        folder = tmp_path / f"{len(opened)}"
        folder.mkdir()
        colours = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        own = {"LOCALSPEC_DATA_DIR": f"{tmp_path / 'data'}", "LOCALSPEC_CONTEXT": "2048", "HOME": f"{tmp_path}"}
        base = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        opened.append(Tmux(folder, {**base, **colours, **ours, **own, **environment}, size))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


def start(pane: Tmux, options: str = "", before: str = "") -> None:
    """Start the app in the shell and wait until the models are loaded; its exit code is shown after it."""
    pane.type(f"{before}{APP} {options}; echo :$?:")
    pane.until(LOADED)


def leave(pane: Tmux, code: int = 0) -> None:
    """Quit, and look that the shell is there again."""
    pane.press("C-q")
    pane.until(lambda shown: re.search(rf"^:{code}:\n\$", shown, re.MULTILINE))
    assert not pane.in_full_screen


def conversation(history: ConversationStore) -> Conversation:
    """The latest one, as it is on the disk."""
    latest = history.latest()
    assert latest is not None
    return history.open(latest.id)


def last_answer(history: ConversationStore) -> Entry | None:
    """The answer at the end of the branch that is shown; None before there is one."""
    try:
        latest = history.latest()
        head = history.open(latest.id).head if latest else None
    except HistoryError:
        return None
    return head if head is not None and head.role is Role.ASSISTANT else None


def kept(history: ConversationStore, satisfies: Callable[[Entry], object]) -> Entry:
    """Wait until the last answer on the disk satisfies a function; return it."""
    deadline = time.monotonic() + SECONDS
    while not ((answer := last_answer(history)) and satisfies(answer)):
        assert time.monotonic() < deadline, f"it did not come to this in time: {answer}"
        time.sleep(0.05)
    return answer


def over(answer: Entry) -> bool:
    """Whether nothing more comes of an answer."""
    return finish(answer) not in {"", "writing"}


def has_words(count: int) -> Callable[[Entry], bool]:
    return lambda answer: len(answer.text.split()) >= count


def finish(answer: Entry) -> str:
    return answer.facts.finish if answer.facts else ""


def first_words(answer: Entry) -> str:
    """What of an answer surely stands on one screen."""
    return " ".join(answer.text.split()[:8])


def written_on(shown: str) -> str:
    """The answer at the end of a screen, but for its last word, which may not be whole."""
    after = re.split(r"SmolLM2\S+ +\d\d:\d\d", shown)[-1]
    return " ".join(" ".join(line for line in after.splitlines() if line.startswith("  ")).split()[:-1])


def shows(text: str) -> Callable[[str], bool]:
    """Whether a screen shows the words of a text, however its lines are broken."""
    return lambda shown: " ".join(text.split()) in " ".join(shown.split())


def engine(pane: Tmux) -> psutil.Process:
    """The process that holds the models."""
    return next(each for each in pane.processes() if "localspec.engine" in " ".join(each.cmdline()))


def app(pane: Tmux) -> psutil.Process:
    """The program itself."""
    return next(each for each in pane.processes() if each.cmdline()[1:4] == PROGRAM[1:])


def test_an_answer_is_stopped_continued_and_written_anew_and_all_of_it_is_there_the_next_day(
    terminal: Open, history: ConversationStore
) -> None:
    pane = terminal()
    before = pane.run("stty -a")
    start(pane, "--max-tokens 150")

    pane.type(STORY)
    kept(history, has_words(10))
    pane.press("Escape")
    pane.until(STOPPED)
    stopped = kept(history, over)
    assert finish(stopped) == "cancelled"
    assert shows(first_words(stopped))(pane.screen)

    pane.press("F6")
    pane.until(lambda shown: STOPPED not in shown)
    whole = kept(history, lambda answer: over(answer) and answer.text != stopped.text)
    assert whole.id == stopped.id
    assert whole.text.startswith(stopped.text)

    pane.press("C-r")
    pane.until("2/2")
    second = kept(history, lambda answer: over(answer) and answer.id != whole.id)
    assert second.parent == whole.parent
    pane.press("M-Left")
    pane.until("1/2")
    leave(pane)
    assert pane.run("stty -a") == before

    start(pane, "--resume")
    pane.until("1/2")
    assert shows(STORY)(pane.screen)
    assert shows(first_words(whole))(pane.screen)
    asked = conversation(history)
    assert [entry.text for entry in asked.path] == [STORY, whole.text]
    assert asked.siblings(whole.id) == [asked[whole.id], asked[second.id]]
    assert asked[second.id].text == second.text
    pane.press("M-Right")
    pane.until("2/2")
    leave(pane)


def test_speculation_is_turned_off_shown_compared_and_the_conversation_found_again(
    terminal: Open, history: ConversationStore
) -> None:
    pane = terminal()
    start(pane, "--max-tokens 40")
    pane.press("C-s")
    pane.until("Speculation is off")
    pane.type(FISH)
    plain = kept(history, over)
    assert plain.facts
    emitted = plain.facts.statistics.emitted
    assert plain.facts.statistics.drafted == 0
    pane.press("C-t")
    pane.until(f"without a guess {emitted} (100 %)")
    pane.press("C-t", "C-s")
    pane.until("Speculation is on")

    pane.press("C-g")
    pane.until(lambda shown: f"Compare: {FISH}" in shown and "same text" in shown)
    pane.press("Escape")
    pane.until("Ask something")

    pane.press("C-n")
    pane.until(lambda shown: FISH not in shown)
    pane.press("F5")
    pane.until("Search titles and messages")
    pane.type("three fish")
    pane.until(lambda shown: FISH in shown and "Search titles" not in shown and "Enter open" not in shown)
    leave(pane)
    assert "nothing that was said" in pane.run(f"{APP} --resume 'nothing that was said'")
    pane.until(":2:")


def test_a_file_and_a_pipe_go_along_and_the_keyboard_works_after_the_pipe(
    terminal: Open, history: ConversationStore, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    note.write_text("The whale is called Wilma.\n", encoding="utf-8")
    pane = terminal()
    start(pane, f"--max-tokens 8 --attach - --attach {note}", before="printf 'piped \\033[31mred\\n' | ")
    pane.until(lambda shown: "stdin" in shown and "note.txt" in shown)

    pane.type("What is the name?")
    kept(history, over)
    question = conversation(history).path[0]
    assert question.text == "What is the name?"
    assert [(each.name, each.text) for each in question.attachments] == [
        ("stdin", "piped \x1b[31mred"),
        ("note.txt", "The whale is called Wilma.\n"),
    ]
    leave(pane)


def test_an_engine_that_dies_in_mid_answer_costs_no_word_and_comes_back_on_f10(
    terminal: Open, history: ConversationStore
) -> None:
    pane = terminal()
    start(pane)
    pane.type(STORY)
    kept(history, has_words(10))
    before = pane.until(shows(STORY))

    engine(pane).send_signal(signal.SIGSEGV)
    pane.until(lambda shown: "SEGV" in shown and "F10" in shown)
    cut = kept(history, over)
    assert finish(cut) == "failed"
    assert shows(written_on(before))(cut.text)
    assert shows(first_words(cut))(pane.screen)

    pane.press("F10")
    pane.until(lambda shown: "F10 starts" not in shown and LOADED in shown)
    pane.press("F6")
    grown = kept(history, has_words(len(cut.text.split()) + 5))
    assert grown.text.startswith(cut.text)
    pane.press("Escape")
    pane.until(STOPPED)
    leave(pane)


def test_a_kill_of_the_app_in_mid_answer_costs_the_last_second_at_most(
    terminal: Open, history: ConversationStore
) -> None:
    pane = terminal()
    start(pane)
    pane.type(STORY)
    kept(history, has_words(12))
    seen = written_on(pane.screen)
    assert len(seen.split()) > 3
    models = engine(pane)
    time.sleep(1.2)  # what was seen before the last second
    app(pane).kill()

    cut = last_answer(history)
    assert cut is not None
    assert shows(seen)(cut.text)
    psutil.wait_procs([models], timeout=30)
    assert not models.is_running()

    again = terminal()
    start(again, "--resume")
    again.until(shows(first_words(cut)))
    again.until("F6 goes on")
    again.press("F6")
    grown = kept(history, has_words(len(cut.text.split()) + 5))
    assert grown.id == cut.id
    assert grown.text.startswith(cut.text)
    again.press("Escape")
    again.until(STOPPED)
    leave(again)


def test_a_signal_ends_it_as_a_person_would(terminal: Open, history: ConversationStore) -> None:
    pane = terminal()
    before = pane.run("stty -a")
    start(pane)
    pane.type(STORY)
    kept(history, has_words(10))
    seen = written_on(pane.screen)

    app(pane).send_signal(signal.SIGTERM)
    pane.until(lambda shown: re.search(r"^:143:", shown, re.MULTILINE))
    assert shows(seen)(kept(history, over).text)
    assert not pane.in_full_screen
    assert pane.run("stty -a") == before
    assert pane.processes() == []


def test_the_terminal_changes_its_size_while_an_answer_streams(terminal: Open, history: ConversationStore) -> None:
    pane = terminal((120, 40))
    start(pane, "--max-tokens 60")
    pane.type(STORY)
    kept(history, has_words(3))
    for size in ((20, 5), (250, 80), (40, 10), (80, 24), (10, 2), (200, 50), (96, 34)):
        pane.resize(*size)
        time.sleep(0.1)
    answer = kept(history, over)
    pane.until(shows(first_words(answer)))
    assert all(len(line) <= 96 for line in pane.screen.splitlines())
    leave(pane)


def test_what_is_pasted_steers_no_terminal_and_is_sent_as_it_is(terminal: Open, history: ConversationStore) -> None:
    pane = terminal()
    start(pane, "--max-tokens 4")
    title = pane.title
    hostile = "\x1b]0;stolen\x07\x1b[31mred\x1b[2J [b]x[/b] \u202eright\u2066\x9b5n\nsecond line\x7f"

    pane.paste(hostile)
    pane.until("␛[31mred␛[2J [b]x[/b]")
    pane.press("Enter")
    kept(history, over)
    pane.until(lambda shown: shown.count("␛[31mred") == 1 and "second line␡" in shown)

    assert conversation(history).path[0].text == hostile
    assert pane.title == title
    leave(pane)


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        ({"NO_COLOR": "1"}, r"[0-9]|2[0-9]|[34]8;2;(\d+);\2;\2"),  # greys tell panes apart
        ({"TERM": "xterm", "COLORTERM": ""}, r"[0-9]|2[0-9]|[349][0-79]|10[0-7]"),
    ],
)
def test_it_keeps_to_the_colours_of_the_terminal(
    terminal: Open, history: ConversationStore, environment: dict[str, str], allowed: str
) -> None:
    pane = terminal((120, 40), **environment)
    start(pane, "--max-tokens 12 --drafter model --draft-length 3")
    pane.type(FISH)
    kept(history, over)
    pane.press("C-t")
    pane.until("accepted guess")

    colours = pane.colours
    assert len(colours) > 1
    assert [code for code in colours if not re.fullmatch(f"(?:({allowed});?)*", code)] == []
    leave(pane)


def test_a_terminal_that_can_do_nothing_gets_the_conversation_in_lines(terminal: Open) -> None:
    pane = terminal(TERM="dumb")
    pane.type(f"{APP} --max-tokens 4; echo :$?:")
    pane.until("/help lists the commands")
    assert not pane.in_full_screen
    pane.type("/exit")
    pane.until(":0:")
