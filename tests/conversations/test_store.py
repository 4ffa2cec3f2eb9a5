"""What is kept comes back as it was, however it came."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localspec.chat.events import Role
from localspec.conversations.conversation import About, AnswerFacts, Attachment, Conversation
from localspec.conversations.store import ConversationStore
from localspec.errors import HistoryError
from tests.conversations.talks import FACTS, branching, keep, round_of, said


def reopened(store, conversation):
    return store.open(conversation.about.id)


def test_a_tree_comes_back_whole_with_the_branch_that_was_shown(store):
    conversation = branching()
    keep(store, conversation)
    again = reopened(store, conversation)
    assert again.about == conversation.about
    assert again.entries == conversation.entries
    assert again.path == conversation.path
    answers = conversation.siblings(conversation.head.id)
    assert again.siblings(conversation.head.id) == answers
    assert len(answers) == 2


def test_alternatives_keep_their_order_when_the_older_is_saved_again(store):
    conversation = branching()
    keep(store, conversation)
    first = conversation.siblings(conversation.head.id)[0]
    store.save_entry(conversation.about.id, conversation.change(first.id, text="longer", facts=FACTS))
    assert reopened(store, conversation).entries == conversation.entries


def test_saving_twice_is_saving_once(store):
    conversation = branching()
    keep(store, conversation)
    keep(store, conversation)
    assert reopened(store, conversation).entries == conversation.entries
    assert [found.messages for found in store.list(10)] == [4]


def test_an_answer_grows(store):
    conversation = said("question")
    answer = conversation.add(Role.ASSISTANT, "", parent=conversation.head.id, facts=AnswerFacts())
    keep(store, conversation)
    for text in ("Once", "Once upon", "Once upon a time"):
        store.save_entry(conversation.about.id, conversation.change(answer.id, text=text, facts=AnswerFacts()))
    assert reopened(store, conversation).head.text == "Once upon a time"
    assert reopened(store, conversation).head.facts.finish == "writing"


def test_text_that_could_hurt_comes_back_as_it_was(store):
    text = "a\0b \x1b[31m \r\n \u202e 'x'; DROP TABLE entry; -- \U0001f468\u200d\U0001f469 日本語 \ufffd"
    conversation = said(text)
    store.save_about(replace(conversation.about, title=text, system=text), conversation.head.id, 1.0)
    store.save_entry(conversation.about.id, conversation.head)
    again = reopened(store, conversation)
    assert again.head.text == text
    assert again.about.title == text
    assert again.about.system == text


def test_half_a_surrogate_pair_does_not_keep_the_rest_from_being_kept(store):
    conversation = said("before \ud83d after \U0001f600")
    keep(store, conversation)
    assert reopened(store, conversation).head.text == "before \ufffd after \U0001f600"


def test_rounds_come_back_in_order_run_by_run(store):
    conversation = branching()
    keep(store, conversation)
    answer = conversation.head.id
    rounds = [round_of(f"{number} ", "日本\0", "\ud83d", thinking=number < 4) for number in range(10)]
    store.save_rounds(answer, 0, rounds[:3])
    store.save_rounds(answer, 3, rounds[3:4])
    store.save_rounds(answer, 4, rounds[4:])
    assert store.rounds(answer) == tuple(rounds)
    assert store.count_rounds(answer) == 10
    assert store.rounds(conversation.path[0].id) == ()
    assert store.count_rounds("nothing") == 0


def test_a_run_that_is_saved_again_with_more_counts_once(store):
    conversation = branching()
    keep(store, conversation)
    answer = conversation.head.id
    rounds = [round_of(str(number)) for number in range(9)]
    store.save_rounds(answer, 0, rounds[:4])
    store.save_rounds(answer, 4, rounds[4:6])
    store.save_rounds(answer, 0, rounds[:5])
    store.save_rounds(answer, 4, rounds[4:])
    assert store.rounds(answer) == tuple(rounds)


def test_opening_reads_no_rounds(store):
    conversation = branching()
    keep(store, conversation)
    store.save_rounds(conversation.head.id, 0, [round_of("a")])
    store.list(1)
    statements = []
    store._reader._connection.set_trace_callback(statements.append)
    reopened(store, conversation)
    assert len(statements) == 2
    assert not any("rounds" in statement for statement in statements)


def test_the_list_begins_with_what_was_updated_last(store):
    for number in range(5):
        keep(store, said(f"question {number}", f"<think>no</think>answer\n\n{number}"), updated=float(number))
    assert [found.title for found in store.list(2)] == ["question 4", "question 3"]
    assert [found.title for found in store.list(2, 2)] == ["question 2", "question 1"]
    latest = store.latest()
    assert latest == store.list(1)[0]
    assert latest.snippet == "answer 4"
    assert latest.messages == 2
    assert latest.updated == 4.0
    assert store.open(latest.id).head.id == latest.entry_id


def test_there_is_no_latest_where_nothing_was_said(store):
    assert store.latest() is None
    store.save_about(said().about, None, 1.0)
    assert store.latest() is None
    assert store.search("", 5) == []


def test_a_conversation_that_shows_an_empty_branch_opens_so(store):
    branches = branching()
    conversation = Conversation(branches.about, branches.entries, head=None)
    keep(store, conversation)
    assert reopened(store, conversation).head is None
    assert store.latest().snippet == ""


def test_a_head_that_was_not_kept_any_more_gives_way_to_the_last_entry(store):
    conversation = branching()
    keep(store, conversation)
    store.save_about(conversation.about, "never kept", 1.0)
    assert reopened(store, conversation).head == conversation.entries[-1]


def test_another_title_changes_nothing_else(store):
    conversation = branching()
    keep(store, conversation)
    store.rename(conversation.about.id, "Caches")
    assert reopened(store, conversation).about == replace(conversation.about, title="Caches")


def test_what_is_deleted_is_gone_with_all_that_belonged_to_it(store):
    conversation, other = branching(), said("What is an LRU cache?")
    keep(store, conversation)
    keep(store, other)
    store.save_rounds(conversation.head.id, 0, [round_of("a")])
    store.delete(conversation.about.id)
    store.delete(conversation.about.id)
    assert [found.id for found in store.list(9)] == [other.about.id]
    assert [found.id for found in store.search("LRU", 9)] == [other.about.id]
    assert store.rounds(conversation.head.id) == ()
    for table in ("entry", "words"):
        with store._reader.reading() as connection:
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)
    with pytest.raises(HistoryError, match="not there any more"):
        reopened(store, conversation)


def test_a_long_conversation_can_be_deleted(store):
    conversation = said(*["word"] * 1500)
    keep(store, conversation)
    store.delete(conversation.about.id)
    assert store.latest() is None


def test_what_belongs_to_a_deleted_conversation_is_refused_and_does_not_bring_it_back(store):
    conversation = branching()
    keep(store, conversation)
    store.delete(conversation.about.id)
    answer = conversation.add(Role.ASSISTANT, "more", parent=conversation.head.id, facts=FACTS)

    def go_on():
        with store.together():
            store.save_about(conversation.about, answer.id, 1.0)
            store.save_entry(conversation.about.id, answer)

    with pytest.raises(HistoryError, match="deleted meanwhile"):
        go_on()
    assert store.latest() is None
    with pytest.raises(HistoryError, match="deleted meanwhile"):
        store.save_rounds(answer.id, 0, [round_of("a")])


def test_what_is_saved_together_is_kept_together_or_not_at_all(store):
    conversation = branching()

    def fail_at_the_end():
        with store.together():
            keep(store, conversation)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail_at_the_end()
    assert store.latest() is None
    keep(store, conversation)
    assert store.latest() is not None


def test_facts_of_another_version_of_the_program_are_read_as_far_as_they_are_known(store, history):
    conversation = branching()
    keep(store, conversation)
    with store._writer.writing() as connection:
        facts = '{"finish":"end","statistics":{"rounds":2,"of_later":1},"of_later":{"a":1}}'
        connection.execute("UPDATE entry SET facts = ? WHERE id = ?", (facts, conversation.head.id))
    facts = ConversationStore(history).open(conversation.about.id).head.facts
    assert facts.finish == "end"
    assert facts.statistics.rounds == 2


@pytest.mark.parametrize("column", ["facts", "attachments", "role"])
def test_senseless_contents_are_told_and_left_alone(store, column):
    conversation = branching()
    keep(store, conversation)
    with store._writer.writing() as connection:
        connection.execute(f"UPDATE entry SET {column} = '{{'")
    with pytest.raises(HistoryError, match="damaged"):
        reopened(store, conversation)


def test_senseless_rounds_are_told(store):
    conversation = branching()
    keep(store, conversation)
    store.save_rounds(conversation.head.id, 0, [round_of("a")])
    with store._writer.writing() as connection:
        connection.execute("UPDATE rounds SET data = x'00ff'")
    with pytest.raises(HistoryError, match="damaged"):
        store.rounds(conversation.head.id)


@pytest.mark.parametrize("damage", ["{needle", "5", "[[1, 2]]"])
@pytest.mark.parametrize("words", ["", "needle", "named"], ids=["the list", "a message", "a title"])
def test_senseless_contents_are_told_in_lists_and_searches_too(store, damage, words):
    conversation = Conversation(About(title="named"))
    conversation.add(Role.USER, "", parent=None, attachments=(Attachment("a.txt", "needle"),))
    keep(store, conversation)
    with store._writer.writing() as connection:
        connection.execute("UPDATE entry SET attachments = ?", (damage,))
    with pytest.raises(HistoryError, match="damaged"):
        store.search(words, 9)


@pytest.mark.parametrize("damage", ["{", "5", "[1]"])
def test_senseless_settings_are_told(store, damage):
    conversation = branching()
    keep(store, conversation)
    with store._writer.writing() as connection:
        connection.execute("UPDATE conversation SET settings = ?", (damage,))
    with pytest.raises(HistoryError, match="damaged"):
        reopened(store, conversation)
