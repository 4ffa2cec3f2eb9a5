"""Rounds and answers for the figures, made by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from localspec.chat.events import AnswerEnd, AnswerRound, AnswerToken
from localspec.decoding.rounds import Finish, Origin
from localspec.decoding.statistics import DecodingStatistics
from localspec.tui.figures import Figures
from localspec.tui.live import LiveFigures


def a_round(drafted: int, accepted: int, seconds: float = 0.1, used: int = 0, source: str = "model") -> AnswerRound:
    own = Origin.PLAIN if not drafted else Origin.BONUS if accepted == drafted else Origin.CORRECTION
    origins = (*(Origin.DRAFT,) * accepted, own)
    tokens = tuple(AnswerToken(7, "x", origin) for origin in origins)
    return AnswerRound(tokens, drafted, accepted, source if drafted else "none", seconds, used)


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
    )
    return replace(end, **changes)


def figures_of(seen: Sequence[AnswerRound], *, off: float | None = 21.7, **end: object) -> Figures:
    """The figures after an answer; with `writing=True` just before its end."""
    writing = end.pop("writing", False)
    live = LiveFigures()
    live.off_tokens_per_second = off
    live.begin(0.0, context_size=8192)
    live.take(seen, 0.31)
    if not writing:
        live.end(end_of(seen, **end))
    return live.figures()
