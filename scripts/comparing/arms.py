"""The arms of the comparison: each takes a question and a way to draw, and writes an answer down."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Protocol

from comparing.prompts import Question
from comparing.samples import Answer
from comparing.server import Server
from comparing.server_arms import ServerArm, completion_request
from localspec.chat.events import AnswerEnd, AnswerRequest, AnswerRound, Message, Role, SpeculationSettings
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.client import EngineClient
from localspec.errors import LocalspecError

_FINISHES = {"eos": "end", "limit": "length", "word": "stop"}
"""The server's words for why an answer ended, as localspec says them."""


class Arm(Protocol):
    """One side of the comparison, with one setting."""

    @property
    def side(self) -> str:
        """Which program: "server" or "localspec"."""

    @property
    def name(self) -> str:
        """Of the setting."""

    @property
    def pid(self) -> int:
        """The process that computes."""

    @property
    def must_draft(self) -> bool:
        """Whether an answer of some length without a guess shows that it is not what it is called."""

    def answer(self, question: Question, sampling: SamplingSettings, max_tokens: int) -> Answer:
        """Answer, and say how long it took.

        Raises:
            LocalspecError: it failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class OfServer:
    """llama-server with one setting."""

    arm: ServerArm
    server: Server
    side: str = "server"

    @property
    def name(self) -> str:
        """Of the setting."""
        return self.arm.name

    @property
    def pid(self) -> int:
        """The server's."""
        return self.server.pid

    @property
    def must_draft(self) -> bool:
        """A lookup may find nothing; a draft model always guesses."""
        return self.arm.drafts

    def answer(self, question: Question, sampling: SamplingSettings, max_tokens: int) -> Answer:
        """Ask for a completion of the question's tokens."""
        given = self.server.complete(completion_request(question.tokens, sampling, max_tokens, question.stop))
        try:
            timings, ids = given["timings"], [int(token) for token in given["tokens"]]
            made = Answer(
                prompt_tokens=int(timings["cache_n"]) + int(timings["prompt_n"]),
                token_ids=tuple(token for token in ids if token not in question.end_tokens),
                tokens=int(timings["predicted_n"]),
                first_pass_tokens=1,
                seconds=float(timings["predicted_ms"]) / 1e3,
                drafted=int(timings.get("draft_n", 0)),
                accepted=int(timings.get("draft_n_accepted", 0)),
                finish=_FINISHES.get(given["stop_type"], str(given["stop_type"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise LocalspecError(
                f"{self.server.name} answers in another form than expected", f"{type(error).__name__}: {error}."
            ) from error
        if timings["cache_n"]:
            raise LocalspecError(f"{self.server.name} kept a prompt that it was asked not to keep")
        return made


@dataclass(frozen=True, slots=True)
class OfLocalspec:
    """localspec with one setting, through its engine as `localspec chat` uses it."""

    name: str
    speculation: SpeculationSettings
    engine: EngineClient
    side: str = "localspec"

    @property
    def pid(self) -> int:
        """The engine's."""
        assert self.engine.pid is not None
        return self.engine.pid

    @property
    def must_draft(self) -> bool:
        """It may decide that guessing does not pay."""
        return False

    def answer(self, question: Question, sampling: SamplingSettings, max_tokens: int) -> Answer:
        """Ask the engine, after a short other question: like the server it reads every prompt anew."""
        other = AnswerRequest(
            messages=(Message(Role.USER, "."),),
            sampling=replace(sampling, temperature=0),
            speculation=replace(self.speculation, acceptance="auto"),
            max_tokens=0,
        )
        for _ in self.engine.answer(other):
            pass
        request = AnswerRequest((Message(Role.USER, question.text),), sampling, self.speculation, max_tokens=max_tokens)
        first, last, rounds = 0.0, 0.0, list[AnswerRound]()
        for event in self.engine.answer(request):
            if isinstance(event, AnswerRound):
                last = time.perf_counter()
                first = first or last
                rounds.append(event)
            elif isinstance(event, AnswerEnd):
                return _answer(question, rounds, event, last - first)
        raise LocalspecError("An answer did not come to its end")  # pragma: no cover - the client raises before


def _answer(question: Question, rounds: list[AnswerRound], end: AnswerEnd, seconds: float) -> Answer:
    if end.prompt_tokens != len(question.tokens):
        raise LocalspecError(
            "The two programs did not read the same prompt",
            f"localspec read {end.prompt_tokens} tokens of {question.id}, llama-server {len(question.tokens)}.",
        )
    ids = [token.id for each in rounds for token in each.tokens]
    return Answer(
        prompt_tokens=end.prompt_tokens,
        token_ids=tuple(token for token in ids if token not in question.end_tokens),
        tokens=len(ids),
        first_pass_tokens=len(rounds[0].tokens) if rounds else 0,
        seconds=seconds,
        drafted=end.statistics.drafted,
        accepted=end.statistics.accepted,
        finish=str(end.finish),
    )
