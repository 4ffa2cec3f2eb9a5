"""What has been said so far. It lives on this side of the pipe: an engine that dies takes nothing with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from localspec.chat.events import Message, Role


@dataclass(slots=True)
class Conversation:
    """Questions and answers in turn, and the system prompt before them.

    Attributes:
        system: the system prompt; "" leaves it to the model's template.
        drop_oldest: whether the oldest turns may be left out when the context is full.
        regenerations: how often the last question was answered anew; moves a fixed seed on.
    """

    system: str = ""
    drop_oldest: bool = False
    regenerations: int = 0
    _turns: list[Message] = field(default_factory=list)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The system prompt, if any, and all turns."""
        system = (Message(Role.SYSTEM, self.system),) if self.system else ()
        return (*system, *self._turns)

    @property
    def turns(self) -> int:
        """How many questions and answers there are."""
        return len(self._turns)

    def ask(self, text: str) -> None:
        """Add a question. One that got no answer at all is replaced: two in a row are not what a template expects."""
        if self._turns and self._turns[-1].role is Role.USER:
            self._turns.pop()
        self._turns.append(Message(Role.USER, text))
        self.regenerations = 0

    def keep(self, text: str) -> None:
        """Keep what the model wrote, whole or cut; more of the same answer is joined to it."""
        if not text:
            return
        if self._turns and self._turns[-1].role is Role.ASSISTANT:
            text = self._turns.pop().text + text
        self._turns.append(Message(Role.ASSISTANT, text))

    def take_back_answer(self) -> None:
        """Forget the last answer, so that its question can be answered anew."""
        if self._turns and self._turns[-1].role is Role.ASSISTANT:
            self._turns.pop()
        self.regenerations += 1

    def clear(self, *, keep_question: bool = False) -> None:
        """Start anew with the same system prompt; `keep_question` begins with the last question."""
        last = self._turns[-1:] if keep_question else []
        self._turns = [turn for turn in last if turn.role is Role.USER]
        self.regenerations = 0
