"""`localspec verify` on a real pair: it passes, it fails when it should, and a crash is told in words."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from localspec.bench.losslessness.assignment import Assignment
from localspec.bench.losslessness.findings import Findings
from localspec.bench.losslessness.planted import BLOCK_ERRORS, REJECTION_ERRORS
from localspec.bench.losslessness.planted_trees import TREE_ERRORS
from localspec.bench.losslessness.verification import verify
from localspec.bench.losslessness.words import lines_of, verdict
from localspec.cli import main
from localspec.decoding.rules import NOT_THE_TARGETS
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.errors import EngineDiedError, LocalspecError


def assignment(
    target: Path, draft: Path | None, rule: str = "rejection", drafter: str = "hybrid", sequences: int = 1500
) -> Assignment:
    """A small one: two texts of 24 tokens."""
    return Assignment(
        loading=LoadPair(ModelSettings(target), ModelSettings(draft) if draft else None, context=256, threads=1),
        sampling=SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.02, seed=4),
        drafter=drafter,
        rule=rule,
        draft_length=None,
        prompts=2,
        max_tokens=24,
        sequences=sequences,
        tree_sequences=sequences,
        control_sequences=1500,
    )


def found_by(told: Assignment) -> Findings:
    found = Findings()
    steps: list[str] = []
    verify(told, lambda what, _done, _total: steps.append(what), found)
    assert any("real rows" in step for step in steps)
    return found


@pytest.mark.parametrize(
    ("drafter", "rule", "errors"),
    [
        ("hybrid", "rejection", [*REJECTION_ERRORS]),
        ("model", "auto", [*BLOCK_ERRORS]),
        ("auto", "auto", [*BLOCK_ERRORS, *TREE_ERRORS]),
    ],
)
def test_a_real_pair_is_verified_with_what_guesses(
    smollm2_path: Path, smollm2_draft_path: Path, drafter: str, rule: str, errors: Sequence[str]
) -> None:
    found = found_by(assignment(smollm2_path, smollm2_draft_path, rule, drafter))
    told = "\n".join(lines_of(found))
    assert found.fine, told
    assert "VERIFIED" in told
    assert max(map(len, told.splitlines())) <= 80
    sources = ["hybrid", "lookahead", "tree", "cascade"] if drafter == "auto" else [drafter]
    assert [(texts.rule, texts.drafter) for texts in found.texts] == [
        (kind, source) for kind in ("greedy", "coupled") for source in sources
    ]
    assert all(texts.siblings > 0 for texts in found.texts if texts.drafter == "tree")
    assert {position.drawn for draws in found.draws for position in draws.positions} == {1500}
    assert [caught.rule for caught in found.caught if caught.found] == errors


def test_a_target_alone_is_verified_with_its_own_guesses(smollm2_path: Path) -> None:
    found = found_by(assignment(smollm2_path, None, "auto", "auto"))
    told = "\n".join(lines_of(found))
    assert found.fine, told
    assert "this model writes" in told
    assert [texts.drafter for texts in found.texts] == ["ngram", "lookahead"] * 2
    assert [(draws.rule, draws.drafts) for draws in found.draws] == [("block", "chains"), ("rejection", "trees")]


def test_a_wrong_rule_fails_and_a_lossy_one_is_called_so(smollm2_path: Path, smollm2_draft_path: Path) -> None:
    for rule in ("always-accepts", "tree-draws-with-replacement"):
        told = assignment(smollm2_path, smollm2_draft_path, rule, "model")
        wrong = found_by(replace(told, control_sequences=300))
        # A control that misses its error fails it, too: it is the rule under test that must be found.
        assert (wrong.caught[0].rule, wrong.caught[0].found) == (rule, True)
        # What is wrong with second guesses only does not show at any place of a text.
        assert not wrong.draws[0].fine or rule != "always-accepts"
        assert not wrong.fine
        assert verdict(wrong)[0].startswith("FAILED")
    lossy = found_by(replace(assignment(smollm2_path, smollm2_draft_path, "typical"), control_sequences=300))
    assert not lossy.fine
    assert f"NOT LOSSLESS: what typical acceptance writes is {NOT_THE_TARGETS}:" in verdict(lossy)
    assert "total variation" in verdict(lossy)[1]


def test_a_pair_that_cannot_be_loaded_is_told_in_words(smollm2_path: Path, tmp_path: Path) -> None:
    with pytest.raises(LocalspecError) as caught:
        verify(assignment(smollm2_path, tmp_path / "missing.gguf"), lambda *_: None, Findings())
    assert "missing.gguf" in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_process_that_dies_is_told_in_words(smollm2_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localspec.bench.losslessness.verification._EXAMINE", "os:abort")
    monkeypatch.setattr(Assignment, "as_argument", lambda _: "x")
    with pytest.raises((EngineDiedError, LocalspecError)):
        verify(assignment(smollm2_path, smollm2_path), lambda *_: None, Findings())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--drafter", "model"], "needs a draft model"),
        (["--drafter", "none"], "turn speculation off"),
        (["--plant", "residual-is-p"], "shows only where a draft model guesses"),
        (["--drafter", "tree", "--acceptance", "block"], "cannot judge trees"),
    ],
)
def test_what_cannot_be_verified_is_told_before_anything_is_loaded(
    smollm2_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    assert main(["verify", "--target", str(smollm2_path), *options]) == 2
    assert told in capsys.readouterr().err


def test_json_says_the_verdict_of_a_failure_too(
    smollm2_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = tmp_path / "no-model.gguf"
    draft.write_bytes(b"not a model")
    assert main(["verify", "--json", "--target", str(smollm2_path), "--draft", str(draft)]) == 2
    values = json.loads(capsys.readouterr().out)
    assert values["fine"] is False
    assert "no-model.gguf" in values["verdict"][0]


def test_ctrl_c_ends_it_and_all_that_it_started(smollm2_path: Path, smollm2_draft_path: Path) -> None:
    arguments = ["verify", "--target", str(smollm2_path), "--draft", str(smollm2_draft_path), "--threads", "1"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "localspec", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not (children := psutil.Process(process.pid).children(recursive=True)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
