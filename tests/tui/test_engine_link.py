import threading
from collections.abc import Generator

import pytest

from localspec.chat.events import AnswerEnd, AnswerRequest, Message, Role
from localspec.decoding.rounds import Finish
from localspec.errors import EngineDiedError, OutOfMemoryError
from localspec.tui.engine_link import EngineLink, Job
from tests.tui.scripted_engine import PAIR, ScriptedEngine, answer_text
from tests.tui.waiting import wait_until

REQUEST = AnswerRequest((Message(Role.USER, "Hi"),))


def over(job: Job) -> list:
    """All events of a job, once it is over."""
    events = []
    wait_until(lambda: events.extend(job.take()) or job.over)
    return events


def loaded_link(engine: ScriptedEngine) -> EngineLink:
    link = EngineLink(engine)
    over(link.load(PAIR))
    return link


def test_events_are_taken_in_order_and_none_is_lost():
    link = loaded_link(ScriptedEngine(["one two three four five six"]))
    events = over(link.answer(REQUEST))
    assert answer_text(events) == "one two three four five six"
    assert isinstance(events[-1], AnswerEnd)
    link.close()


def test_a_job_is_not_over_before_its_last_event_was_taken():
    link = loaded_link(ScriptedEngine())
    job = link.answer(REQUEST)
    wait_until(job._done.is_set)
    assert not job.over
    job.take()
    assert job.over
    link.close()


def test_a_cancelled_answer_still_ends_with_its_figures():
    engine = ScriptedEngine(["word " * 50], held=True)
    link = loaded_link(engine)
    job = link.answer(REQUEST)
    engine.step(3)
    wait_until(lambda: len(job._events) >= 4)
    job.cancel()
    events = over(job)
    assert events[-1].finish is Finish.CANCELLED
    assert events[-1].text == answer_text(events)
    link.close()


def test_a_job_that_waits_is_never_begun_once_cancelled():
    engine = ScriptedEngine(["first", "second"], held=True)
    link = loaded_link(engine)
    running, waiting = link.answer(REQUEST), link.answer(REQUEST)
    wait_until(lambda: engine.requests)
    waiting.cancel()
    engine.go_on()
    assert answer_text(over(running)) == "first"
    assert over(waiting) == []
    assert len(engine.requests) == 1
    link.close()


def test_cancelling_what_waits_leaves_alone_what_runs():
    engine = ScriptedEngine(["one two three"], held=True)
    link = loaded_link(engine)
    running, waiting = link.answer(REQUEST), link.answer(REQUEST)
    wait_until(lambda: engine.requests)
    waiting.cancel()
    assert not engine._cancelled.is_set()
    engine.go_on()
    assert over(running)[-1].finish is Finish.END
    link.close()


def test_a_cancel_that_comes_before_the_engine_knows_of_the_job_counts():
    stopped = threading.Event()
    begun = threading.Event()

    def work() -> Generator[int, None, None]:
        begun.wait(10)
        for number in range(1000):
            if stopped.is_set():
                return
            yield number

    job = Job(work, lambda: begun.is_set() and stopped.set())
    thread = threading.Thread(target=job.run)
    thread.start()
    wait_until(lambda: job._running)
    job.cancel()
    assert not stopped.is_set()
    begun.set()
    thread.join(10)
    assert len(over(job)) <= 2


def test_an_error_comes_beside_what_came_before_it():
    engine = ScriptedEngine(["one two three four five six"], dies_after=1)
    link = loaded_link(engine)
    job = link.answer(REQUEST)
    assert answer_text(over(job)) == "one two three four"
    assert isinstance(job.error, EngineDiedError)
    assert not link.alive
    link.close()


def test_a_dead_engine_is_started_again_by_the_next_load():
    engine = ScriptedEngine(dies_after=0)
    link = loaded_link(engine)
    over(link.answer(REQUEST))
    over(link.load(PAIR))
    assert link.alive
    assert engine.starts == 2
    link.close()


def test_a_load_that_fails_leaves_the_link_usable():
    engine = ScriptedEngine(load_errors=[OutOfMemoryError("It does not fit")])
    link = EngineLink(engine)
    job = link.load(PAIR)
    over(job)
    assert isinstance(job.error, OutOfMemoryError)
    again = link.load(PAIR)
    over(again)
    assert again.error is None
    link.close()


@pytest.mark.parametrize("held", [False, True])
def test_closing_ends_the_thread_whatever_it_does(held: bool):
    engine = ScriptedEngine(["word " * 1000], held=held)
    link = loaded_link(engine)
    link.answer(REQUEST)
    wait_until(lambda: engine.requests)
    link.close()
    assert not link._thread.is_alive()
    assert not engine.alive
