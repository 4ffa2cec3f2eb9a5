"""The prompts: our own, and anybody's in Spec-Bench's format."""

import json
from collections import Counter
from pathlib import Path

import pytest

from localspec.bench.task_files import Task, built_in_tasks, chosen_tasks, read_tasks
from localspec.errors import UsageError


def test_there_are_eight_kinds_of_four_prompts_each_with_a_chinese_one() -> None:
    tasks = built_in_tasks()
    assert Counter(task.kind for task in tasks) == dict.fromkeys(
        ("code", "rewrite", "structured", "explain", "summarise", "translate", "arithmetic", "story"), 4
    )
    assert len({task.id for task in tasks}) == len({task.digest for task in tasks}) == len(tasks)
    chinese = {task.kind for task in tasks if any("\u4e00" <= letter <= "\u9fff" for letter in task.turns[0])}
    assert len(chinese) == 8
    assert any(len(task.turns) > 1 for task in tasks)


def test_a_file_of_spec_bench_is_read_with_all_its_turns(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    lines = [
        {"question_id": 81, "category": "writing", "turns": ["One.", "Two."], "reference": ["ignored"]},
        {"question_id": "x", "category": "math", "turns": ["Three."]},
    ]
    file.write_text("\ufeff" + "\n\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    assert read_tasks(file) == (Task("81", "writing", ("One.", "Two.")), Task("x", "math", ("Three.",)))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"question_id": 1, "category": "a", "turns": ["x"]}\nnot json', "Line 2 of"),
        ('{"question_id": 1, "category": "a", "turns": []}', "Line 1 of"),
        ('{"question_id": 1, "category": "a", "turns": ["\\ud800"]}', "Line 1 of"),
        ('{"question_id": 1, "turns": ["x"]}', "Line 1 of"),
        ("[]", "Line 1 of"),
        ("", "no tasks"),
        ('{"question_id": 1, "category": "a", "turns": ["x"]}\n' * 2, "repeats the id 1"),
    ],
)
def test_a_line_that_is_no_task_is_named(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(content, "utf-8")
    with pytest.raises(UsageError, match=told):
        read_tasks(file)


def test_a_file_that_is_not_there_or_no_text_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("missing", "binary"):
        with pytest.raises(UsageError, match="cannot be read"):
            read_tasks(tmp_path / name)


def test_kinds_come_in_turns_so_that_a_benchmark_cut_short_has_seen_them_all() -> None:
    tasks = [Task(f"{kind}{number}", kind, ("x",)) for kind in "ab" for number in range(3)]
    assert [task.id for task in chosen_tasks(tasks, limit=2)] == ["a0", "b0", "a1", "b1"]
    assert [task.id for task in chosen_tasks(tasks, kinds=("b",))] == ["b0", "b1", "b2"]
    with pytest.raises(UsageError, match="called 'c'"):
        chosen_tasks(tasks, kinds=("c",))
