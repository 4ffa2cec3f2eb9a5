from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pytest

from localspec.chat.events import AnswerRequest, Message, Role
from localspec.chat.fitting import Fitted, fit
from localspec.chat.prompt import Prompt
from localspec.errors import ContextFullError

SYSTEM = Message(Role.SYSTEM, "s" * 5)


def encode(messages: Sequence[Message]) -> tuple[Prompt, list[int]]:
    text = "".join(message.text for message in messages)
    return Prompt(text, "", "|"), list(text.encode())


def conversation(turns: int, length: int = 10, first: int = 0) -> tuple[Message, ...]:
    """A system prompt, then turns of a question and an answer of `length` tokens together, the last one unanswered."""
    messages = [SYSTEM]
    for turn in range(first, first + turns):
        half = str(turn % 10) * (length // 2)
        messages += [Message(Role.USER, half), Message(Role.ASSISTANT, half)]
    return tuple(messages[:-1])


def test_what_fits_is_left_whole() -> None:
    fitted = fit(AnswerRequest(conversation(3), drop_oldest=True), 100, encode, ())
    assert (fitted.dropped, len(fitted.tokens)) == (0, 30)


def test_without_leave_to_drop_a_prompt_may_fill_the_context_but_not_exceed_it() -> None:
    assert len(fit(AnswerRequest(conversation(3)), 30, encode, ()).tokens) == 30
    with pytest.raises(ContextFullError, match=r"30 tokens; the context holds 29") as caught:
        fit(AnswerRequest(conversation(3)), 29, encode, ())
    assert "oldest turns" in caught.value.hint


def test_whole_turns_are_left_out_until_an_answer_has_room_and_the_system_prompt_stays() -> None:
    fitted = fit(AnswerRequest(conversation(10), drop_oldest=True), 100, encode, ())
    assert fitted.dropped == 10
    assert fitted.prompt.rendered.startswith("sssss55555")
    assert fitted.prompt.rendered.endswith("99999")
    assert len(fitted.tokens) <= 50


def test_the_same_turns_are_left_out_as_long_as_that_does() -> None:
    seen = [fitted.dropped for fitted in one_after_another(range(8, 30))]
    assert len(set(seen)) < len(seen) / 2
    assert seen == sorted(seen)


def one_after_another(lengths: Iterable[int]) -> Iterator[Fitted]:
    """What is left of one conversation, at each number of turns."""
    left_out: tuple[Message, ...] = ()
    for turns in lengths:
        fitted = fit(AnswerRequest(conversation(turns), drop_oldest=True), 100, encode, left_out)
        left_out = fitted.left_out
        yield fitted


LONG = Message(Role.USER, "x" * 50)
BEFORE = (*conversation(20)[1:], Message(Role.ASSISTANT, "y" * 50))
"""What a long conversation was left without: 40 messages."""


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(conversation(30, first=3), id="another, as long"),
        pytest.param(conversation(10, first=3), id="another, shorter than what was left out"),
        pytest.param(conversation(60, 4, first=3), id="another, of more and shorter messages"),
        pytest.param((*conversation(30, 2, first=3)[:-1], LONG), id="another, with a long question at its end"),
        pytest.param((*conversation(4)[:-1], LONG), id="a question among them was edited"),
        pytest.param(conversation(20), id="back to the last question among them"),
        pytest.param((SYSTEM, *BEFORE), id="the last answer among them is continued"),
    ],
)
def test_what_one_conversation_was_left_without_takes_nothing_more_from_another(messages: tuple[Message, ...]) -> None:
    request = AnswerRequest(messages, drop_oldest=True)
    alone = fit(request, 100, encode, ())
    assert alone.dropped > 0
    assert fit(request, 100, encode, BEFORE) == alone


def test_back_at_an_earlier_place_what_is_reused_is_what_was_read_there() -> None:
    lengths = range(8, 24)
    fitted = list(one_after_another(lengths))
    for turns, there in zip(lengths, fitted, strict=True):
        request = AnswerRequest(conversation(turns), drop_oldest=True)
        back = fit(request, 100, encode, fitted[-1].left_out)
        alone = fit(request, 100, encode, ())
        assert back.dropped == (there.dropped if there.dropped == fitted[-1].dropped else alone.dropped)


def test_a_small_token_limit_needs_less_room() -> None:
    assert fit(AnswerRequest(conversation(9), drop_oldest=True, max_tokens=5), 100, encode, ()).dropped == 0


def test_the_last_turn_may_take_the_whole_context() -> None:
    messages = (*conversation(3), Message(Role.ASSISTANT, "x"), Message(Role.USER, "y" * 90))
    assert fit(AnswerRequest(messages, drop_oldest=True), 100, encode, ()).dropped == 6


def test_a_last_message_too_long_by_itself_is_told_with_numbers() -> None:
    messages = (*conversation(3), Message(Role.ASSISTANT, "x"), Message(Role.USER, "y" * 200))
    for request in (AnswerRequest(messages, drop_oldest=True), AnswerRequest(messages[-1:])):
        with pytest.raises(ContextFullError, match="The last message alone") as caught:
            fit(request, 100, encode, ())
        assert "20" in caught.value.message
        assert "longer context" in caught.value.hint


def test_a_message_that_is_continued_keeps_its_question() -> None:
    messages = (*conversation(9), Message(Role.ASSISTANT, "and so"))
    fitted = fit(AnswerRequest(messages, drop_oldest=True), 40, encode, ())
    assert fitted.prompt.rendered.endswith("88888and so")
