"""What a benchmark wrote down survives it, and is gone on with only when it is the same benchmark."""

import json
from pathlib import Path

import pytest

from localspec import locations
from localspec.bench.journal import begin_journal, check_resumable, resume_journal
from localspec.bench.records import as_json, from_json
from localspec.errors import UsageError
from tests.bench.made_up import record

WHAT = {"arms": {"off": {"seed": (1, 2)}}, "max_tokens": 16}


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_DATA_DIR", str(tmp_path))


def test_a_record_comes_back_as_it_was() -> None:
    original = record(rounds=((2, 1), (0, 0)), joules=1.5, time_to_first_token=None)
    assert from_json(as_json(original)) == original


def test_what_was_added_is_there_after_a_crash_cut_the_last_line() -> None:
    with begin_journal(WHAT) as journal:
        journal.add(record())
        journal.add(record(run=1))
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-20])
    with resume_journal(WHAT) as again:
        assert list(again.made) == [("off", "code-1", 0, 0)]
        again.add(record(run=1))
    assert journal.path.read_bytes() == whole
    with resume_journal(WHAT) as third:
        assert len(third.made) == 2


def test_the_newest_is_gone_on_with() -> None:
    for _ in range(3):
        with begin_journal(WHAT) as journal:
            pass
    with resume_journal(WHAT) as again:
        assert again.path == journal.path


def test_another_benchmark_is_refused_by_what_differs() -> None:
    begin_journal(WHAT).__exit__()
    with pytest.raises(UsageError, match="another one") as caught:
        resume_journal({**WHAT, "max_tokens": 32, "arms": {}})
    assert "It differs in: arms, max tokens." in caught.value.message


def test_another_one_is_refused_by_what_is_known_before_all_is() -> None:
    begin_journal({**WHAT, "models": {"pair": {}}}).__exit__()
    check_resumable(WHAT)
    check_resumable({"max_tokens": 16})
    for other in ({**WHAT, "max_tokens": 32}, {"max_tokens": 32}):
        with pytest.raises(UsageError, match="another one") as caught:
            check_resumable(other)
        assert "It differs in: max tokens." in caught.value.message


def test_nothing_to_go_on_with_and_damaged_files_are_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no benchmark to go on with"):
        resume_journal(WHAT)
    with pytest.raises(UsageError, match="no benchmark to go on with"):
        check_resumable(WHAT)
    for content in (b"", b"nonsense\n", b'{"schema": 2, "what": 3}\n', b"[]\n"):
        file = tmp_path / "file.jsonl"
        file.write_bytes(content)
        with pytest.raises(UsageError, match="no journal"):
            resume_journal(WHAT, file)
    with begin_journal(WHAT) as journal:
        journal.add(record())
    journal.path.write_bytes(journal.path.read_bytes().replace(b'"finish"', b'"finis"'))
    with pytest.raises(UsageError, match="damaged"):
        resume_journal(WHAT)


@pytest.mark.parametrize("schema", [1, 99])
def test_a_journal_of_another_version_is_refused_with_what_to_do(schema: int) -> None:
    with begin_journal(WHAT) as journal:
        journal.add(record())
    first, *records = journal.path.read_text("utf-8").splitlines(keepends=True)
    journal.path.write_text("".join([json.dumps({**json.loads(first), "schema": schema}) + "\n", *records]), "utf-8")
    for refuse in (check_resumable, resume_journal):
        with pytest.raises(UsageError, match="another version of localspec") as caught:
            refuse(WHAT)
        assert str(journal.path) in caught.value.message
        assert "start anew without --resume" in caught.value.hint


def test_old_journals_are_removed() -> None:
    for _ in range(25):
        begin_journal(WHAT).__exit__()
    assert len(list(locations.bench_folder().glob("*.jsonl"))) == 20
