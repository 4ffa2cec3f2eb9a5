"""What goes into an answer and what comes out of it: plain data, also sent over the engine's pipe as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from localspec.decoding.draft_length import WantedLength
from localspec.decoding.rounds import DraftPass, Finish, Origin, Prediction, Round
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.statistics import DecodingStatistics

if TYPE_CHECKING:
    from localspec.decoding.outlook import Outlook
    from localspec.decoding.source_choice import Chosen


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. `text` is what the person typed or the model wrote, never markup.

    An assistant message holds the raw text, its `<think>` part included.
    """

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class SpeculationSettings:
    """How to guess and how to accept.

    Attributes:
        enabled: False is the same loop with an empty draft.
        drafter: one of `drafter_names.DRAFTERS`; "auto" chooses for each answer.
        draft_length: tokens per draft, 0 to 31, or "auto".
        acceptance: "auto" (see `rules.automatic_rule`), "greedy", "rejection", "block", "coupled" or "typical" (not
            the target's distribution).
    """

    enabled: bool = True
    drafter: str = "model"
    draft_length: WantedLength = 3
    acceptance: str = "auto"

    @property
    def speculates(self) -> bool:
        """Whether guesses are asked for."""
        return self.enabled and self.drafter != "none" and self.draft_length != 0


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """Answer the last message of `messages` (or continue it, when it is the assistant's own).

    Attributes:
        messages: the whole conversation; what the KV caches already hold of it is not evaluated again.
        sampling: temperature, truncation, penalties, seed.
        speculation: how to guess and accept.
        max_tokens: most tokens to write; None for no limit but the context.
        stop: strings that end the answer; not part of it.
        drop_oldest: when the prompt does not fit, leave out the oldest turns (never the system prompt or the last
            message) instead of failing with ContextFullError.
    """

    messages: tuple[Message, ...]
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    speculation: SpeculationSettings = field(default_factory=SpeculationSettings)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    drop_oldest: bool = False


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """The prompt is being read. `reused` tokens were in the cache, `evaluated` of `total` new ones are done."""

    reused: int
    evaluated: int
    total: int


@dataclass(frozen=True, slots=True)
class AnswerToken:
    """One token of an answer.

    Attributes:
        id: the token id.
        text: the text that became certain with this token: often its own, "" while a character or a possible stop
            string is still incomplete, more when it settles earlier ones. Concatenated over the answer, the texts
            are the answer.
        origin: who wrote it.
        thinking: whether it belongs to the model's `<think>` part (the tags themselves included).
    """

    id: int
    text: str
    origin: Origin
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class AnswerRound:
    """One round of the loop, as the reader sees it.

    Attributes:
        tokens: the emitted tokens, in order.
        drafted: how many tokens were guessed.
        path: which of them were kept, by index, each following the one before it.
        sources: `drafted` entries; where each guess came from: "model", "ngram", "lookahead".
        seconds: wall time of the round.
        context_used: tokens of the context now taken.
        target_seconds: of `seconds`, inside the target's pass.
        draft_seconds: of `seconds`, inside the draft model's passes.
        predicted: `drafted` entries; the chance that a guess is kept, those before it being kept, as it was predicted.
            Empty where the draft-length rule predicts nothing.
        parents: of each guess of a tree the index of the one it follows, -1 for the text; empty for a chain.
    """

    tokens: tuple[AnswerToken, ...]
    drafted: int
    path: tuple[int, ...]
    sources: tuple[str, ...]
    seconds: float
    context_used: int
    target_seconds: float = 0.0
    draft_seconds: float = 0.0
    predicted: tuple[float, ...] = ()
    parents: tuple[int, ...] = ()

    @property
    def accepted(self) -> int:
        """How many guesses were kept."""
        return len(self.path)

    def counted(self) -> Round:
        """The round as `DecodingStatistics.plus` counts it: of a guess its id is not known here, nor its level."""
        return Round(
            drafted=(0,) * self.drafted,
            path=self.path,
            tokens=tuple(token.id for token in self.tokens),
            origins=tuple(token.origin for token in self.tokens),
            sources=self.sources,
            predictions=tuple(Prediction(0, acceptance) for acceptance in self.predicted),
            passes=(DraftPass(1, self.draft_seconds),),
            target_seconds=self.target_seconds,
            seconds=self.seconds,
            parents=self.parents,
        )


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The answer is complete.

    Attributes:
        finish: why it ended.
        text: the whole answer, stop string and end token left out.
        prompt_tokens: length of the prompt.
        reused_tokens: of those, already in the target's cache.
        prompt_seconds: time to read the prompt, on both models.
        time_to_first_token: seconds from the request to the first emitted token; None when there was none.
        statistics: counts and times of the decoding.
        seed: the seed that was used, also when the request named none.
        acceptance: the acceptance rule that was used, never "auto"; several, joined by `+`, where sources changed.
        lossless: whether that rule keeps the target's distribution.
        context_used: tokens of the context taken.
        context_size: tokens the context can hold.
        dropped_messages: how many of the oldest messages were left out to make the prompt fit.
        drafter: the one that was used, never "auto": "none" also where the one asked for was not there.
        draft_length: as it was asked for; 0 when nothing was to be guessed.
        outlook: what guesses of the draft model promise on this machine by now; None where no draft model guessed, or
            the draft length was fixed.
        chosen: why `drafter` was chosen; None where it was asked for by name, or there was nothing to choose by.
    """

    finish: Finish
    text: str
    prompt_tokens: int
    reused_tokens: int
    prompt_seconds: float
    time_to_first_token: float | None
    statistics: DecodingStatistics
    seed: int
    acceptance: str
    lossless: bool
    context_used: int
    context_size: int
    dropped_messages: int = 0
    drafter: str = "none"
    draft_length: WantedLength = 0
    outlook: Outlook | None = None
    chosen: Chosen | None = None


AnswerEvent = PromptProgress | AnswerRound | AnswerEnd
