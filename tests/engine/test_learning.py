"""What was learned about the guesses of a pair outlives the process, and only a sound file is believed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localspec import locations
from localspec.chat.events import AnswerEnd, AnswerRequest, Message, Role, SpeculationSettings
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.draft_length import FixedLength
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import DraftPass, Origin, Prediction, Round, never
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.client import EngineClient
from localspec.engine.learning import PairLearning
from localspec.engine.messages import LoadPair

GREEDY = SamplingSettings(temperature=0)
WARM = SamplingSettings(temperature=0.8)
COSTS = PassCosts({1: 0.1, 8: 0.2}, {1: 0.01})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALSPEC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def models(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "target.gguf", tmp_path / "draft.gguf"]
    for number, file in enumerate(files):
        file.write_bytes(bytes([number]) * 5000)
    return files


def learning(models: list[Path]) -> PairLearning:
    return PairLearning(models, lambda _cancelled: COSTS)


def rule(pair: PairLearning, sampling: SamplingSettings = GREEDY) -> AdaptiveLength:
    found = pair.rule(sampling, never)
    assert isinstance(found, AdaptiveLength)
    return found


def refused(rounds: int) -> Iterator[Round]:
    """Rounds whose only guess, a confident one, is refused."""
    for _ in range(rounds):
        passes = (DraftPass(1, 0.01),)
        yield Round((1,), (), (2,), (Origin.CORRECTION,), ("model",), (Prediction(9, 0.99),), passes, 0.1, 0.12)


def acceptance(of: AdaptiveLength) -> float:
    return of.knowledge.calibrations["model"].acceptance(9)


def test_what_was_learned_is_known_to_the_next_process(models: list[Path]) -> None:
    first = learning(models)
    before = acceptance(rule(first))
    learned = rule(first)
    for finished in refused(30):
        learned.observe(finished)
    first.keep()

    again = rule(learning(models))
    assert again.knowledge.judged == 30
    assert acceptance(again) < 0.5 < before


def test_a_rule_learns_for_the_answers_after_it_but_only_at_its_kind_of_temperature(models: list[Path]) -> None:
    pair = learning(models)
    greedy = rule(pair)
    for finished in refused(10):
        greedy.observe(finished)

    assert rule(pair).knowledge.judged == 10
    assert rule(pair, WARM).knowledge.judged == 0


def test_what_sources_have_shown_is_known_to_the_next_process_and_at_its_kind_of_temperature_alone(
    models: list[Path],
) -> None:
    first = learning(models)
    speeds = first.speeds(GREEDY, begins=True)
    for _ in range(100):
        speeds.take("tree", 1.0, 320, 200.0)
    first.keep()
    second = learning(models)
    assert second.speeds(GREEDY, begins=True).expected("tree", 1.0) > 1.1
    assert second.speeds(WARM, begins=True).expected("tree", 1.0) == pytest.approx(1.0)


def test_a_file_of_before_sources_were_learned_of_keeps_what_it_has(models: list[Path], cache: Path) -> None:
    first = learning(models)
    of = rule(first)
    for finished in refused(30):
        of.observe(finished)
    first.keep()
    file = next((cache / "learned").iterdir()) if (cache / "learned").is_dir() else next(cache.rglob("*.json"))
    values = json.loads(file.read_bytes())
    del values["sources"]
    file.write_text(json.dumps(values))
    second = learning(models)
    assert acceptance(rule(second)) < 0.3
    assert second.speeds(GREEDY, begins=True).expected("tree", 1.0) == pytest.approx(1.0)


def test_another_file_is_another_pair(models: list[Path]) -> None:
    pair = learning(models)
    for finished in refused(10):
        rule(pair).observe(finished)
    pair.keep()
    models[1].write_bytes(b"requantised" * 500)

    assert rule(learning(models)).knowledge.judged == 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"[]",
        b'{"schema": 1}',
        b'{"schema": 0, "greedy": {}, "sampled": {}}',
        b"[" * 100_000,
        b'{"schema": 1, "greedy": {"calibrations": 3, "speed": "x", "moves": [[1]]}, "sampled": null}',
    ],
)
def test_a_damaged_file_is_as_good_as_none(models: list[Path], content: bytes) -> None:
    learning(models).keep()
    (file,) = locations.learned_folder().glob("*.json")
    file.write_bytes(content)

    pair = learning(models)
    assert rule(pair).knowledge.judged == 0
    pair.keep()
    assert json.loads(file.read_bytes())["schema"] == 1


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_memory(models: list[Path], cache: Path) -> None:
    cache.mkdir()
    (cache / "learned").write_text("a file where the folder should be")

    learning(models).keep()


def test_models_that_are_gone_are_learned_about_until_the_end_of_the_process(models: list[Path]) -> None:
    models[0].unlink()
    pair = learning(models)
    for finished in refused(3):
        rule(pair).observe(finished)
    pair.keep()

    assert rule(pair).knowledge.judged == 3
    assert not locations.learned_folder().exists()


def test_where_costs_make_no_sense_nothing_is_guessed(models: list[Path]) -> None:
    assert PairLearning(models, lambda _cancelled: None).rule(GREEDY, never) == FixedLength(0)


def test_the_engine_keeps_what_an_answer_showed(pair: LoadPair) -> None:
    request = AnswerRequest(
        (Message(Role.USER, "Count from one to ten."),),
        GREEDY,
        SpeculationSettings(drafter="model", draft_length="auto"),
        max_tokens=24,
    )
    with EngineClient() as client:
        list(client.load(pair))
        *_, end = client.answer(request)

    assert isinstance(end, AnswerEnd)
    (file,) = locations.learned_folder().glob("*.json")
    # The draft is the target itself here, and costs what it costs: it may well be that nothing was guessed.
    assert json.loads(file.read_bytes())["greedy"]["judged"] == end.statistics.judged


def test_a_pair_that_does_not_pay_is_remembered_whatever_its_passes_cost(models: list[Path]) -> None:
    """The speed of no guesses times the seconds of a pass is 1, but for what floats round off."""
    for i in range(1000):
        costs = PassCosts({1: 0.01 + 0.000_1 * i, 8: 1.0}, {1: 0.01})
        pair = PairLearning(models, lambda _cancelled, costs=costs: costs)
        losing = rule(pair)
        judged = losing.knowledge.judged
        for finished in refused(1):
            losing.observe(finished)
        assert losing.knowledge.pace.speed == 1
        pair.keep()
        assert rule(learning(models)).knowledge.judged == judged + 1


def test_a_speed_that_was_rounded_off_is_believed(models: list[Path]) -> None:
    pair = learning(models)
    for finished in refused(10):
        rule(pair).observe(finished)
    pair.keep()
    change(lambda values: values["greedy"].update(speed=1 - 2**-53))

    assert rule(learning(models)).knowledge.judged == 10
    assert rule(learning(models)).knowledge.pace.speed == 1


def test_what_is_damaged_takes_nothing_else_with_it(models: list[Path]) -> None:
    pair = learning(models)
    for sampling in (GREEDY, WARM):
        for finished in refused(10):
            rule(pair, sampling).observe(finished)
    for _ in range(100):
        pair.speeds(GREEDY, begins=False).take("tree", 1.0, 320, 200.0)
    pair.keep()
    change(lambda values: values.update(greedy="damaged"))

    again = learning(models)
    assert rule(again).knowledge.judged == 0
    assert rule(again, WARM).knowledge.judged == 10
    assert again.speeds(GREEDY, begins=True).expected("tree", 1.0) > 1.1


def change(how: Callable[[dict[str, Any]], None]) -> None:
    """Change the file in which what was learned lies."""
    (file,) = locations.learned_folder().glob("*.json")
    values = json.loads(file.read_bytes())
    how(values)
    file.write_text(json.dumps(values))
