"""However an answer ends, the caches hold what was kept, and the next turn works."""

from __future__ import annotations

import math
import random
from collections.abc import Generator
from dataclasses import replace

import pytest

from localspec.chat.events import (
    AnswerEnd,
    AnswerEvent,
    AnswerRequest,
    AnswerRound,
    Message,
    Role,
    SpeculationSettings,
)
from localspec.decoding.rounds import Finish, Origin
from localspec.errors import ContextFullError, LocalspecError
from tests.chat.talk import GREEDY, InterruptedPassError, Talk, finished, tokens_of


@pytest.mark.parametrize("length", [0, 1, 2, 5, 16])
@pytest.mark.parametrize("miss_every", [1, 2, 3, 1000])
def test_the_text_and_the_stop_do_not_depend_on_speculation(length: int, miss_every: int) -> None:
    answer = "Hello there, abcab 中文 \U0001f643 STO STOP now and more"
    talk = Talk([answer], miss_every=miss_every)
    speculation = SpeculationSettings(draft_length=length)
    end, events = talk.say("hi", speculation=speculation, stop=("STOP", "never"))
    assert end.text == "Hello there, abcab 中文 \U0001f643 STO "
    assert end.finish is Finish.STOP
    assert (end.lossless, end.acceptance) == (True, "greedy")
    last = events[-2]
    assert isinstance(last, AnswerRound)
    assert last.accepted == sum(token.origin is Origin.DRAFT for token in last.tokens)
    # The next turn works, and only the torn token and what is new is read.
    held = talk.target.length
    end, _ = talk.say("again")
    assert end.reused_tokens == held


def test_an_answer_that_stops_with_its_first_token_is_empty() -> None:
    talk = Talk(["Hello there", "ab"])
    end, _ = talk.say("hi", stop=("He",))
    assert (end.text, end.finish, end.statistics.emitted) == ("", Finish.STOP, 1)
    assert talk.say("hi")[0].text == "ab"


def test_an_answer_cut_by_the_limit_goes_on_with_nothing_read_again() -> None:
    talk = Talk(["Hello there abcabcab"])
    first, _ = talk.say("hi", max_tokens=4)
    assert first.finish is Finish.LENGTH
    held = talk.target.length
    request = AnswerRequest(tuple(talk.messages), sampling=GREEDY)
    second, _ = finished(talk.session.answer(request))
    assert first.text + second.text == "Hello there abcabcab"
    assert second.reused_tokens == held == second.prompt_tokens - 1
    talk.messages[-1] = Message(Role.ASSISTANT, first.text + second.text)
    talk.check_caches()


def test_a_limit_inside_a_character_leaves_no_broken_character() -> None:
    talk = Talk(["ab\U0001f643!", "x"])
    end, _ = talk.say("hi", max_tokens=2)
    assert end.text == "ab"
    assert "\ufffd" not in end.text
    assert talk.say("more")[0].text == "x"


def test_a_limit_of_zero_only_reads_the_prompt() -> None:
    talk = Talk(["Hello"])
    end, events = talk.say("hi", max_tokens=0)
    assert (end.text, end.finish, end.time_to_first_token) == ("", Finish.LENGTH, None)
    assert not tokens_of(events)
    assert end.context_used == end.prompt_tokens - 1


class Ending:
    """How an answer ends in the random conversations, and after how many events or passes."""

    def __init__(self, chance: random.Random) -> None:
        self.kind = chance.choice(["whole", "cancel", "abandon", "fail"])
        self.left = chance.randint(1, 12)

    def cancelled(self) -> bool:
        self.left -= self.kind == "cancel"
        return self.left < 0

    def before_pass(self, _count: int) -> None:
        self.left -= self.kind == "fail"
        if self.left < 0:
            raise InterruptedPassError

    def abandons(self) -> bool:
        self.left -= self.kind == "abandon"
        return self.left < 0


def text_until(ending: Ending, events: Generator[AnswerEvent, None, None]) -> str:
    text = ""
    for event in events:
        if isinstance(event, AnswerRound):
            text += "".join(token.text for token in event.tokens)
        if isinstance(event, AnswerEnd):
            assert event.text == text
        if ending.abandons():
            events.close()
    return text


