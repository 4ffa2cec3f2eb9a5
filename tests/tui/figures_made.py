"""Rounds and answers for the figures, made by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from localspec.chat.events import (
    AnswerEnd,
    AnswerRequest,
    AnswerRound,
    AnswerToken,
    Message,
    Role,
    SpeculationSettings,
)
from localspec.decoding.rounds import Finish, Origin
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.statistics import DecodingStatistics
from localspec.tui.figures import Figures
from localspec.tui.live import LiveFigures


def a_round(drafted: int, accepted: int, seconds: float = 0.1, used: int = 0, source: str = "model") -> AnswerRound:
    own = Origin.PLAIN if not drafted else Origin.BONUS if accepted == drafted else Origin.CORRECTION
    origins = (*(Origin.DRAFT,) * accepted, own)
    tokens = tuple(AnswerToken(7, "x", origin) for origin in origins)
    return AnswerRound(tokens, drafted, tuple(range(accepted)), (source,) * drafted, seconds, used)


def ended_inside(drafted: int, accepted: int) -> AnswerRound:
    """The answer ended with an accepted guess."""
    whole = a_round(drafted, accepted)
    return replace(whole, tokens=whole.tokens[:-1])


def rounds(count: int, length: int = 4, base: float = 0.08, seed: int = 1) -> Iterator[AnswerRound]:
    """A likely answer: four of five guesses are right."""
    chance = random.Random(seed)
    used = 700
    for _ in range(count):
        accepted = 0
        while accepted < length and chance.random() < 0.8:
            accepted += 1
        used += accepted + 1
        yield a_round(length, accepted, base * chance.uniform(0.8, 1.3), used)


def guessed(count: int, base: float = 0.08, seed: int = 3) -> Iterator[AnswerRound]:
    """An answer of automatic drafts: of 0 to 12 tokens, some of them found in the text, as sure as they turn out."""
    chance = random.Random(seed)
    used = 700
    for _ in range(count):
        of_text = chance.choice([0, 0, 0, 0, 4, 9])
        of_model = chance.choice([0, 1, 2, 3]) if of_text else chance.choice([0, 1, 2, 3, 3, 4])
        sources = ("ngram",) * of_text + ("model",) * of_model
        expected = tuple(0.9 if source == "ngram" else 0.76 for source in sources)
        accepted = 0
        while accepted < len(sources) and chance.random() < expected[accepted]:
            accepted += 1
        used += accepted + 1
        each = a_round(len(sources), accepted, base * chance.uniform(0.8, 1.3), used)
        yield replace(each, sources=sources, predicted=expected)


def statistics_of(seen: Sequence[AnswerRound]) -> DecodingStatistics:
    statistics = DecodingStatistics()
    for finished in seen:
        statistics = statistics.plus(finished.counted())
    return statistics


def end_of(seen: Sequence[AnswerRound], **changes: object) -> AnswerEnd:
    end = AnswerEnd(
        finish=Finish.END,
        text="",
        prompt_tokens=700,
        reused_tokens=0,
        prompt_seconds=0.2,
        time_to_first_token=0.31,
        statistics=statistics_of(seen),
        seed=7,
        acceptance="greedy",
        lossless=True,
        context_used=seen[-1].context_used if seen else 700,
        context_size=8192,
        drafter="model",
        draft_length=3,
    )
    return replace(end, **changes)


def figures_of(seen: Sequence[AnswerRound], *, off: float | None = 21.7, **end: object) -> Figures:
    """The figures after an answer; with `writing=True` just before its end; with a drafter as if asked for."""
    writing = end.pop("writing", False)
    request = None
    if "drafter" in end:
        speculation = SpeculationSettings(drafter=end["drafter"], draft_length=end["draft_length"])
        request = AnswerRequest((Message(Role.USER, "?"),), SamplingSettings(temperature=0.0), speculation)
    live = LiveFigures()
    live.off_tokens_per_second = off
    live.begin(0.0, request, context_size=8192)
    live.take(seen, 0.31)
    if not writing:
        live.end(end_of(seen, **end))
    return live.figures()
