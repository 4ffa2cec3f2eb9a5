"""Any text is found as it is, with an index of words and without one."""

from __future__ import annotations

import pytest

from localspec.chat.events import Role
from localspec.conversations import history_file
from localspec.conversations.conversation import AnswerFacts, Attachment, Conversation
from localspec.conversations.store import ConversationStore
from tests.conversations.talks import FACTS, keep, said


@pytest.fixture(params=["with an index", "without an index"])
def store(request, store, monkeypatch):
    if request.param == "without an index":
        monkeypatch.setattr(history_file, "_WORDS", "CREATE VIRTUAL TABLE IF NOT EXISTS words USING unknown(text)")
    store.latest()
    assert store._reader.finds_words == (request.param == "with an index")
    return store


def marked(text, hits):
    return [text[begin:end] for begin, end in hits]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the quick brown fox", "quick"),
        ("the quick brown fox", "uic"),
        ("the quick brown fox", "q"),
        ("the quick brown fox", "QUICK"),
        ("the quick brown fox", "fox  brown"),
        ("Привет, мир", "привет"),
        ("Привет, мир", "МИ"),
        ("人工智能很有意思", "智能很有"),
        ("人工智能很有意思", "智能"),
        ("人工智能很有意思", "智"),
        ("日本語とカタカナ", "カタカナ"),
        ("thumbs \U0001f44d\U0001f3fd up", "\U0001f44d\U0001f3fd"),
        ("family \U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
        ('say "hello" twice', '"hello"'),
        ("it's o'clock", "o'clock"),
        ("100% sure", "100%"),
        ("100% sure", "%"),
        ("snake_case_name", "e_c"),
        ("snake_case_name", "_"),
        ("wow!", "!"),
        ("a AND b OR c NOT d", "AND OR NOT"),
        ("f(x) = x*y - z^2", "x*y"),
        ("key:value {a} [b] \\d+ ~", "key:value"),
        ("back\\slash", "k\\s"),
        ("col-umn", "-"),
        ("one\ttwo\nthree", "two three"),
        ("half \ud83d", "\ud83d"),
    ],
)
def test_any_text_is_found_as_it_is(store, text, words):
    hit = said(text)
    keep(store, hit)
    keep(store, said("Lorem ipsum dolor sit amet"))
    found = store.search(words, 9)
    assert [listed.id for listed in found] == [hit.about.id]
    wanted = {word.replace("\ud83d", "\ufffd").casefold() for word in words.split()}
    assert wanted <= {each.casefold() for each in marked(found[0].snippet, found[0].snippet_hits)}
    assert store.open(found[0].id)[found[0].entry_id] == hit.head or "\ud83d" in text


@pytest.mark.parametrize(
    "words", ["a%b", "a_b", "quick*", "quick OR slow", "^the", "text:quick", "NEAR(quick fox)", '"']
)
def test_what_other_searches_take_for_commands_is_only_text(store, words):
    keep(store, said("axb acb the quick brown fox"))
    assert store.search(words, 9) == []


def test_each_word_has_to_stand_in_the_same_message(store):
    keep(store, said("apples", "pears"))
    both = said("pears", "apples and pears")
    keep(store, both)
    assert [listed.id for listed in store.search("pears apples", 9)] == [both.about.id]


def test_titles_and_attachments_are_searched_too(store):
    named, attached = said("hello", title="Plans for Zürich"), Conversation()
    attached.add(Role.USER, "explain", parent=None, attachments=(Attachment("main.rs", 'fn main() { "Zürich" }'),))
    keep(store, named, updated=1.0)
    keep(store, attached, updated=2.0)
    found = store.search("ZÜRICH", 9)
    assert [listed.id for listed in found] == [attached.about.id, named.about.id]
    assert marked(found[0].snippet, found[0].snippet_hits) == ["Zürich"]
    assert marked(found[1].title, found[1].title_hits) == ["Zürich"]
    assert found[1].snippet == "hello"
    assert [listed.id for listed in store.search('{ "Z', 9)] == [attached.about.id]
    assert [listed.id for listed in store.search("main.rs", 9)] == [attached.about.id]


