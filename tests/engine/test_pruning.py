"""Drafts of SmolLM2's own layers, made and judged for real in the child process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.decoding.rounds import never
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine import pruning
from localspec.engine.calibrating import measured_on
from localspec.engine.client import EngineClient
from localspec.engine.costs_file import keep_costs
from localspec.engine.messages import Loaded, LoadPair, ModelSettings
from localspec.engine.pair import LoadedPair
from localspec.engine.pruning import Pruning
from localspec.engine.prunings import (
    BeginPruning,
    Cut,
    JudgeCut,
    JudgedCut,
    KeepCut,
    KeptCut,
    PruningBegun,
    PruningProgress,
)
from localspec.errors import LocalspecError, UsageError

GREEDY = SamplingSettings(temperature=0)


def last(client: EngineClient, request: BeginPruning | JudgeCut | KeepCut) -> object:
    return list(client.prune(request))[-1]


@pytest.fixture(scope="module")
def target(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    """SmolLM2 alone; what its passes cost is known, so that no test measures it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCALSPEC_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        alone = LoadPair(ModelSettings(smollm2), context=256, threads=1)
        on = measured_on(alone, alone.target, "target")
        assert on is not None
        keep_costs(on, 1, {1: 0.010, 2: 0.011, 32: 0.030}, 32)
        with EngineClient() as client:
            assert isinstance(list(client.load(alone))[-1], Loaded)
            yield client


@pytest.fixture
def begin(tmp_path: Path) -> BeginPruning:
    folder = tmp_path / "trial"
    folder.mkdir()
    return BeginPruning(("Count to ten.",), ("Name a colour and a town.",), 20, GREEDY, folder)


def test_a_whole_copy_agrees_everywhere_and_costs_a_pass(target: EngineClient, begin: BeginPruning) -> None:
    for sampling in (GREEDY, SamplingSettings(top_k=0, top_p=1, min_p=0)):
        begun = last(target, replace(begin, sampling=sampling))
        assert isinstance(begun, PruningBegun)
        assert begun.curve[:2] == pytest.approx((0.010, 0.011))
        assert begun.tokens == 20
        judged = last(target, JudgeCut(Cut(())))
        assert isinstance(judged, JudgedCut)
        # The width of a pass changes rounding a little.
        assert judged.agreement == pytest.approx(1, abs=0.06)
        assert judged.step > 0
        assert list(begin.folder.iterdir()) == []


def test_a_layer_less_agrees_less_and_a_requantized_one_is_made_once(target: EngineClient, begin: BeginPruning) -> None:
    last(target, begin)
    whole, lacking = (last(target, JudgeCut(Cut(dropped))) for dropped in ((), (0,)))
    assert isinstance(whole, JudgedCut)
    assert isinstance(lacking, JudgedCut)
    assert lacking.agreement < whole.agreement
    assert lacking.bytes < whole.bytes
    events = list(target.prune(JudgeCut(Cut((14,), "Q4_0"))))
    assert any(isinstance(event, PruningProgress) and "Q4_0" in event.what for event in events)
    assert [file.name for file in begin.folder.iterdir()] == ["Q4_0.gguf"]
    again = list(target.prune(JudgeCut(Cut((14,), "Q4_0"), check=True)))
    assert len(again) == 1


def test_a_draft_that_is_kept_stays(target: EngineClient, begin: BeginPruning) -> None:
    last(target, begin)
    kept = last(target, KeepCut(Cut((14, 15)), begin.folder / "kept.gguf", "a test's"))
    assert isinstance(kept, KeptCut)
    assert (begin.folder / "kept.gguf").stat().st_size == kept.bytes


def test_what_llama_cpp_cannot_load_is_told_and_removed(
    smollm2: Path, begin: BeginPruning, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = LoadedPair(LoadPair(ModelSettings(smollm2), context=64, threads=1), lambda _: None, never)
    damaged = smollm2.read_bytes()[:100_000]
    monkeypatch.setattr(pruning, "prune", lambda _source, copy, *_: copy.write_bytes(damaged))
    search = Pruning(pair, begin)
    judged = search.judge(JudgeCut(Cut((14,))), never, lambda *_: None)
    assert "llama.cpp says" in judged.trouble
    assert list(begin.folder.iterdir()) == []
    with pytest.raises(UsageError, match="a layer at least"):
        search.judge(JudgeCut(Cut(tuple(range(30)))), never, lambda *_: None)
    pair.close()


def test_a_search_that_has_not_begun_or_cannot_write_is_told(
    smollm2: Path, target: EngineClient, begin: BeginPruning
) -> None:
    last(target, begin)
    begin.folder.rmdir()
    begin.folder.write_text("a file in its place")
    with pytest.raises(LocalspecError):
        last(target, JudgeCut(Cut((14,))))
    list(target.load(LoadPair(ModelSettings(smollm2), context=256, threads=1)))
    with pytest.raises(LocalspecError, match="No search"):
        last(target, JudgeCut(Cut((14,))))


def test_texts_that_are_too_short_or_do_not_fit_are_told(target: EngineClient, begin: BeginPruning) -> None:
    with pytest.raises(LocalspecError, match="nothing to judge"):
        last(target, replace(begin, tokens=pruning._LEAST_PLACES - 1))
    with pytest.raises(LocalspecError, match="context is too short"):
        last(target, replace(begin, tokens=1000))


def test_abandoning_a_step_stops_it(target: EngineClient, begin: BeginPruning) -> None:
    last(target, begin)
    steps = target.prune(JudgeCut(Cut((14,), "Q4_0")))
    next(steps)
    steps.close()
    assert isinstance(last(target, JudgeCut(Cut((14,)))), JudgedCut)
