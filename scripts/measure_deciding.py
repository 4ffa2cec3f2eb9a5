#!/usr/bin/env python3
"""Measure what deciding on the draft length costs: milliseconds a round, all that it learns and computes included.

No model is needed: how sure a draft is, and whether its guess is right, is drawn at random for each place of a text;
passes take no time but are said to take what they took on a laptop. What is timed is the adaptive rule alone: planning,
each decision of a draft, what was verified, learning from the round, and the tables computed anew, spread over rounds.

    python scripts/measure_deciding.py
    python scripts/measure_deciding.py --acceptance 0.5 0.9 --tokens 20000 --lookup
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.draft_length import LONGEST_DRAFT, Offers
from localspec.decoding.drafters.ngram_levels import NGRAM_PRIORS
from localspec.decoding.knowledge import Knowledge
from localspec.decoding.pass_costs import PassCosts
from localspec.decoding.rounds import DraftPass, Origin, Round

TARGET_SECONDS = {1: 0.064, 2: 0.102, 3: 0.110, 4: 0.118, 5: 0.179, 8: 0.180, 9: 0.224, 12: 0.227, 32: 0.480}
DRAFT_SECONDS = {1: 0.0115, 2: 0.017, 4: 0.026, 8: 0.046, 32: 0.126}
"""Qwen2.5-Coder 1.5B Q8_0 and 0.5B Q4_0 on two cores of a laptop."""

FOUND = (9,) * 16
"""The levels of what a lookup finds, where it finds something."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Replay:
    """One text, decided on round by round.

    Args:
        acceptance: how often the draft model is right, on average.
        lookup: whether a lookup finds something in every tenth round.
    """

    def __init__(self, acceptance: float, *, lookup: bool) -> None:
        self._acceptance = acceptance
        self._lookup = lookup
        self._draw = random.Random(1)  # noqa: S311 - a simulation, no secrets
        self._rule = AdaptiveLength(PassCosts(TARGET_SECONDS, DRAFT_SECONDS), Knowledge(), greedy=True)
        self._seconds = 0.0
        self.milliseconds: list[float] = []

    def write(self, tokens: int) -> None:
        """Write so many tokens, and take note of what deciding took in each round."""
        written = 0
        while written < tokens:
            self._seconds = 0.0
            finished = self._round()
            self._timed(self._rule.observe, finished)
            written += len(finished.tokens)
            self.milliseconds.append(self._seconds * 1e3)

    def _round(self) -> Round:
        plan = self._timed(self._rule.plan, LONGEST_DRAFT)
        passes: list[DraftPass] = []
        sources: list[str] = []
        right: list[bool] = []
        found = FOUND if self._lookup and self._draw.random() < 1 / 10 else ()
        while True:
            choice = self._timed(plan.choose, Offers(1, found))
            found = ()
            if choice.looked_up:
                self._timed(plan.looked_up, FOUND[: choice.looked_up])
                right += [self._draw.random() < NGRAM_PRIORS[9] for _ in range(choice.looked_up)]
                sources += ["ngram"] * choice.looked_up
                continue
            if not choice.step:
                break
            passes.append(DraftPass(1, DRAFT_SECONDS[1]))
            sure = self._draw.betavariate(2.5 * self._acceptance, 2.5 * (1 - self._acceptance))
            if not self._timed(plan.keeps, sure):
                break
            self._timed(plan.drawn, sure, likeliest=True)
            right.append(self._draw.random() < sure)
            sources.append("model")
        drafted = self._timed(plan.verified)
        kept = next((i for i in range(drafted) if not right[i]), drafted)
        own = Origin.PLAIN if not drafted else Origin.CORRECTION if kept < drafted else Origin.BONUS
        return Round(
            drafted=(0,) * drafted,
            path=tuple(range(kept)),
            tokens=(0,) * (kept + 1),
            origins=(*(Origin.DRAFT,) * kept, own),
            sources=tuple(sources[:drafted]),
            predictions=plan.predictions[:drafted],
            passes=tuple(passes),
            target_seconds=self._rule.costs.target(drafted + 1),
            seconds=0.0,
        )

    def _timed(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        began = time.perf_counter()
        result = function(*args, **kwargs)
        self._seconds += time.perf_counter() - began
        return result


def main() -> None:
    """Parse, replay, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--acceptance", type=float, nargs="+", default=[0.3, 0.5, 0.7, 0.8, 0.9])
    parser.add_argument("--tokens", type=int, default=5000)
    parser.add_argument("--lookup", action="store_true", help="every tenth round a lookup finds something too")
    options = parser.parse_args()
    for acceptance in options.acceptance:
        replay = Replay(acceptance, lookup=options.lookup)
        replay.write(options.tokens)
        times = replay.milliseconds
        print(
            f"acceptance {acceptance:.2f}: mean {statistics.mean(times):.3f} ms a round, "
            f"median {statistics.median(times):.3f}, slowest {max(times):.3f} "
            f"({len(times)} rounds, {options.tokens / len(times):.2f} tokens a round)"
        )


if __name__ == "__main__":
    main()
