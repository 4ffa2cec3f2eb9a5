"""The app in a real terminal, on a real model: what must not cost a word."""

from __future__ import annotations

import re
import signal
import time

import psutil

from localspec.conversations.store import ConversationStore
from tests.end_to_end.app.driving import (
    LOADED,
    STOPPED,
    STORY,
    Open,
    app,
    engine,
    finish,
    first_words,
    has_words,
    kept,
    last_answer,
    leave,
    over,
    shows,
    start,
    written_on,
)


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
