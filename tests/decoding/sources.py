"""Simulated sources of guesses: rounds of a known mean speed, whose luck and whose texts vary."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import Origin, Round
from localspec.decoding.source_choice import NONE, SourceChoice
from localspec.decoding.source_speeds import SourceSpeeds

COSTS = PassCosts(dict.fromkeys(range(1, 33), 1.0), {})
"""A pass of any width takes a second: then what a round costs beside it sets the speed."""

ANSWERS, TOKENS = 4, 128
"""Answers of a conversation, and tokens of each."""

MOST_KEPT = 7
CATCHING_UP = 1.0
"""Seconds that a source needs to read what others wrote, when it is changed to."""

Speed = Callable[[str, int], float]
"""How many times as fast as without speculation a source is, in a conversation of that number."""


@dataclass
class Run:
    """What came of it, conversation by conversation."""

    speeds: list[float] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)

    def of_best(self, first: int = 0) -> float:
        """Time that the best single source of each conversation would have taken, over the time taken."""
        return sum(1 / each for each in self.best[first:]) / sum(1 / each for each in self.speeds[first:])

    def of_off(self, first: int = 0) -> float:
        """Time without speculation over the time taken."""
        return len(self.speeds[first:]) / sum(1 / each for each in self.speeds[first:])

    def share(self, source: str) -> float:
        return self.tokens.get(source, 0) / sum(self.tokens.values())


def one_round(source: str, speed: float, luck: random.Random) -> Round:
    """A round that keeps some guesses by luck, and takes as long as makes it of that speed on average."""
    if source == NONE:
        return Round((), (), (0,), (Origin.PLAIN,), (), (), (), 1.0, 1.0)
    chance = 1 - 1 / max(1.0, 1.3 * speed)
    kept = next((i for i in range(MOST_KEPT) if luck.random() >= chance), MOST_KEPT)
    expected = sum(chance**i for i in range(MOST_KEPT + 1))
    seconds = expected / speed * math.exp(luck.gauss(0, 0.05))
    origins = (*(Origin.DRAFT,) * kept, Origin.BONUS)
    return Round((0,) * (kept + 1), tuple(range(kept)), (0,) * (kept + 1), origins, (), (), (), 1.0, max(1.0, seconds))


def write(theories: Mapping[str, float], speed: Speed, seed: int, conversations: int = 48) -> Run:
    """So many conversations."""
    luck, speeds, run = random.Random(seed), SourceSpeeds(), Run()
    for conversation in range(conversations):
        speeds.begin_conversation()
        written, seconds = 0, 0.0
        for _ in range(ANSWERS):
            choice, before, length = SourceChoice(theories, speeds), None, 0
            while length < TOKENS:
                source = choice.current
                finished = one_round(source, 1.0 if source == NONE else speed(source, conversation), luck)
                if before not in {None, source}:
                    finished = replace(finished, seconds=finished.seconds + CATCHING_UP)
                before = source
                choice.observe(finished, COSTS)
                length += len(finished.tokens)
                seconds += finished.seconds
                run.tokens[source] = run.tokens.get(source, 0) + len(finished.tokens)
            choice.finish()
            written += length
        run.speeds.append(written / seconds)
        run.best.append(max(1.0, *(speed(source, conversation) for source in theories)))
    return run
