"""Messages and answers made for the transcript's tests, and a small app that shows them."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from dataclasses import replace

from textual.app import App, ComposeResult
from textual.content import Content

from localspec.chat.events import AnswerRound, AnswerToken, Role
from localspec.conversations.conversation import AnswerFacts, Attachment, Entry
from localspec.decoding.rounds import Origin
from localspec.decoding.statistics import DecodingStatistics
from localspec.tui.widgets.transcript import Transcript
from localspec.tui.widgets.transcript_entry import Shown

ANSWER = """Here is an answer with **bold**, `code` and [a link](https://example.org/a?b=c):

```python
def add(a, b):
    return a + b
```

1. first
2. second, which goes on for a while so that it does not fit one line of a narrow terminal

| a | b |
|---|---|
| 1 | two |

> quoted
"""

FACTS = AnswerFacts(
    finish="end",
    statistics=DecodingStatistics(rounds=100, emitted=418, seconds=10.0),
    off_tokens_per_second=21.7,
    context_used=100,
    context_size=8192,
)


def question(id: str, text: str, *attachments: Attachment) -> Shown:  # noqa: A002
    return Shown(Entry(id, None, Role.USER, text, time.time(), attachments))


def answer(id: str, text: str, facts: AnswerFacts = FACTS, **shown: int | bool) -> Shown:  # noqa: A002
    return replace(Shown(Entry(id, None, Role.ASSISTANT, text, time.time(), (), facts), "Qwen2.5-7B"), **shown)


def unwritten(id: str) -> Shown:  # noqa: A002
    """An answer that is being written and has no text yet."""
    return answer(id, "", AnswerFacts(), writing=True)


def rounds_of(text: str, thought: str = "", seed: int = 0) -> list[AnswerRound]:
    """Rounds of which the tokens make this text."""
    pick = random.Random(seed)
    pieces = [(piece, True) for piece in re.findall(r"\s?\S+|\s", thought)]
    pieces += [(piece, False) for piece in re.findall(r" ?\S{1,5}|\s", text)]
    rounds = []
    while pieces:
        drafted = pick.choice([0, 3, 4])
        kept = pick.randint(0, drafted)
        part, pieces = pieces[: kept + 1], pieces[kept + 1 :]
        last = Origin.PLAIN if not drafted else Origin.BONUS if kept == drafted else Origin.CORRECTION
        tokens = tuple(
            AnswerToken(0, piece, Origin.DRAFT if place < kept else last, thinking)
            for place, (piece, thinking) in enumerate(part)
        )
        rounds.append(AnswerRound(tokens, drafted, tuple(range(kept)), ("model",) * drafted, 0.5, 100))
    return rounds


def long_talk(messages: int) -> list[Shown]:
    """A conversation of questions and answers."""
    return [
        question(f"q{i}", f"Question {i}") if i % 2 == 0 else answer(f"a{i}", f"# Answer {i}\n\n{ANSWER}")
        for i in range(messages)
    ]


class TranscriptApp(App[None]):
    """Nothing but a transcript."""

    CSS = "Transcript { height: 1fr; }"

    def __init__(self, entries: Sequence[Shown] = (), welcome: str = "Welcome here") -> None:
        super().__init__()
        self._entries = entries
        self._welcome = welcome
        self.rounds: dict[str, list[AnswerRound]] = {}
        self.posted: list[object] = []

    def compose(self) -> ComposeResult:
        yield Transcript(lambda entry: self.rounds.get(entry, ()), welcome=Content(self._welcome))

    def on_ready(self) -> None:
        self.transcript.show(self._entries)
        self.transcript.focus()

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def on_transcript_chosen(self, event: Transcript.Chosen) -> None:
        self.posted.append(event)

    def on_transcript_code_clicked(self, event: Transcript.CodeClicked) -> None:
        self.posted.append(event)

    def on_transcript_token_pointed(self, event: Transcript.TokenPointed) -> None:
        self.posted.append(event)
