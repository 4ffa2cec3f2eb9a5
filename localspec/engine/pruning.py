"""Drafts made of the loaded target's own layers: written, judged by what the target wrote, and removed again."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from localspec.chat.events import Message, Role
from localspec.decoding.costs import one_pass
from localspec.decoding.distributions import Distribution, Probabilities, TokenIds, likeliest, probabilities_at
from localspec.decoding.drafters.model_source import draft_sampling
from localspec.decoding.prefill import prefill
from localspec.decoding.sampling import to_distribution
from localspec.engine.prunings import BeginPruning, Cut, JudgeCut, JudgedCut, KeepCut, KeptCut, PruningBegun
from localspec.errors import LocalspecError, ModelFileError, UsageError
from localspec.llama.context import Context
from localspec.llama.context_options import MOST_ROWS, ContextOptions
from localspec.llama.model import Model, ModelOptions
from localspec.llama.quantize import prune, quantize

if TYPE_CHECKING:
    from localspec.engine.pair import LoadedPair

Cancelled = Callable[[], bool]
Tell = Callable[[str, float], None]
"""Told what is going on, and the part that is done."""

_SEED = 1
"""The same texts each time, so that a search can be repeated."""
_MOST_KEPT = 1024
"""Tokens of a distribution over the whole vocabulary that are kept to compare with: the rest has next to no mass."""
_LEAST_STEPS, _MOST_STEPS = 5, 40
"""Passes timed of a draft and of the target."""
_QUICKEST = 3
_STEADY = 0.05
"""By so much the quickest ones may differ."""
_LEAST_PLACES = 16
"""With fewer a share is none."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A text of the target.

    Attributes:
        tokens: prompt and answer.
        begin: where the answer begins.
        ps: for each token of the answer, ids and probabilities of the distribution it was drawn from.
    """

    tokens: tuple[int, ...]
    begin: int
    ps: tuple[tuple[TokenIds, Probabilities], ...]


class Pruning:
    """Judges drafts of a target's layers.

    Args:
        pair: the target, loaded.
        request: how to judge.
    """

    def __init__(self, pair: LoadedPair, request: BeginPruning) -> None:
        self._pair = pair
        self._request = request
        self._target = pair.contexts[0]
        self._texts: dict[bool, list[_Written]] = {}

    def begin(self, cancelled: Cancelled, tell: Tell) -> PruningBegun:
        """Write the texts.

        Raises:
            LocalspecError: it was cancelled, the target has nothing to say, takes no guess back, or failed.
        """
        request = self._request
        costs = self._pair.require_costs(cancelled, tell)
        if costs is None:
            why = self._target.why_no_roll_back
            raise (
                LocalspecError("Guesses cannot help this model", f"For {self._target.model.path.name}, {why}.")
                if why
                else _stopped()
            )
        self._target.cancelled = None
        prompts = [
            *((prompt, False) for prompt in request.prompts),
            *((prompt, True) for prompt in request.check_prompts),
        ]
        self._texts = {False: [], True: []}
        for number, (prompt, check) in enumerate(prompts):
            tell("writing the texts", number / len(prompts))
            self._texts[check].append(self._written(prompt, cancelled))
        places = {check: sum(len(text.ps) for text in texts) for check, texts in self._texts.items()}
        if min(places.values()) < _LEAST_PLACES:
            raise LocalspecError(
                "There is nothing to judge drafts by",
                f"Asked for a few texts, {self._target.model.path.name} wrote {min(places.values())} tokens.",
                "Such a model answers nothing that could be guessed.",
            )
        return PruningBegun(costs.target_curve, places[False], places[True], self._target.model.size_bytes)

    def judge(self, request: JudgeCut, cancelled: Cancelled, tell: Tell) -> JudgedCut:
        """Make a draft, judge it and remove it.

        Raises:
            UsageError: no layer would be left, at which llama.cpp ends the process.
            LocalspecError: it was cancelled, or the draft cannot be written.
            OutOfMemoryError: it does not fit beside the target.
        """
        if len(request.cut.dropped) >= self._target.model.layers:
            raise UsageError("A draft needs a layer at least")
        draft = self._request.folder / "draft.gguf"
        try:
            self._write(request.cut, draft, "tried by localspec prune", tell)
            options = ModelOptions(self._request.device, self._request.gpu_layers)
            with Model(draft, options) as model, Context(model, self._options()) as context:
                agreement = self._agreement(context, self._texts[request.check], cancelled)
                step, steady = self._step(context)
                return JudgedCut(request.cut, model.size_bytes, agreement, step, steady=steady)
        except ModelFileError as error:
            return JudgedCut(request.cut, 0, 0.0, 0.0, error.message)
        finally:
            draft.unlink(missing_ok=True)

    def keep(self, request: KeepCut, tell: Tell) -> KeptCut:
        """Make a draft that stays.

        Raises:
            LocalspecError: it cannot be written.
        """
        self._write(request.cut, request.destination, request.note, tell)
        return KeptCut(request.destination.stat().st_size)

    def _written(self, prompt: str, cancelled: Cancelled) -> _Written:
        """Answer a prompt. An end of the answer is judged like any token, and ends it."""
        target, sampling = self._target, self._request.sampling
        tokens = self._pair.prompt_tokens([Message(Role.USER, prompt)])
        begin = len(tokens)
        if begin + self._request.tokens > target.capacity:
            raise LocalspecError("The context is too short for a search", f"It holds {target.capacity} tokens.", "")
        target.truncate(0)
        for _ in prefill(target, tokens[:-1], cancelled):
            pass
        generator = np.random.default_rng(_SEED)
        ends = self._pair.tokenizer.end_tokens
        ps: list[tuple[TokenIds, Probabilities]] = []
        while len(ps) < self._request.tokens and tokens[-1] not in ends:
            if cancelled():
                raise _stopped()
            row = target.evaluate(tokens[-1:], rows=1)[0]
            p = to_distribution(row, sampling, sampling.window(tokens))
            ps.append(_kept(p))
            tokens.append(p.draw(generator.random()))
        return _Written(tuple(tokens), begin, tuple(ps))

    def _agreement(self, draft: Context, texts: Sequence[_Written], cancelled: Cancelled) -> float:
        overlaps: list[float] = []
        for text in texts:
            draft.truncate(0)
            # The token before the answer is the first that something is guessed after; its last one has no guess.
            places = range(text.begin - 1, len(text.tokens) - 1)
            for _ in prefill(draft, text.tokens[: places.start], cancelled):
                pass
            for start in range(places.start, places.stop, MOST_ROWS):
                if cancelled():
                    raise _stopped()
                rows = draft.evaluate(text.tokens[start : min(start + MOST_ROWS, places.stop)])
                for place, row in enumerate(rows, start):
                    ids, probabilities = text.ps[place - places.start]
                    q = self._drawn_from(row, text.tokens[: place + 1])
                    overlaps.append(float(np.minimum(probabilities, probabilities_at(q, ids)).sum()))
        return statistics.fmean(overlaps)

    def _drawn_from(self, row: np.ndarray, text: Sequence[int]) -> Distribution:
        sampling = draft_sampling(self._request.sampling)
        try:
            return to_distribution(row[: self._target.vocabulary_size], sampling, sampling.window(text))
        except ValueError as error:
            raise ModelFileError("A draft is of no use", "Without these layers it puts out no numbers.") from error

    def _step(self, draft: Context) -> tuple[float, bool]:
        """A step of the draft over a pass of the target, made in turn, and whether that can be relied on.

        Other programs make a pass longer, never shorter. So the quickest ones count, and there are as many as it takes
        for the three quickest of each model to agree.
        """
        sides = (draft, self._target)
        lengths = [min(context.length, context.capacity - 1) for context in sides]
        seconds: tuple[list[float], list[float]] = ([], [])
        for count in range(_MOST_STEPS + 1):
            for each, context, length in zip(seconds, sides, lengths, strict=True):
                context.truncate(length)
                took = one_pass(context, context.tokens[-1:], rows=1)
                if count:  # the first one finds another model in the caches
                    each.append(took)
            if count >= _LEAST_STEPS and all(map(_is_steady, seconds)):
                break
        step, single = (sorted(each)[1] for each in seconds)
        return step / single, all(map(_is_steady, seconds))

    def _options(self) -> ContextOptions:
        longest = max(len(text.tokens) for texts in self._texts.values() for text in texts)
        return replace(self._target.options, length=longest + 1)

    def _write(self, cut: Cut, destination: Path, note: str, tell: Tell) -> None:
        source = self._target.model.path
        if cut.file_type is not None:
            source = self._requantized(cut.file_type, tell)
        prune(source, destination, cut.dropped, note)

    def _requantized(self, file_type: str, tell: Tell) -> Path:
        """The whole target in another type, made once: drafts are then copied out of it."""
        whole = self._request.folder / f"{file_type}.gguf"
        if not whole.exists():
            told = f"requantizing to {file_type}"
            quantize(
                self._target.model.path,
                whole,
                file_type,
                output_type=file_type,
                embedding_type=file_type,
                progress=lambda part: tell(told, part),
            )
        return whole


def _kept(p: Distribution) -> tuple[TokenIds, Probabilities]:
    """What of a distribution is compared with."""
    ids, probabilities = p.support()
    if ids.size <= _MOST_KEPT:
        return ids, probabilities
    found = np.array(likeliest(p, _MOST_KEPT))
    return found, probabilities_at(p, found)


def _is_steady(seconds: Sequence[float]) -> bool:
    quickest = sorted(seconds)[:_QUICKEST]
    return quickest[-1] <= quickest[0] * (1 + _STEADY)


def _stopped() -> LocalspecError:
    return LocalspecError("The search was stopped")
