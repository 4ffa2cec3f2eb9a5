from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.chat.events import AnswerRequest, AnswerRound, Message, Role
from localspec.conversations.conversation import About, Attachment, Conversation
from localspec.conversations.saver import Saver
from localspec.conversations.store import ConversationStore
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import Loaded
from localspec.errors import EngineDiedError
from localspec.settings import Settings
from localspec.tui.talk import Talk
from tests.tui.scripted_engine import PAIR, ScriptedEngine, answer_text

LOADED = next(event for event in ScriptedEngine().load(PAIR) if isinstance(event, Loaded))


@pytest.fixture
def store(tmp_path: Path) -> ConversationStore:
    return ConversationStore(tmp_path / "history.sqlite3")


@pytest.fixture
def saver(store: ConversationStore) -> Iterator[Saver]:
    saver = Saver(store)
    yield saver
    saver.close(10)


@pytest.fixture
def talk(saver: Saver) -> Talk:
    return Talk(Conversation(About(system="Be brief.")), saver)


def events_of(text: str, request: AnswerRequest) -> list:
    engine = ScriptedEngine([text])
    engine.start()
    list(engine.load(PAIR))
    return list(engine.answer(request))


def answered(talk: Talk, text: str, question: str = "And?") -> str:
    """Ask, answer, settle; the id of the answer."""
    entry = talk.begin_answer(talk.ask(question), PAIR)
    events = events_of(text, talk.request(Settings(), LOADED))
    talk.take([event for event in events if isinstance(event, AnswerRound)])
    talk.settle(end=events[-1])
    return entry.id


def test_an_answer_is_the_text_of_its_rounds_and_counts_as_the_engine_counts(talk: Talk):
    entry = talk.begin_answer(talk.ask("Why?"), PAIR)
    events = events_of("Because of this and that and more.", talk.request(Settings(), LOADED))
    for event in events[:-1]:
        if isinstance(event, AnswerRound):
            talk.take([event])
    settled = talk.settle(end=events[-1], off_tokens_per_second=20.0)
    assert settled.id == entry.id
    assert settled.text == answer_text(events) == "Because of this and that and more."
    assert settled.facts.statistics == events[-1].statistics
    assert settled.facts.finish == "end"
    assert settled.facts.off_tokens_per_second == 20.0
    assert (settled.facts.target, settled.facts.draft) == ("big-q8_0.gguf", "small-q4_0.gguf")


def test_the_model_reads_the_system_prompt_and_the_branch_that_is_shown(talk: Talk):
    answered(talk, "First.", "One?")
    answered(talk, "Second.", "Two?")
    said = [(message.role, message.text) for message in talk.request(Settings(), LOADED).messages]
    assert said == [
        (Role.SYSTEM, "Be brief."),
        (Role.USER, "One?"),
        (Role.ASSISTANT, "First."),
        (Role.USER, "Two?"),
        (Role.ASSISTANT, "Second."),
    ]


def test_a_regenerated_answer_is_a_branch_and_the_first_one_stays(talk: Talk):
    first = answered(talk, "First.", "Why?")
    entry = talk.begin_answer(talk.question_of(first), PAIR)
    assert [message.text for message in talk.request(Settings(), LOADED).messages] == ["Be brief.", "Why?"]
    talk.settle(end=None)
    assert [sibling.id for sibling in talk.conversation.siblings(first)] == [first, entry.id]
    talk.show(first)
    assert talk.conversation.head.text == "First."


def test_the_same_seed_does_not_write_the_same_answer_again(talk: Talk):
    settings = Settings(seed=7)
    first = answered(talk, "First.", "Why?")
    assert talk.request(settings, LOADED, talk.question_of(first)).sampling.seed == 7
    talk.begin_answer(talk.question_of(first), PAIR)
    assert talk.request(settings, LOADED).sampling.seed == 8
    talk.settle(end=None)


