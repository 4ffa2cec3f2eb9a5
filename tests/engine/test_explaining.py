"""What the engine measures and tells for `localspec explain`: batches of texts, and answers with every guess judged."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.chat.events import AnswerEnd, AnswerRequest, AnswerRound, Message, Role, SpeculationSettings
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.rounds import Origin
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.client import EngineClient
from localspec.engine.messages import BatchTimes, LoadPair, MeasureBatch, ModelSettings, TraceAnswer
from localspec.engine.traces import AnswerTrace
from localspec.errors import LocalspecError, UsageError

ASKED = AnswerRequest(
    (Message(Role.USER, "Write a short story about a fox."),),
    sampling=SamplingSettings(temperature=0.9, seed=5),
    speculation=SpeculationSettings(draft_length=4, acceptance="rejection"),
    max_tokens=60,
)


@pytest.fixture(scope="module")
def unlike(smollm2_path: Path, smollm2_draft_path: Path) -> Iterator[EngineClient]:
    """An engine whose draft is wrong now and then."""
    with EngineClient() as engine:
        pair = LoadPair(ModelSettings(smollm2_path), ModelSettings(smollm2_draft_path), context=512, threads=1)
        list(engine.load(pair))
        yield engine


@pytest.fixture(scope="module")
def traced(unlike: EngineClient) -> AnswerTrace:
    (found,) = unlike.trace(TraceAnswer(ASKED))
    return found


def test_passes_over_several_texts_are_timed_for_both_models(unlike: EngineClient) -> None:
    (times,) = unlike.measure_batch(MeasureBatch((1, 3), (1, 4), context=16, repeats=1))
    assert [(each.sequences, each.width) for each in times.target] == [(1, 1), (1, 4), (3, 1), (3, 4)]
    assert [(each.sequences, each.width) for each in times.draft] == [(1, 1), (3, 1)]
    assert all(each.seconds > 0 for each in times.target + times.draft)


def test_a_target_alone_is_timed_alone(client: EngineClient, pair: LoadPair) -> None:
    list(client.load(replace(pair, draft=None)))
    (times,) = client.measure_batch(MeasureBatch((2,), (1,), context=8, repeats=1))
    assert (len(times.target), times.draft) == (1, ())


def test_a_cancel_ends_the_timing_of_batches(unlike: EngineClient) -> None:
    thread = threading.Timer(0.3, unlike.cancel)
    thread.start()
    (times,) = unlike.measure_batch(MeasureBatch((1,), (1,), context=8, repeats=100_000))
    thread.join()
    assert times == BatchTimes((), ())


@pytest.mark.parametrize(
    "request_",
    [
        MeasureBatch(()),
        MeasureBatch((0,)),
        MeasureBatch((1000,)),
        MeasureBatch(widths=(0,)),
        MeasureBatch(widths=(LONGEST_DRAFT + 2,)),
        MeasureBatch(context=0),
        MeasureBatch(repeats=0),
    ],
)
def test_batches_that_no_model_can_make_are_refused(unlike: EngineClient, request_: MeasureBatch) -> None:
    with pytest.raises(UsageError, match="cannot be timed"):
        list(unlike.measure_batch(request_))


def test_nothing_is_traced_or_timed_before_a_pair_is_loaded() -> None:
    with EngineClient() as empty:
        with pytest.raises(LocalspecError, match="No model is loaded"):
            list(empty.measure_batch(MeasureBatch()))
        with pytest.raises(LocalspecError, match="No model is loaded"):
            list(empty.trace(TraceAnswer(ASKED)))


def test_a_traced_answer_is_the_answer(unlike: EngineClient, traced: AnswerTrace) -> None:
    events = list(unlike.answer(ASKED))
    end = events[-1]
    assert isinstance(end, AnswerEnd)
    assert (traced.end.text, traced.end.statistics.emitted) == (end.text, end.statistics.emitted)
    origins = [tuple(token.origin for token in event.tokens) for event in events if isinstance(event, AnswerRound)]
    assert [each.origins for each in traced.rounds] == origins


def test_every_round_tells_what_was_guessed_kept_and_written_instead(traced: AnswerTrace) -> None:
    kinds = {each.origins[-1] for each in traced.rounds}
    assert {Origin.CORRECTION, Origin.BONUS} <= kinds
    for each in traced.rounds:
        kept = [guess for guess in each.guesses if guess.kept]
        assert each.origins.count(Origin.DRAFT) == len(kept)
        assert tuple(guess.guess.text for guess in each.guesses) == each.drafted[: len(each.guesses)]
        for guess in each.guesses:
            assert guess.kept == (guess.u * guess.guess.probability < guess.p)
            assert 0 < guess.chance <= 1 + 1e-6
            assert guess.target == tuple(sorted(guess.target, key=lambda chance: -chance.probability))
        assert traced.end.text.startswith(each.before)
        assert each.own.probability > 0


def test_a_trace_of_a_sure_target_is_the_greedy_answer(unlike: EngineClient) -> None:
    greedy = replace(ASKED, sampling=SamplingSettings(temperature=0), max_tokens=20)
    greedy = replace(greedy, speculation=replace(greedy.speculation, acceptance="auto"))
    (found,) = unlike.trace(TraceAnswer(greedy))
    end = list(unlike.answer(greedy))[-1]
    assert isinstance(end, AnswerEnd)
    assert found.end.text == end.text
    assert {guess.p for each in found.rounds for guess in each.guesses} <= {0.0, 1.0}
