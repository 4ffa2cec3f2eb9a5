from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from localspec.errors import UsageError
from prepare import ROOT, Installation, Work, wanted_installation, work_left
from steps import build_progress, telling_lines

MADE = Installation("/checkout", "digest", ("demo",), asked={})
NOTHING = Work(build=False, install=False)


def left(present: Installation | None, wanted: Installation) -> Work:
    return work_left(present, wanted.after(present))


def test_nothing_known_means_all_is_to_do() -> None:
    assert left(None, MADE) == Work(build=True, install=True)


def test_what_is_there_is_not_done_again() -> None:
    assert left(MADE, MADE) == NOTHING


def test_an_extra_more_is_installed_without_a_build() -> None:
    assert left(MADE, replace(MADE, extras=("demo", "test"))) == Work(build=False, install=True)


def test_an_extra_less_changes_nothing() -> None:
    assert left(replace(MADE, extras=("demo", "test")), MADE) == NOTHING


@pytest.mark.parametrize("changed", [replace(MADE, root="/moved"), replace(MADE, project="edited")])
def test_a_moved_checkout_or_an_edited_project_is_installed_without_a_build(changed: Installation) -> None:
    assert left(MADE, changed) == Work(build=False, install=True)


def test_a_backend_asked_for_is_built_and_then_kept_without_asking_again() -> None:
    asked = replace(MADE, asked={"LOCALSPEC_BACKEND": "cuda"})

    assert left(MADE, asked) == Work(build=True, install=True)
    assert left(asked, MADE) == NOTHING
    assert left(asked, replace(MADE, asked={"LOCALSPEC_BACKEND": "cpu"})).build


def test_new_bindings_are_built() -> None:
    assert left(replace(MADE, bindings="llama-cpp-python==0.1"), MADE) == Work(build=True, install=True)


def test_a_stamp_tells_what_was_written(tmp_path: Path) -> None:
    written = replace(MADE, asked={"CMAKE_ARGS": "-DX='a b'"})
    written.write(tmp_path / "stamp.json")

    assert Installation.read(tmp_path / "stamp.json") == written


@pytest.mark.parametrize("content", ["", "{", "[]", '{"root": "/x"}', '{"extras": 1}', '{"extras": [], "more": 1}'])
def test_a_stamp_that_cannot_be_read_is_no_stamp(tmp_path: Path, content: str) -> None:
    (tmp_path / "stamp.json").write_text(content)

    assert Installation.read(tmp_path / "stamp.json") is None
    assert Installation.read(tmp_path / "absent.json") is None


def test_only_what_is_installed_counts_in_the_project_file(tmp_path: Path) -> None:
    text = (ROOT / "pyproject.toml").read_text()

    def digest(changed: str) -> str:
        (tmp_path / "pyproject.toml").write_text(changed)
        return wanted_installation(tmp_path, ["demo"], {}).project

    assert digest(text.replace("line-length = 120", "line-length = 99")) == digest(text)
    assert digest(text.replace("numpy>=2.1", "numpy>=2.2")) != digest(text)


def test_an_extra_that_does_not_exist_is_a_wrong_call() -> None:
    with pytest.raises(UsageError, match="tests"):
        wanted_installation(ROOT, ["tests"], {})


def test_an_empty_variable_asks_for_nothing() -> None:
    assert wanted_installation(ROOT, [], {"CMAKE_ARGS": "", "LOCALSPEC_BACKEND": ""}).asked == {}


def test_progress_is_the_last_mark_of_the_build_tool() -> None:
    assert build_progress("[1/345] Building\n  *** [23/345] Building C object [x]\n") == "[23/345]"
    assert build_progress("[  9%] Building") == "[9%]"
    assert build_progress("Collecting scikit-build-core [list]") == ""


def test_the_first_error_is_shown_however_much_followed() -> None:
    after = [f"[{number}/345] more" for number in range(100)]

    assert telling_lines("\n".join(["fine", "a.cpp:1:2: error: no", *after]))[0] == "a.cpp:1:2: error: no"
    assert telling_lines("\n".join(after))[-1] == after[-1]
    assert telling_lines("") == []
