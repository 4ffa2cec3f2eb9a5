"""The app in a real terminal, on a real model: what a person does with it."""

from __future__ import annotations

from pathlib import Path

from localspec.conversations.store import ConversationStore
from tests.end_to_end.app.driving import (
    APP,
    FISH,
    STOPPED,
    STORY,
    Open,
    conversation,
    finish,
    first_words,
    has_words,
    kept,
    leave,
    over,
    shows,
    start,
)


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
