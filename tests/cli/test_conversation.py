"""What is kept of a conversation, however answers end."""

from localspec.chat.events import Message, Role
from localspec.cli.conversation import Conversation


def texts(conversation: Conversation) -> list[tuple[Role, str]]:
    return [(message.role, message.text) for message in conversation.messages]


def test_a_cut_answer_is_kept_and_more_of_it_is_joined() -> None:
    conversation = Conversation()
    conversation.ask("a")
    conversation.keep("one, ")
    conversation.keep("two")
    assert texts(conversation) == [(Role.USER, "a"), (Role.ASSISTANT, "one, two")]


def test_a_question_without_an_answer_is_replaced_by_the_next() -> None:
    conversation = Conversation()
    conversation.ask("a")
    conversation.keep("")
    conversation.ask("b")
    assert texts(conversation) == [(Role.USER, "b")]


def test_answering_anew_keeps_the_question_and_moves_a_fixed_seed() -> None:
    conversation = Conversation()
    conversation.ask("a")
    conversation.keep("one")
    conversation.take_back_answer()
    conversation.take_back_answer()
    assert texts(conversation) == [(Role.USER, "a")]
    assert conversation.regenerations == 2
    conversation.ask("b")
    assert conversation.regenerations == 0


def test_the_system_prompt_comes_first_and_outlives_the_turns() -> None:
    conversation = Conversation("be brief")
    conversation.ask("a")
    conversation.clear()
    assert conversation.messages == (Message(Role.SYSTEM, "be brief"),)


def test_a_new_conversation_can_begin_with_the_question_that_did_not_fit() -> None:
    conversation = Conversation()
    conversation.ask("a")
    conversation.keep("one")
    conversation.ask("b")
    conversation.clear(keep_question=True)
    assert texts(conversation) == [(Role.USER, "b")]
    conversation.keep("two")
    conversation.clear(keep_question=True)
    assert texts(conversation) == []
