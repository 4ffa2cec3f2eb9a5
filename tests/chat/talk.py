"""A conversation with scripted models, checked after each answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from localspec.chat.events import (
    AnswerEnd,
    AnswerEvent,
    AnswerRequest,
    AnswerRound,
    Message,
    Role,
)
from localspec.chat.guessing import Guessing
from localspec.chat.session import ChatSession
from localspec.chat.template import ChatTemplate
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.sampling_settings import SamplingSettings
from tests.chat.scripted import CHATML, CONTROLS, PieceTokenizer, ScriptedModel, script, wrong_sometimes

PIECES = [
    "Hello",
    " there",
    "STO",
    "P now",
    "</th",
    "ink>ye",
    "<thi",
    "nk>",
    "中文",
    b"\xf0\x9f\x99",
    "ab",
    "abc",
    "cab",
]
GREEDY = SamplingSettings(temperature=0)


class InterruptedPassError(Exception):
    """As a model's pass ends when it is cancelled half-way."""


@dataclass
class Talk:
    """A session, its models, and the conversation so far."""

    answers: Sequence[str]
    miss_every: int = 3
    capacity: int = 4000
    source: str | None = CHATML
    tokenizer: PieceTokenizer = field(default_factory=lambda: PieceTokenizer(PIECES))
    messages: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        ids = [self.tokenizer.encode(answer, parse_special=False, add_special=False) for answer in self.answers]
        self.following = script(self.tokenizer, *ids)
        self.target = ScriptedModel(self.following, self.tokenizer.size, self.capacity)
        self.draft = ScriptedModel(wrong_sometimes(self.following, self.miss_every), self.tokenizer.size, self.capacity)
        template = ChatTemplate(self.source, CONTROLS[2:] if self.source is None else CONTROLS)
        self.session = ChatSession(
            self.target,
            self.tokenizer,
            template,
            Guessing([ModelDrafter(self.draft, self.tokenizer.size)]),
            interruptions=(InterruptedPassError,),
        )

    def request(self, said: str, **settings: object) -> AnswerRequest:
        base = AnswerRequest((*self.messages, Message(Role.USER, said)), sampling=GREEDY)
        return replace(base, **settings)

    def say(self, said: str, **settings: object) -> tuple[AnswerEnd, list[AnswerEvent]]:
        request = self.request(said, **settings)
        end, events = finished(self.session.answer(request))
        self.messages = [*request.messages, Message(Role.ASSISTANT, end.text)]
        self.check_caches()
        return end, events

    def check_caches(self) -> None:
        """Both caches hold a prefix of the conversation as it is now."""
        shown = self.tokenizer.shown_bytes(self.target.tokens)
        assert list(self.draft.tokens) == list(self.target.tokens[: self.draft.length])
        assert conversation_text(self.messages).encode().startswith(shown)


def conversation_text(messages: Sequence[Message]) -> str:
    return "".join(f"<|im_start|>{message.role}\n{message.text}<|im_end|>\n" for message in messages)


def finished(events: Iterator[AnswerEvent]) -> tuple[AnswerEnd, list[AnswerEvent]]:
    seen = list(events)
    assert isinstance(seen[-1], AnswerEnd)
    assert not any(isinstance(event, AnswerEnd) for event in seen[:-1])
    assert "".join(token.text for token in tokens_of(seen)) == seen[-1].text
    assert seen[-1].statistics.emitted == len(tokens_of(seen))
    return seen[-1], seen


def tokens_of(events: Sequence[AnswerEvent]) -> list:
    return [token for event in events if isinstance(event, AnswerRound) for token in event.tokens]
