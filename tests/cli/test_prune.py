"""`localspec prune` on SmolLM2: a short search for real, what it keeps, and what it refuses."""

from __future__ import annotations

import io
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from localspec import locations
from localspec.bench.pruning import running
from localspec.bench.pruning.running import trial_folder
from localspec.cli import main
from localspec.engine.client import EngineClient
from localspec.errors import EngineDiedError
from localspec.pairs.gguf_bytes import LocalFile
from localspec.pairs.gguf_reading import read_header
from localspec.pairs.pruned import pruned_draft_of
from tests.bench.test_pruning_search import STEEP
from tests.bench.test_pruning_words import result

SHORT = ["--quick", "--minutes", "0.001", "--threads", "1", "--context", "256", "--temperature", "0"]


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"LOCALSPEC_{kind}_DIR", str(tmp_path / kind.lower()))


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = main([*arguments])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_the_best_draft_is_kept_as_a_pair_that_writes_the_same_text(
    smollm2_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "PROMPTS", ("Count to ten.",))
    monkeypatch.setattr(running, "CHECK_PROMPTS", ("Name a colour and a town.",))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    found = json.loads(told(capsys, "prune", str(smollm2_path), *SHORT, "--keep-best", "--json"))
    assert found["schema"] == 1
    best = found["finalists"][0]
    assert best["speed_up"] == max(each["speed_up"] for each in found["finalists"]) > 0
    assert 0 < best["agreement"] <= 1
    assert {type(each["file_type"]) for each in found["tried"]} == {str, type(None)}
    name, draft = found["pair"], Path(found["path"])
    assert name == "smollm2-135m-instruct.q4_1-pruned"
    assert pruned_draft_of(smollm2_path) == draft
    assert not locations.pruning_folder().exists()
    assert name in told(capsys, "list")
    assert str(draft) in told(capsys, "show", name)
    ask = ["chat", "-p", "Name three colours.", "--temperature", "0", "--max-tokens", "24", "--threads", "1"]
    drafting = ["--drafter", "model", "--draft-length", "2", "--json"]
    guessed = json.loads(told(capsys, *ask, "--pair", name, *drafting))
    alone = json.loads(told(capsys, *ask, "--pair", name, "--no-speculation", "--json"))
    assert guessed["text"] == alone["text"]
    assert guessed["statistics"]["drafted"] > 0
    assert main(["prune", str(draft)]) == 1
    assert "pruned copy already" in capsys.readouterr().err
    told(capsys, "rm", name)
    assert not draft.exists()
    assert smollm2_path.exists()


def test_where_nothing_pays_nothing_is_written(
    smollm2_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "find_best", lambda *_: result(STEEP))
    text = told(capsys, "prune", str(smollm2_path), *SHORT)
    assert "Nothing pays on this machine" in text
    assert "Nothing was written" in text
    assert max(map(len, text.splitlines())) <= 80
    assert not locations.pruned_folder().exists()
    assert not locations.pruning_folder().exists()
    assert not locations.remembered_pairs_file().exists()


def test_ctrl_c_leaves_nothing(smollm2_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "localspec", "prune", str(smollm2_path), "--quick", "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 240
    while not list(locations.pruning_folder().glob("*/*")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    assert not locations.pruning_folder().exists()
    assert not locations.pruned_folder().exists()


def test_what_a_killed_search_left_is_removed_and_a_running_ones_is_not(smollm2_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, running = (locations.pruning_folder() / f"{pid}-x" for pid in (gone.pid, psutil.Process().ppid()))
    for folder in (left, running):
        folder.mkdir(parents=True)
        (folder / "Q4_0.gguf").write_bytes(b"GGUF")
    with trial_folder(read_header(LocalFile(smollm2_path))) as folder:
        assert folder.is_dir()
        assert not left.exists()
    assert not folder.exists()
    assert running.exists()


def test_a_full_disk_is_told_before_anything_is_loaded(
    smollm2_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    assert main(["prune", str(smollm2_path)]) == 1
    words = capsys.readouterr().err
    assert "not enough room on the disk" in words
    assert "LOCALSPEC_CACHE_DIR" in words


def test_a_death_of_the_engine_is_told_and_leaves_nothing(
    smollm2_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise EngineDiedError("The engine died", "llama.cpp failed.")

    monkeypatch.setattr(EngineClient, "prune", die)
    assert main(["prune", str(smollm2_path), *SHORT]) == 1
    assert "The engine died" in capsys.readouterr().err
    assert not locations.pruning_folder().exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nothing.gguf"], 2, "There is no file nothing.gguf"),
        (["nobody-knows-it"], 2, "There is no file, pair or model called nobody-knows-it"),
        ([], 2, "required"),
        (["demo", "--minutes", "0"], 2, "--minutes must be"),
        (["demo", "--minutes", "soon"], 2, "--minutes must be"),
        (["demo", "--draft-length", "3"], 2, "There is no --draft-length"),
        (["demo", "--temperature", "-1"], 2, "--temperature must be"),
        ([__file__], 1, "not a sound GGUF"),
    ],
)
def test_wrong_calls_are_told(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str) -> None:
    assert main(["prune", *arguments]) == code
    assert words in capsys.readouterr().err


def test_the_help_says_what_counts_and_what_json_has(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["prune", "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    for words in ("predicted speed-up", "--quick", "--keep-best", "--json", '"schema": 1', "finalists"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 80
