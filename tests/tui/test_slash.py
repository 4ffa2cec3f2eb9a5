from __future__ import annotations

import pytest

from localspec.tui.actions import ACTIONS, BY_SLASH
from localspec.tui.slash import Command, Slip, literal, matching, parse


@pytest.mark.parametrize("word", sorted(BY_SLASH))
def test_each_commands_word_asks_for_its_action(word: str) -> None:
    assert parse(f"/{word}") == Command(BY_SLASH[word], "")
    assert parse(f"/{word.upper()}  ") == Command(BY_SLASH[word], "")


def test_what_stands_behind_the_word_goes_along_lines_and_all() -> None:
    assert parse("/system You are terse.\nAnswer in French.") == Command(
        BY_SLASH["system"], "You are terse.\nAnswer in French."
    )
    assert parse("/attach ~/a file.txt ") == Command(BY_SLASH["attach"], "~/a file.txt")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "Why / how?",
        "//quit",
        "/etc/hosts has a line too many",
        "/home/me/notes.txt",
        "/3 of them",
        "/stop\nis what the traffic sign said",
        "/nosuchthing\non two lines",
        " /quit",
    ],
)
def test_a_text_that_only_resembles_a_command_is_sent(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(("slip", "meant"), [("/regenrate", "/regenerate"), ("/exit", "/quit"), ("/models", "/pairs")])
def test_a_slip_is_told_with_what_was_perhaps_meant(slip: str, meant: str) -> None:
    said = parse(slip)

    assert isinstance(said, Slip)
    assert slip in said.message
    assert f"Did you mean {meant}?" in said.message


def test_words_behind_a_command_that_takes_none_are_not_lost() -> None:
    assert isinstance(parse("/help me with my essay"), Slip)


def test_two_slashes_stand_for_one() -> None:
    assert literal("//quit is a command") == "/quit is a command"
    assert literal("1 // 2") == "1 // 2"


def test_commands_that_begin_so_are_listed_before_those_that_hold_it() -> None:
    words = [action.slash for action in matching("/re")]

    assert words[:4] == ["regenerate", "rename", "readout", "restart"]
    assert len(words) == len(set(words))
    assert "previous" in words


def test_a_slash_lists_every_command() -> None:
    assert matching("/") == tuple(action for action in ACTIONS if action.slash)


@pytest.mark.parametrize("text", ["", "x", "//", "/attach ", "/etc/", "/re 1"])
def test_nothing_is_listed_beyond_the_word(text: str) -> None:
    assert matching(text) == ()
