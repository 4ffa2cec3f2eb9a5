"""What `explain` tells is measured: a real engine, real models, a little effort."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.bench.explaining import gathering
from localspec.bench.explaining.facts import Facts
from localspec.bench.explaining.gathering import Effort, Subject, gather
from localspec.bench.explaining.sections import sections
from localspec.bench.plots import UNICODE
from localspec.decoding.sampling import SamplingSettings
from localspec.doctor.report import Device, Report
from localspec.engine.client import EngineClient
from localspec.engine.messages import Loaded, LoadPair, ModelSettings
from localspec.errors import LocalspecError, OutOfMemoryError

LITTLE = Effort(kinds=("story",), longest=4, most_tokens=12, least_tokens=4, seconds=1.0, sequences=(1, 2))
LEAST = Effort(
    kinds=("story",), longest=1, most_tokens=2, least_tokens=1, seconds=0.0, batch_seconds=0.0, sequences=(1,)
)


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineClient]:
    with EngineClient() as started:
        yield started


@pytest.fixture(scope="module")
def loading(smollm2_path: Path, smollm2_draft_path: Path) -> LoadPair:
    return LoadPair(ModelSettings(smollm2_path), ModelSettings(smollm2_draft_path), context=512, threads=1)


@pytest.fixture(scope="module")
def report() -> Report:
    return gathering.examine(None)


def loaded(engine: EngineClient, loading: LoadPair) -> Loaded:
    *_, last = engine.load(loading)
    assert isinstance(last, Loaded)
    return last


@pytest.fixture(scope="module")
def found(engine: EngineClient, loading: LoadPair) -> Facts:
    said: list[str] = []
    subject = Subject(loaded(engine, loading), loading, SamplingSettings(temperature=0))
    facts = gather(engine, subject, said.append, LITTLE)
    assert any("bandwidth" in words or "memory" in words for words in said)
    return facts


@pytest.fixture(scope="module")
def alone(engine: EngineClient, loading: LoadPair, found: Facts) -> Subject:  # noqa: ARG001 - it needs the draft
    """The target without a draft, loaded from now on."""
    target = replace(loading, draft=None)
    return Subject(loaded(engine, target), target, SamplingSettings())


def test_everything_is_measured_on_the_pair(found: Facts) -> None:
    assert found.bandwidth is not None
    assert found.bandwidth.measured
    assert len(found.pass_seconds) == 5
    assert min(found.pass_seconds) > 0
    assert found.draft_step is not None
    assert [one.kind for one in found.guesses] == ["story"]
    assert found.acceptance is not None
    assert {arm.drafted for arm in found.arms} >= {0, 4}
    assert all(arm.statistics.emitted for arm in found.arms)
    assert [batch.sequences for batch in found.batches()] == [1, 2]
    assert found.context > 30
    assert found.notes == ()
    assert len(sections(found, UNICODE)) == 8


def test_at_temperature_0_chance_is_shown_at_another_one(found: Facts) -> None:
    assert found.temperature == 0
    assert found.replay_temperature == 1
    assert {guess.p for one in found.guesses for guess in one.looked_at} <= {0.0, 1.0}
    assert any(0 < guess.p < 1 for one in found.replay for guess in one.guesses)


def test_a_target_alone_is_explained_alone(
    engine: EngineClient, alone: Subject, found: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "measure_bandwidth", lambda *_: found.bandwidth)
    facts = gather(engine, alone, lambda _: None, LITTLE)
    assert (facts.draft, facts.draft_step, facts.guesses, facts.replay) == (None, None, (), ())
    assert [arm.drafted for arm in facts.arms] == [0]
    assert "No draft is loaded" in " ".join(line for page in sections(facts, UNICODE) for line in page.lines)


def test_what_cannot_be_measured_is_left_out_and_told(
    engine: EngineClient, alone: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise LocalspecError("The memory bandwidth could not be measured", "Why not.")

    def too_much(*_: object) -> None:
        raise OutOfMemoryError("Not enough memory for a context of 8192 tokens", "Only little is free.")

    monkeypatch.setattr(gathering, "measure_bandwidth", refuse)
    monkeypatch.setattr(engine, "measure_batch", too_much)
    facts = gather(engine, alone, lambda _: None, LITTLE)
    assert (facts.bandwidth, facts.bound, facts.batch) == (None, None, None)
    assert facts.notes == (
        "The memory bandwidth could not be measured. Why not.",
        "Not enough memory for a context of 8192 tokens. Only little is free.",
    )


def test_larger_batches_are_left_out_when_time_is_up(
    engine: EngineClient, alone: Subject, found: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "measure_bandwidth", lambda *_: found.bandwidth)
    effort = replace(LEAST, sequences=(1, 2))
    facts = gather(engine, alone, lambda _: None, effort)
    assert [batch.sequences for batch in facts.batches()] == [1]
    assert facts.notes == ("Passes over 2 texts and more would have taken long.",)


@pytest.mark.parametrize(
    ("device", "layers", "description", "gigabytes", "note"),
    [
        ("CUDA0", -1, "NVIDIA GeForce RTX 4090", 1008, ""),
        ("CUDA0", -1, "NVIDIA GeForce RTX 9999", None, "not in the device table"),
        ("CUDA0", 12, "NVIDIA GeForce RTX 4090", None, "several devices"),
        ("CUDA0, CUDA1", -1, "NVIDIA GeForce RTX 4090", None, "several devices"),
    ],
)
def test_the_bandwidth_of_a_graphics_device_is_looked_up(  # noqa: PLR0917 - one case a row
    engine: EngineClient,
    alone: Subject,
    monkeypatch: pytest.MonkeyPatch,
    report: Report,
    device: str,
    layers: int,
    description: str,
    gigabytes: float | None,
    note: str,
) -> None:
    on_gpu = replace(alone.loading, target=replace(alone.loading.target, gpu_layers=layers))
    said = replace(alone.loaded, target=replace(alone.loaded.target, device=device))
    report = replace(report, devices=(Device("CUDA0", description, "gpu", 1, 1),))
    monkeypatch.setattr(gathering, "examine", lambda _: report)
    facts = gather(engine, Subject(said, on_gpu, SamplingSettings()), lambda _: None, LEAST)
    assert (facts.bandwidth.bytes_per_second / 1e9 if facts.bandwidth else None) == gigabytes
    assert note in "".join(facts.notes)