def test_an_edited_question_begins_a_branch_with_its_attachments(talk: Talk):
    answered(talk, "First.", "One?")
    second = talk.question_of(answered(talk, "Second.", "Two?"))
    edited = talk.edit(second.id, "Three?", (Attachment("a.txt", "text"),))
    assert edited.parent == second.parent
    last = talk.request(Settings(), LOADED).messages[-1]
    assert last == Message(Role.USER, "a.txt:\n```\ntext\n```\n\nThree?")


def test_a_continued_answer_goes_on_with_its_text_and_its_figures(talk: Talk):
    entry = talk.begin_answer(talk.ask("Why?"), PAIR)
    events = events_of("one two three four five six seven", talk.request(Settings(), LOADED))
    rounds = [event for event in events if isinstance(event, AnswerRound)]
    talk.take(rounds[:2])
    stopped = talk.settle()
    assert stopped.facts.finish == "cancelled"
    talk.continue_answer(stopped, rounds[:2])
    assert talk.request(Settings(), LOADED).messages[-1] == Message(Role.ASSISTANT, stopped.text)
    talk.take(rounds[2:])
    settled = talk.settle(end=events[-1])
    assert settled.id == entry.id
    assert settled.text == "one two three four five six seven"
    assert settled.facts.statistics.emitted == 7


def test_an_answer_that_failed_keeps_what_came_and_says_why(talk: Talk):
    talk.begin_answer(talk.ask("Why?"), PAIR)
    events = events_of("one two three four five", talk.request(Settings(), LOADED))
    talk.take([event for event in events if isinstance(event, AnswerRound)][:1])
    settled = talk.settle(error=EngineDiedError("The engine died", "Signal SEGV.", "F10."))
    assert settled.text == "one two three four"
    assert settled.facts.finish == "failed"
    assert "Signal SEGV" in settled.facts.error


def test_a_question_without_an_answer_is_not_read_before_the_next_one(talk: Talk):
    talk.ask("Lost?")
    talk.ask("Asked again?")
    assert [message.text for message in talk.request(Settings(), LOADED).messages] == ["Be brief.", "Asked again?"]


def test_all_of_it_is_on_the_disk_after_a_flush(talk: Talk, store: ConversationStore, saver: Saver):
    answer = answered(talk, "First and last.", "Why?")
    saver.flush(10)
    kept = store.open(talk.about.id)
    assert [entry.text for entry in kept.path] == ["Why?", "First and last."]
    assert kept.about == talk.about
    assert answer_text(store.rounds(answer)) == "First and last."
    assert kept.head.facts == talk.conversation.head.facts


def test_a_conversation_without_a_word_is_not_kept(talk: Talk, store: ConversationStore, saver: Saver):
    talk.tell_about(replace(talk.about, title="Nothing"))
    saver.flush(10)
    assert store.list(10, 0) == []


def test_thinking_is_timed_by_the_rounds_that_thought(talk: Talk):
    talk.begin_answer(talk.ask("Why?"), PAIR)
    events = events_of("<think>one two three</think> four five", talk.request(Settings(), LOADED))
    rounds = [event for event in events if isinstance(event, AnswerRound)]
    talk.take(rounds)
    settled = talk.settle(end=events[-1])
    thought = sum(finished.seconds for finished in rounds if any(token.thinking for token in finished.tokens))
    assert settled.facts.thinking_seconds == pytest.approx(thought)
    assert 0 < thought <= settled.facts.statistics.seconds


def test_settings_reach_the_request(talk: Talk):
    talk.ask("Why?")
    settings = Settings(temperature=0.0, speculation=False, max_tokens=5, stop=("END",), drop_oldest=True)
    request = talk.request(settings, LOADED)
    assert request.sampling == replace(SamplingSettings(), temperature=0.0)
    assert not request.speculation.enabled
    assert (request.max_tokens, request.stop, request.drop_oldest) == (5, ("END",), True)
