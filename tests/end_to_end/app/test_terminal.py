"""The app in terminals of any size and ability: it changes with them, and nothing steers them but it."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from localspec.conversations.store import ConversationStore
from tests.end_to_end.app.driving import (
    APP,
    FISH,
    STORY,
    Open,
    conversation,
    first_words,
    has_words,
    kept,
    leave,
    over,
    shows,
    start,
)


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


@pytest.mark.parametrize("errors", ["2>errors", "2>&-"])
def test_errors_that_go_elsewhere_take_no_screen_along(terminal: Open, tmp_path: Path, errors: str) -> None:
    pane = terminal()
    start(pane, errors)
    assert pane.in_full_screen
    leave(pane)
    assert "\x1b" not in "".join(path.read_text() for path in tmp_path.rglob("errors"))
