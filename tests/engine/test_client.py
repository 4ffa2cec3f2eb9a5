"""A real child process with real models: loading, answering, cancelling, failing and going on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from localspec.chat.events import AnswerEnd, AnswerEvent, AnswerRequest, AnswerRound, Message, PromptProgress, Role
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.rounds import Finish
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.client import EngineClient
from localspec.engine.messages import Loaded, LoadPair, LoadProgress, MeasurePasses, ModelSettings, PassTimes
from localspec.errors import (
    ContextFullError,
    EngineDiedError,
    LocalspecError,
    ModelFileError,
    PairMismatchError,
    UsageError,
)

GREEDY = SamplingSettings(temperature=0)


def asking(text: str = "Count to one thousand.", **settings: object) -> AnswerRequest:
    return replace(AnswerRequest((Message(Role.USER, text),), sampling=GREEDY), **settings)


def text_of(events: list[AnswerEvent]) -> str:
    return "".join(token.text for event in events if isinstance(event, AnswerRound) for token in event.tokens)


def answered(events: Iterator[AnswerEvent]) -> AnswerEnd:
    seen = list(events)
    assert isinstance(seen[-1], AnswerEnd)
    assert text_of(seen) == seen[-1].text
    return seen[-1]


def test_a_pair_loads_with_progress_and_answers_and_goes_on(client: EngineClient, pair: LoadPair) -> None:
    steps = list(client.load(pair))
    loaded = steps[-1]
    assert isinstance(loaded, Loaded)
    for what in ("target", "draft"):
        fractions = [step.fraction for step in steps if isinstance(step, LoadProgress) and step.what == what]
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1
    assert (loaded.context_size, loaded.threads, loaded.notes) == (1024, 1, ())
    assert loaded.target == loaded.draft
    assert loaded.target.vocabulary_size == 49152
    request = asking(max_tokens=12)
    first = answered(client.answer(request))
    assert first.finish is Finish.LENGTH
    assert first.statistics.accepted == first.statistics.drafted > 0
    longer = (*request.messages, Message(Role.ASSISTANT, first.text), Message(Role.USER, "Go on."))
    second = answered(client.answer(replace(request, messages=longer)))
    assert second.reused_tokens == first.prompt_tokens + 11


def test_a_cancel_from_another_thread_ends_the_answer_within_a_few_passes(ready: EngineClient) -> None:
    events = ready.answer(asking(max_tokens=900))
    seen = [next(events) for _ in range(4)]
    thread = threading.Thread(target=ready.cancel)
    thread.start()
    rest = list(events)
    thread.join()
    end = rest[-1]
    assert isinstance(end, AnswerEnd)
    assert end.finish is Finish.CANCELLED
    assert end.text == text_of([*seen, *rest])
    assert len(rest) < 20
    assert answered(ready.answer(asking(max_tokens=3))).finish is Finish.LENGTH


def test_a_cancel_from_a_signal_handler_interrupts_the_reading_of_a_prompt(ready: EngineClient) -> None:
    signal.signal(signal.SIGALRM, lambda *_: ready.cancel())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        end = answered(ready.answer(asking("word " * 900)))
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert (end.finish, end.text) == (Finish.CANCELLED, "")


def test_an_abandoned_answer_is_cancelled_and_the_next_one_comes_clean(ready: EngineClient) -> None:
    events = ready.answer(asking(max_tokens=900))
    for _ in range(3):
        next(events)
    events.close()
    end = answered(ready.answer(asking("Say hello.", max_tokens=4)))
    assert end.statistics.emitted == 4


def test_a_wait_that_an_exception_interrupts_cancels_the_answer(ready: EngineClient) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            list(ready.answer(asking(max_tokens=900)))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert answered(ready.answer(asking(max_tokens=2))).finish is Finish.LENGTH


def test_ctrl_c_in_the_terminal_does_not_reach_the_engine(ready: EngineClient) -> None:
    events = ready.answer(asking(max_tokens=8))
    next(events)
    assert ready.pid
    os.kill(ready.pid, signal.SIGINT)
    assert answered(events).finish is Finish.LENGTH


def test_a_crash_in_the_middle_keeps_what_was_said_and_tells_why(ready: EngineClient, own_folders: Path) -> None:
    events = ready.answer(asking(max_tokens=900))
    seen = [next(events) for _ in range(4)]
    assert ready.pid
    os.kill(ready.pid, signal.SIGSEGV)
    with pytest.raises(EngineDiedError) as caught:
        seen.extend(events)
    assert text_of(seen)
    assert "SIGSEGV" in caught.value.title
    assert "localspec doctor" in caught.value.hint
    assert str(own_folders) in caught.value.hint
    assert not ready.alive
    with pytest.raises(EngineDiedError, match="SIGSEGV"):
        list(ready.answer(asking()))


def test_an_engine_killed_while_idle_is_told_at_the_next_answer_and_can_be_started_again(
    ready: EngineClient, pair: LoadPair
) -> None:
    assert ready.pid
    os.kill(ready.pid, signal.SIGKILL)
    with pytest.raises(EngineDiedError, match="lack of memory"):
        list(ready.answer(asking()))
    ready.restart()
    assert ready.alive
    with pytest.raises(LocalspecError, match="No model is loaded"):
        list(ready.answer(asking()))
    list(ready.load(pair))
    assert answered(ready.answer(asking(max_tokens=2))).statistics.emitted == 2


def test_a_second_load_takes_the_place_of_the_first(client: EngineClient, pair: LoadPair) -> None:
    sizes = []
    for _ in range(3):
        list(client.load(pair))
        sizes.append(psutil.Process(client.pid).memory_info().rss)
    # Each model takes over 90 MB.
    assert sizes[2] < sizes[0] + 60_000_000
    alone = replace(pair, draft=None, context=None)
    loaded = list(client.load(alone))[-1]
    assert isinstance(loaded, Loaded)
    assert (loaded.draft, loaded.context_size) == (None, 4096)
    assert answered(client.answer(asking(max_tokens=3))).statistics.drafted == 0


def test_files_that_cannot_be_loaded_are_told_in_words_and_the_engine_lives_on(
    client: EngineClient, pair: LoadPair, smollm2: Path, tmp_path: Path
) -> None:
    wrong: list[tuple[str, bytes | None, type[LocalspecError]]] = [
        ("missing.gguf", None, UsageError),
        ("text.gguf", b"This is not a model.", UsageError),
        ("empty.gguf", b"", UsageError),
        ("cut.gguf", smollm2.read_bytes()[:5_000_000], ModelFileError),
    ]
    for name, content, kind in wrong:
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        for loading in (replace(pair, target=ModelSettings(path)), replace(pair, draft=ModelSettings(path))):
            with pytest.raises(LocalspecError) as caught:
                list(client.load(loading))
            assert isinstance(caught.value, kind)
            assert name in str(caught.value)
    assert client.alive
    with pytest.raises(LocalspecError, match="No model is loaded"):
        list(client.answer(asking()))


def test_a_draft_with_another_tokenizer_is_refused_by_its_first_difference(
    client: EngineClient, pair: LoadPair, other_tokenizer: Path
) -> None:
    with pytest.raises(PairMismatchError, match=r"'Ġelephant' for the target and 'ĠelephanX' for the draft"):
        list(client.load(replace(pair, draft=ModelSettings(other_tokenizer))))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("kv_type", "q99"), ("flash_attention", "perhaps"), ("context", 0), ("threads", 0)],
)
def test_impossible_load_settings_are_told_in_words(
    client: EngineClient, pair: LoadPair, setting: str, value: object
) -> None:
    with pytest.raises(UsageError):
        list(client.load(replace(pair, **{setting: value})))


def test_a_device_that_is_not_there_is_told_in_words(client: EngineClient, pair: LoadPair) -> None:
    target = replace(pair.target, device="CUDA99")
    with pytest.raises(UsageError, match="CUDA99"):
        list(client.load(replace(pair, target=target)))


def test_a_context_beyond_the_training_is_noted(client: EngineClient, pair: LoadPair) -> None:
    loaded = list(client.load(replace(pair, draft=None, context=8300)))[-1]
    assert isinstance(loaded, Loaded)
    assert "8,192" in loaded.notes[0]


def test_a_bias_for_a_token_that_is_not_there_is_told_in_words(ready: EngineClient) -> None:
    sampling = replace(GREEDY, logit_bias=((5, -1.0), (49152, 1.0)))
    with pytest.raises(UsageError, match="no token 49152"):
        list(ready.answer(asking("Hi", sampling=sampling)))


def test_impossible_requests_are_told_in_words_and_the_pair_stays(ready: EngineClient) -> None:
    with pytest.raises(ContextFullError, match="longer than the context"):
        list(ready.answer(asking("word " * 3000)))
    with pytest.raises(UsageError):
        list(ready.answer(asking(stop=("",))))
    with pytest.raises(UsageError):
        list(ready.answer(AnswerRequest(())))
    assert answered(ready.answer(asking(max_tokens=2))).statistics.emitted == 2


def test_a_cancelled_load_says_so_and_leaves_no_pair(client: EngineClient, pair: LoadPair) -> None:
    loading = client.load(pair)
    next(loading)
    client.cancel()
    with pytest.raises(LocalspecError, match="stopped") as caught:
        list(loading)
    assert caught.value.exit_code == 130
    list(client.load(pair))


def test_the_prompt_is_reported_while_it_is_read(ready: EngineClient) -> None:
    events = ready.answer(asking("word " * 60, max_tokens=1))
    progress = [event for event in events if isinstance(event, PromptProgress)]
    assert progress[0].evaluated == 0
    assert progress[-1].evaluated == progress[-1].total > 60


def test_an_engine_that_was_never_started_says_so() -> None:
    with pytest.raises(EngineDiedError, match="not running"):
        list(EngineClient().answer(asking()))
    EngineClient().cancel()
    EngineClient().close()


def test_passes_are_timed_on_both_models_and_the_answer_after_is_the_same(client: EngineClient, pair: LoadPair) -> None:
    list(client.load(pair))
    request = asking(max_tokens=12)
    first = answered(client.answer(request))
    longer = replace(
        request, messages=(*request.messages, Message(Role.ASSISTANT, first.text), Message(Role.USER, "Go on."))
    )
    unmeasured = answered(client.answer(longer))
    assert answered(client.answer(request)).text == first.text
    (times,) = client.measure(MeasurePasses(widths=(1, 4), repeats=2))
    for measured in (times.target, times.draft):
        assert [width for width, _ in measured] == [1, 4]
        assert all(seconds > 0 for _, seconds in measured)
    after = answered(client.answer(longer))
    assert (after.text, after.reused_tokens) == (unmeasured.text, unmeasured.reused_tokens)


def test_a_target_alone_is_timed_alone(client: EngineClient, pair: LoadPair) -> None:
    list(client.load(replace(pair, draft=None)))
    (times,) = client.measure(MeasurePasses(repeats=1))
    assert len(times.target) == 1
    assert times.draft == ()


def test_a_measurement_that_is_cancelled_tells_what_it_had(ready: EngineClient) -> None:
    thread = threading.Timer(0.3, ready.cancel)
    thread.start()
    (times,) = ready.measure(MeasurePasses(widths=(1, 2), repeats=100_000))
    thread.join()
    assert times == PassTimes((), ())
    assert answered(ready.answer(asking(max_tokens=2))).finish is Finish.LENGTH


@pytest.mark.parametrize(
    "request_", [MeasurePasses((0,)), MeasurePasses((LONGEST_DRAFT + 2,)), MeasurePasses((1,), repeats=0)]
)
def test_passes_that_no_model_can_make_are_refused(ready: EngineClient, request_: MeasurePasses) -> None:
    with pytest.raises(UsageError, match="cannot be timed"):
        list(ready.measure(request_))


def test_nothing_can_be_timed_before_a_pair_is_loaded() -> None:
    with EngineClient() as empty, pytest.raises(LocalspecError, match="No model is loaded"):
        list(empty.measure(MeasurePasses()))
