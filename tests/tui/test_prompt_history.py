from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from localspec.tui.prompt_history import PromptHistory, Walk

ODD = ["two\nlines", "tab\tand \x1b[31mescape", 'quotes " and \\n', "漢字 🚀 \u2028 \x85", "  spaces  ", "\ud800 alone"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "asked.jsonl"


def test_prompts_are_there_again_in_another_run(file: Path) -> None:
    for prompt in ODD[:-1]:
        PromptHistory(file).add(prompt)

    assert PromptHistory(file).prompts == ODD[:-1]


def test_what_no_file_can_hold_is_no_failure(file: Path) -> None:
    history = PromptHistory(file)
    history.add(ODD[-1])

    assert history.prompts == [ODD[-1]]
    assert len(PromptHistory(file).prompts) == 1


def test_any_prompt_survives_the_file(file: Path) -> None:
    chance = random.Random(4)
    prompts = ["p" + "".join(map(chr, chance.choices(range(0xD800), k=chance.randrange(60)))) for _ in range(200)]
    history = PromptHistory(file)
    for prompt in prompts:
        history.add(prompt)

    assert PromptHistory(file).prompts == prompts


def test_the_last_thousand_are_kept(file: Path) -> None:
    history = PromptHistory(file)
    for number in range(1600):
        history.add(f"prompt {number}")

    kept = PromptHistory(file).prompts

    assert kept == [f"prompt {number}" for number in range(600, 1600)]
    assert file.read_bytes().count(b"\n") == 1000


def test_the_same_prompt_twice_in_a_row_is_kept_once_and_an_empty_one_not_at_all(file: Path) -> None:
    for prompt in ("again", "again", " \n"):
        PromptHistory(file).add(prompt)

    assert PromptHistory(file).prompts == ["again"]


def test_two_windows_lose_nothing_of_each_other(file: Path) -> None:
    one, other = PromptHistory(file), PromptHistory(file)
    one.add("first")
    other.add("second")
    one.add("third")

    assert PromptHistory(file).prompts == ["first", "second", "third"]


@pytest.mark.parametrize("broken", [b"\xff\xfe\x00", b'{"a": 1}\nnull\n12\n', b'"cut', b"\n\n", b'["x"]\n"\n'])
def test_a_broken_file_gives_what_can_be_read_and_takes_more(file: Path, broken: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(b'"before"\n' + broken + b"\n")

    history = PromptHistory(file)
    history.add("after")

    assert history.prompts == ["before", "after"]
    assert PromptHistory(file).prompts == ["before", "after"]


def test_a_file_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").mkdir()
    history = PromptHistory(tmp_path / "asked.jsonl")

    history.add("kept for this run")

    assert history.prompts == ["kept for this run"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_nobody_else_reads_the_prompts(file: Path) -> None:
    PromptHistory(file).add("mine")

    assert file.stat().st_mode & 0o077 == 0


def test_a_walk_leads_back_to_the_draft_and_to_what_was_changed_on_the_way() -> None:
    history = PromptHistory(None)
    history.add("one")
    history.add("two")
    walk = Walk(history)

    assert walk.newer("draft") is None
    assert walk.older("draft") == "two"
    assert walk.older("two, changed") == "one"
    assert walk.older("one") is None
    assert walk.newer("one") == "two, changed"
    assert walk.newer("two, changed") == "draft"
    assert walk.newer("draft") is None
    assert history.prompts == ["one", "two"]