def test_the_snippet_shows_the_words_in_a_long_text(store):
    filler = "word " * 3000
    keep(store, said(filler + "the needle in it " + filler))
    listed = store.search("needle", 9)[0]
    assert marked(listed.snippet, listed.snippet_hits) == ["needle"]
    assert len(listed.snippet) < 200
    assert listed.snippet.startswith("…word")


def test_words_that_overlap_are_marked_once(store):
    keep(store, said("abcdef"))
    listed = store.search("abcd cdef", 9)[0]
    assert listed.snippet_hits == ((0, 6),)


def test_the_newest_message_that_holds_the_words_stands_for_the_conversation(store):
    conversation = said("the word", "the word again", "nothing")
    keep(store, conversation)
    assert store.search("word", 9)[0].entry_id == conversation.path[1].id


def test_the_newest_conversations_come_first_and_no_more_than_asked_for(store):
    for number in range(5):
        keep(store, said(f"word {number}"), updated=float(number))
    assert [listed.title for listed in store.search("word", 2)] == ["word 4", "word 3"]
    assert [listed.title for listed in store.search("  ", 2)] == ["word 4", "word 3"]


def test_an_answer_is_found_while_it_is_written_and_as_it_is_after_each_change(store):
    conversation = said("question")
    answer = conversation.add(Role.ASSISTANT, "once upon", parent=conversation.head.id, facts=AnswerFacts())
    keep(store, conversation)
    id_ = conversation.about.id
    assert len(store.search("upon", 9)) == 1
    store.save_entry(id_, conversation.change(answer.id, text="once upon a time", facts=FACTS))
    assert len(store.search("time", 9)) == 1
    # Continued, then over again.
    store.save_entry(id_, conversation.change(answer.id, text="once upon a midnight", facts=AnswerFacts()))
    assert store.search("time", 9) == []
    assert len(store.search("midnight", 9)) == 1
    store.save_entry(id_, conversation.change(answer.id, text="once upon a midnight dreary", facts=FACTS))
    assert len(store.search("midnight dreary", 9)) == 1


def test_a_text_longer_than_any_query_is_searched_for(store):
    text = "".join(f"{number}," for number in range(20_000))
    keep(store, said(text))
    assert len(store.search(text, 9)) == 1
    assert store.search(text + "x", 9) == []


def test_what_stands_after_a_nul_is_found_through_the_index(store):
    keep(store, said("before\0 behind it", title="titled"))
    assert len(store.search("behind", 9)) == store._reader.finds_words


def test_what_a_program_without_an_index_wrote_is_found_by_one_with_an_index(history, monkeypatch):
    first, second = said("alpha beta", title="one"), said("alpha gamma", title="two")
    with monkeypatch.context() as patch:
        patch.setattr(history_file, "_WORDS", "CREATE VIRTUAL TABLE IF NOT EXISTS words USING unknown(text)")
        old = ConversationStore(history)
        keep(old, first)
        old.close()
    new = ConversationStore(history)
    keep(new, second)
    assert {listed.id for listed in new.search("alpha", 9)} == {first.about.id, second.about.id}
    new.close()
    with monkeypatch.context() as patch:
        patch.setattr(history_file, "_WORDS", "CREATE VIRTUAL TABLE IF NOT EXISTS words2 USING unknown(text)")
        old = ConversationStore(history)
        old.save_entry(second.about.id, second.change(second.head.id, text="delta", facts=None))
        old.delete(first.about.id)
        assert old.search("alpha", 9) == []
        old.close()
    new = ConversationStore(history)
    assert new.search("alpha", 9) == []
    assert [listed.id for listed in new.search("delta", 9)] == [second.about.id]
    new.save_entry(second.about.id, second.head)
    assert [listed.id for listed in new.search("delta", 9)] == [second.about.id]
    new.close()