@pytest.mark.parametrize("seed", range(30))
def test_random_conversations_with_random_endings_keep_the_caches_right(seed: int) -> None:
    chance = random.Random(seed)
    words = ["Hello", "there", "ab", "中文", "\U0001f643", "STOP", "<|im_end|>", "\n\n", " "]

    def said() -> str:
        return "".join(chance.choices(words, k=chance.randint(1, 12)))

    talk = Talk([said() for _ in range(8)], miss_every=chance.choice([1, 2, 3, 5, 1000]))
    for _ in range(8):
        ending = Ending(chance)
        request = talk.request(
            said(),
            speculation=SpeculationSettings(enabled=chance.random() < 0.7, draft_length=chance.randint(0, 7)),
            stop=tuple(chance.sample(["STOP", "there", "文"], chance.randint(0, 2))),
            max_tokens=chance.choice([None, 1, 3, 9]),
        )
        talk.target.before_pass = talk.draft.before_pass = ending.before_pass
        text = text_until(ending, talk.session.answer(request, ending.cancelled))
        talk.messages = [*request.messages, Message(Role.ASSISTANT, text)]
        talk.check_caches()
        if chance.random() < 0.3:
            talk.messages = talk.messages[: 2 * chance.randint(0, len(talk.messages) // 2)]


def test_a_cancel_while_the_prompt_is_read_keeps_what_was_read() -> None:
    talk = Talk(["Hello"])
    request = talk.request("x" * 2000)
    cancelled_now = False
    events = talk.session.answer(request, lambda: cancelled_now)
    seen = [next(events), next(events)]
    cancelled_now = True
    end, _ = finished(iter([*seen, *events]))
    assert (end.finish, end.text, end.time_to_first_token) == (Finish.CANCELLED, "", None)
    held = talk.target.length
    assert 0 < held < end.prompt_tokens
    end, _ = talk.say("x" * 2000)
    assert (end.reused_tokens, end.text) == (held, "Hello")


def test_a_pass_interrupted_half_way_is_a_cancel() -> None:
    talk = Talk(["Hello"])

    def interrupt(_count: int) -> None:
        raise InterruptedPassError

    talk.target.before_pass = interrupt
    end, _ = finished(talk.session.answer(talk.request("hi")))
    assert end.finish is Finish.CANCELLED
    talk.target.before_pass = lambda _count: None
    assert talk.say("hi")[0].text == "Hello"


def test_a_failing_model_leaves_caches_that_the_next_turn_can_use() -> None:
    talk = Talk(["Hello there abc", "ab"])

    def fail(count: int) -> None:
        if count < 5 and talk.target.length >= 22:
            raise LocalspecError("broken")

    talk.target.before_pass = fail
    with pytest.raises(LocalspecError, match="broken"):
        list(talk.session.answer(talk.request("hi")))
    talk.target.before_pass = lambda _count: None
    assert talk.say("hi")[0].text == "Hello there abc"


def test_a_context_that_fills_up_ends_the_answer_and_the_next_turn_says_what_to_do() -> None:
    talk = Talk(["abc " * 100, "ok"], capacity=60)
    end, _ = talk.say("hi")
    assert end.finish is Finish.CONTEXT
    assert end.context_used == end.context_size == 60
    with pytest.raises(ContextFullError, match="longer than the context"):
        list(talk.session.answer(talk.request("more")))
    end, _ = finished(talk.session.answer(talk.request("more", drop_oldest=True, max_tokens=5)))
    assert end.dropped_messages == 2


def test_a_long_conversation_goes_on_without_its_oldest_turns() -> None:
    talk = Talk(["abc"], capacity=300)
    reused = []
    for turn in range(20):
        request = talk.request(f"question number {turn}", drop_oldest=True, max_tokens=8)
        end, _ = finished(talk.session.answer(request))
        talk.messages = [*request.messages, Message(Role.ASSISTANT, end.text)]
        reused.append(end.reused_tokens)
        assert end.text == "abc"
    assert end.dropped_messages > 0
    assert end.dropped_messages % 2 == 0


def test_each_of_two_long_conversations_goes_on_without_its_own_oldest_turns() -> None:
    def said(words: str, turns: int) -> tuple[Message, ...]:
        asked = [Message(Role.USER, f"{words} {turn}") for turn in range(turns)]
        return tuple(message for question in asked for message in (question, Message(Role.ASSISTANT, "abc")))[:-1]

    def answered(talk: Talk, messages: tuple[Message, ...]) -> AnswerEnd:
        request = AnswerRequest(messages, sampling=GREEDY, max_tokens=8, drop_oldest=True)
        end, _ = finished(talk.session.answer(request))
        assert end.text == "abc"
        return end

    talk = Talk(["abc"], capacity=300)
    first = said("question", 20)
    left_out = answered(talk, first).dropped_messages
    edited = (*first[:2], Message(Role.USER, "edited " * 35))
    for other in (said("a longer text, of other messages", 6), said("said", 30), edited):
        assert len(other) < left_out or len(other) > len(first)
        alone = answered(Talk(["abc"], capacity=300), other).dropped_messages
        assert 0 < alone == answered(talk, other).dropped_messages
        answered(talk, first)


def test_a_model_that_puts_out_nothing_usable_is_told_in_words() -> None:
    talk = Talk(["abc"])
    forbidding = replace(GREEDY, logit_bias=tuple((token, -math.inf) for token in range(talk.tokenizer.size)))
    with pytest.raises(LocalspecError, match="cannot go on"):
        list(talk.session.answer(talk.request("hi", sampling=forbidding)))
    assert talk.say("hi")[0].text == "abc"


def test_a_base_model_stops_before_it_speaks_for_the_person() -> None:
    talk = Talk(["x"], source=None)
    answer = talk.tokenizer.encode(" Hello.\nUser: and I", parse_special=False, add_special=False)
    prompt = talk.tokenizer.encode("User: hi\nAssistant:", parse_special=False, add_special=False)
    talk.target.following = lambda text: answer[len(text) - len(prompt)]
    talk.draft.following = lambda _text: 0
    end, _ = finished(talk.session.answer(talk.request("hi")))
    assert (end.text, end.finish) == (" Hello.", Finish.STOP)
