#!/usr/bin/env python3
"""Measure with the finished text at hand what no rule can know while it writes.

    python scripts/measure_hindsight.py clairvoyant        the automatic draft length against the best in hindsight
    python scripts/measure_hindsight.py draft-temperature  how often guesses are kept, by the draft's own temperature

For each prompt the text is written first; then both models read it once more, and say at each place what they would
have written. Both sides of a comparison of speed alternate, prompt by prompt, in one process.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from localspec.bench.task_files import Task, built_in_tasks, chosen_tasks
from localspec.bench.theory import accepted_runs, clairvoyant
from localspec.chat.events import AnswerEnd, AnswerRequest, AnswerRound, Message, Role, SpeculationSettings
from localspec.decoding.distributions import Distribution, probabilities_at
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.language_model import LanguageModel, Logits
from localspec.decoding.rounds import never
from localspec.decoding.sampling import to_distribution
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.engine.pair import LoadedPair
from localspec.locations import models_folder

OFF = SpeculationSettings(enabled=False)
TEMPERATURES = (0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.2)
"""Of the draft, as shares of the target's."""


class Measurement:
    """A loaded pair that answers tasks and reads its answers again."""

    def __init__(self, pair: LoadedPair, sampling: SamplingSettings, tokens: int) -> None:
        self.pair = pair
        self._sampling = sampling
        self._tokens = tokens

    def answer(self, task: Task, speculation: SpeculationSettings) -> tuple[list[int], AnswerEnd]:
        """The ids of an answer to the first turn, and its end."""
        request = AnswerRequest(_messages(task), self._sampling, speculation, self._tokens)
        rounds, end = [], None
        for event in self.pair.answered(request, never):
            if isinstance(event, AnswerRound):
                rounds.append(event)
            elif isinstance(event, AnswerEnd):
                end = event
        assert end is not None  # the last event of an answer that did not fail
        return [token.id for each in rounds for token in each.tokens], end

    def rows(self, task: Task, written: Sequence[int], model: LanguageModel) -> Iterator[Logits]:
        """What `model` puts out before each token written."""
        text = [*self.pair.prompt_tokens(_messages(task)), *written]
        first = len(text) - len(written) - 1
        model.truncate(0)
        model.evaluate(text[:first], rows=0)
        for start in range(first, len(text) - 1, LONGEST_DRAFT):
            yield from model.evaluate(text[start : min(start + LONGEST_DRAFT, len(text) - 1)])


def _messages(task: Task) -> tuple[Message, ...]:
    return (Message(Role.USER, task.turns[0]),)


def measure_clairvoyant(measured: Measurement, tasks: Sequence[Task], drafter: str) -> None:
    """Speed over off: the automatic length, and the cheapest sequence of the draft model's lengths in hindsight."""
    auto = SpeculationSettings(drafter=drafter, draft_length="auto")
    reached: dict[str, list[float]] = defaultdict(list)
    possible: dict[str, list[float]] = defaultdict(list)
    for task in tasks:
        written, off = measured.answer(task, OFF)
        _, on = measured.answer(task, auto)
        guesses = [int(row.argmax()) for row in measured.rows(task, written, measured.pair.contexts[1])]
        costs = measured.pair.require_costs(never)
        assert costs is not None  # the answer before needed them
        agrees = [guess == token for guess, token in zip(guesses, written, strict=True)]
        best = clairvoyant(accepted_runs(agrees), costs.target_curve, costs.draft(1))
        reached[task.kind].append(_speed(on) / _speed(off))
        possible[task.kind].append(len(written) * costs.target(1) / best.seconds)
        print(f"{task.id:16} {reached[task.kind][-1]:.2f} of {possible[task.kind][-1]:.2f}", flush=True)
    print(f"\n{'over off':12} {drafter:>9} hindsight  share")
    for kind, speeds in reached.items():
        _print_row(kind, statistics.median(speeds), statistics.median(possible[kind]))
    _print_row("all kinds", _mean(reached), _mean(possible))


def measure_draft_temperature(measured: Measurement, tasks: Sequence[Task], sampling: SamplingSettings) -> None:
    """The chance that a guess is kept, sum of min(p, q), by the temperature of q."""
    kept: dict[float, dict[str, list[float]]] = {share: defaultdict(list) for share in TEMPERATURES}
    target, draft = measured.pair.contexts
    for task in tasks:
        written, _ = measured.answer(task, OFF)
        ps = [to_distribution(row, sampling) for row in measured.rows(task, written, target)]
        for p, row in zip(ps, measured.rows(task, written, draft), strict=True):
            for share in TEMPERATURES:
                own = replace(sampling, temperature=share * sampling.temperature)
                kept[share][task.kind].append(_overlap(p, to_distribution(row, own)))
        print(f"{task.id:16} {len(written)} tokens", flush=True)
    print(f"\ntemperature of the target {sampling.temperature}; of the draft, times that:")
    print(f"{'kept':12}" + "".join(f"{share:>8}" for share in TEMPERATURES))
    for kind in kept[1.0]:
        print(f"{kind:12}" + "".join(f"{np.mean(kept[share][kind]):8.3f}" for share in TEMPERATURES))
    means = [np.mean([np.mean(each) for each in kept[share].values()]) for share in TEMPERATURES]
    print(f"{'all kinds':12}" + "".join(f"{mean:8.4f}" for mean in means))


def _overlap(p: Distribution, q: Distribution) -> float:
    ids, probabilities = q.support()
    return float(np.minimum(probabilities, probabilities_at(p, ids)).sum())


def _speed(end: AnswerEnd) -> float:
    return end.statistics.tokens_per_second or 0.0


def _mean(by_kind: dict[str, list[float]]) -> float:
    """The geometric mean over the kinds of their medians."""
    return statistics.geometric_mean([statistics.median(each) for each in by_kind.values()])


def _print_row(kind: str, reached: float, possible: float) -> None:
    print(f"{kind:12} {reached:9.2f} {possible:9.2f} {reached / possible:6.0%}")


def main() -> None:
    """Parse, load, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["clairvoyant", "draft-temperature"])
    parser.add_argument("--target", type=Path, default=models_folder() / "qwen2.5-coder-1.5b-instruct-q8_0.gguf")
    parser.add_argument("--draft", type=Path, default=models_folder() / "qwen2.5-coder-0.5b-instruct-q4_0.gguf")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--limit", type=int, help="prompts of each kind (default: all)")
    parser.add_argument("--drafter", choices=["model", "hybrid"], default="model")
    parser.add_argument("--temperature", type=float, default=0.8, help="of the target, for draft-temperature")
    options = parser.parse_args()
    tasks = chosen_tasks(built_in_tasks(), (), options.limit)
    models = ModelSettings(options.target), ModelSettings(options.draft)
    loading = LoadPair(*models, context=4096, threads=options.threads, costs=options.what == "clairvoyant")
    with closing(LoadedPair(loading, lambda _: None, never)) as pair:
        if options.what == "clairvoyant":
            measure_clairvoyant(
                Measurement(pair, SamplingSettings(temperature=0), options.tokens), tasks, options.drafter
            )
        else:
            sampling = SamplingSettings(temperature=options.temperature, seed=1)
            measure_draft_temperature(Measurement(pair, sampling, options.tokens), tasks, sampling)


if __name__ == "__main__":
    main()
