"""The defaults that the help of a command tells are those it takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from localspec.bench.explaining import gathering
from localspec.bench.losslessness.assignment import Assignment
from localspec.cli import main, prune, verify
from localspec.cli.benching import planning
from localspec.engine.pair import DEFAULT_CONTEXT
from localspec.pairs.catalog import load_catalog
from localspec.settings import Settings, Sources
from localspec.settings.choice import settings_for


def default_told(command: str, flag: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    found = re.search(rf" {flag} [A-Z]+ [^()]*\(default: ([^)]*)\)", told)
    assert found, told
    return found[1]


@pytest.mark.parametrize(
    ("command", "flag", "taken"),
    [
        ("chat", "--context", f"the pair's own, else {DEFAULT_CONTEXT} or the model's limit"),
        ("bench", "--context", f"the pair's own, else {DEFAULT_CONTEXT} or the model's limit"),
        ("prune", "--context", f"{prune._CONTEXT}"),
        ("chat", "--seed", "another for each answer"),
        ("explain", "--seed", f"{gathering._SEED}"),
        *(("bench", f"--{name}", f"{planning.DEFAULTS[name]:g}") for name in ("seed", "temperature")),
        ("bench", "--max-tokens", f"{planning.DEFAULTS['max_tokens']}"),
    ],
)
def test_the_help_of_a_command_tells_its_own_default(
    command: str, flag: str, taken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert default_told(command, flag, capsys) == taken


def test_a_pair_has_a_context_of_its_own_and_a_file_none(tmp_path: Path) -> None:
    pair = load_catalog().pair("qwen2.5-coder-7b")
    assert settings_for(Sources({}, {}, {}), pair).context == pair.context != DEFAULT_CONTEXT
    assert Settings(target=tmp_path / "big.gguf").context is None


def test_verify_takes_the_seed_and_the_context_that_its_help_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given: list[Assignment] = []
    monkeypatch.setattr("localspec.bench.losslessness.verification.verify", lambda told, *_: given.append(told))
    main(["verify", "--target", str(tmp_path / "big.gguf"), "--drafter", "ngram"])
    (told,) = given
    capsys.readouterr()
    assert default_told("verify", "--seed", capsys) == str(told.sampling.seed)
    assert default_told("verify", "--context", capsys) == f"the pair's own, else {told.loading.context}"


def test_verify_says_how_much_less_it_draws_when_it_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    quick, whole = verify._SIZES[True], verify._SIZES[False]
    assert [whole[name] // quick[name] for name in ("sequences", "tree_sequences")] == [10, 6]
    with pytest.raises(SystemExit):
        main(["verify", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "a tenth of the draws, or of those of trees a sixth" in told
