"""Which models a command loads: both where it looks at both, wherever settings come from that do without the draft."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from localspec import locations
from localspec.cli import main
from localspec.cli.benching.planning import Prepared, Wanted, make_plan
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.errors import LocalspecError, UsageError
from localspec.settings import Sources
from localspec.settings.kept import keep_settings
from localspec.terminal import Terminal

WITHOUT_DRAFT = pytest.mark.parametrize(
    "given", [{"drafter": "ngram"}, {"drafter": "none"}, {"draft_length": 0}, {"speculation": False}], ids=str
)
"""Settings that have no use for a draft model."""


@pytest.fixture(autouse=True)
def target(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file that nobody reads here, and folders where nothing is set."""
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"LOCALSPEC_{kind}_DIR", str(tmp_path / kind.lower()))
    return tmp_path / "big.gguf"


def planned(arms: str, target: Path, given: dict[str, object], origin: str = "flags") -> Prepared:
    """A plan for two files, with settings that are given in the named place."""
    places: dict[str, dict[str, object]] = {"flags": {}, "environment": {}, "file": {}, "kept": {}, origin: given}
    keep_settings(str(target), places.pop("kept"))
    places["flags"] = {**places["flags"], "target": target, "draft": target.with_name("small.gguf")}
    terminal = Terminal(io.StringIO(), io.StringIO())
    return make_plan(Wanted(arms, None, (), 1, 1), Sources(**places), terminal)


@pytest.mark.parametrize("origin", ["flags", "environment", "file", "kept"])
@WITHOUT_DRAFT
@pytest.mark.parametrize("arm", ["auto+model", "3+hybrid", "3+choose"])
def test_an_arm_of_a_benchmark_has_the_draft_it_needs(
    target: Path, arm: str, given: dict[str, object], origin: str
) -> None:
    plan = planned(f"off,{arm}", target, given, origin)
    (loading,) = plan.loading.values()
    assert loading.draft is not None
    assert loading.costs == arm.startswith("auto")
    assert plan.plan.arms[1].speculation.speculates


@WITHOUT_DRAFT
def test_a_draft_that_neither_settings_nor_arms_use_is_not_loaded(target: Path, given: dict[str, object]) -> None:
    (loading,) = planned("off,3+ngram", target, given).loading.values()
    assert loading.draft is None


@pytest.mark.parametrize("arm", ["on", "3", "auto"])
def test_an_arm_for_which_nothing_guesses_is_refused(target: Path, arm: str) -> None:
    with pytest.raises(UsageError, match=f"The arm {arm} guesses nothing"):
        planned(f"off,{arm}", target, {"drafter": "none"})


def loaded_by(command: str, target: Path, monkeypatch: pytest.MonkeyPatch) -> ModelSettings | None:
    """The draft that the command asks its engine for."""
    asked: list[LoadPair] = []

    def load(_engine: object, loading: LoadPair, _terminal: object) -> None:
        asked.append(loading)
        raise LocalspecError("It is known what was asked for")

    monkeypatch.setattr("localspec.engine.client.EngineClient", nullcontext)
    monkeypatch.setattr("localspec.cli.answering.load", load)
    assert main([command, "--target", str(target), "--draft", str(target.with_name("small.gguf"))]) == 1
    return asked[0].draft


def give(given: dict[str, object], origin: str, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set these values in the named place."""
    if origin == "environment":
        for name, value in given.items():
            monkeypatch.setenv(f"LOCALSPEC_{name.upper()}", "off" if value is False else str(value))
    elif origin == "file":
        locations.settings_file().parent.mkdir(parents=True)
        locations.settings_file().write_text("".join(f"{name} = {json.dumps(each)}\n" for name, each in given.items()))
    else:
        keep_settings(str(target), given)


@pytest.mark.parametrize("command", ["calibrate", "explain"])
@pytest.mark.parametrize("origin", ["environment", "file", "kept"])
@WITHOUT_DRAFT
def test_calibrate_and_explain_look_at_both_models_always(
    target: Path, command: str, given: dict[str, object], origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(given, origin, target, monkeypatch)
    draft = loaded_by(command, target, monkeypatch)
    assert draft is not None
    assert draft.path.name == "small.gguf"


@pytest.mark.parametrize("command", ["calibrate", "explain"])
def test_they_look_at_the_layers_of_the_target_where_those_guess_and_ask_for_no_rule(
    target: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localspec.settings.choice.pruned_draft_of", lambda _: Path("pruned.gguf"))
    give({"drafter": "pruned", "speculation": False, "acceptance": "greedy"}, "file", target, monkeypatch)
    draft = loaded_by(command, target, monkeypatch)
    assert draft is not None
    assert draft.path.name == "pruned.gguf"


@pytest.mark.parametrize("flag", ["--speculation", "--no-speculation", "--drafter", "--draft-length", "--acceptance"])
@pytest.mark.parametrize("command", ["calibrate", "explain"])
def test_they_offer_nothing_that_they_override(capsys: pytest.CaptureFixture[str], command: str, flag: str) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert flag not in capsys.readouterr().out
