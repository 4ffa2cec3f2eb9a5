"""A tree of guesses changes the time an answer takes, never its text, and the cache is the text after every round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from localspec.decoding.acceptance import rule_for
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.rounds import Draft, Turn
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.llama.bindings import low
from localspec.llama.context import Context
from localspec.llama.context_options import MOST_BRANCHES, ContextOptions
from localspec.llama.model import Model
from localspec.llama.tokenizer import Tokenizer
from tests.decoding.answers import Pair, turn
from tests.real_models.divergence import require_same_text_or_near_tie

GREEDY = SamplingSettings(temperature=0.0)
COUPLED = SamplingSettings(temperature=0.8, seed=7)
LENGTH = 40
PROMPT = "<|im_start|>user\nWhat is a lighthouse for?<|im_end|>\n<|im_start|>assistant\n"
WRONG = 2


class ScriptedTrees:
    """At each place wrong guesses first, each with a guess behind it, and the script's own token last.

    Two of seven guesses of the script are wrong too, so that drafts end in several places.
    """

    name = "scripted"

    def __init__(self, script: Sequence[int], vocabulary: int) -> None:
        self._script = script
        self._vocabulary = vocabulary

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Nothing to catch up with."""

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:  # noqa: ARG002 # the Protocol's argument
        coming = self._script[len(text) : len(text) + limit]
        tokens: list[int] = []
        parents: list[int] = []
        last = -1
        for place, right in enumerate(coming):
            level = [(right + i) % self._vocabulary for i in range(1, WRONG + 1)]
            level.append(right if (len(text) + place) % 7 not in {0, 2} else (right + 9) % self._vocabulary)
            first = len(tokens)
            tokens += level
            parents += [last] * len(level)
            tokens += level[:WRONG]
            parents += range(first, first + WRONG)
            last = first + WRONG
        return Draft(tuple(tokens), (None,) * len(tokens), (self.name,) * len(tokens), parents=tuple(parents))

    def agree(self, text: Sequence[int], length: int) -> None:
        """Nothing to forget."""


@pytest.fixture
def target(smollm2_model: Model) -> Iterator[Context]:
    with Context(smollm2_model, ContextOptions(length=512, threads=1, branches=MOST_BRANCHES)) as context:
        yield context


@pytest.mark.parametrize("sampling", [GREEDY, COUPLED], ids=["greedy", "coupled"])
def test_the_text_is_the_same_with_trees_and_without(
    target: Context, smollm2_tokenizer: Tokenizer, sampling: SamplingSettings
) -> None:
    prompt = smollm2_tokenizer.encode(PROMPT, parse_special=True, add_special=True)
    settings = turn(rule_for("coupled", sampling), sampling, 5, max_tokens=LENGTH)
    plain = Pair(target, NoDrafter(), list(prompt)).answer(settings)
    target.clear()
    pair = Pair(target, ScriptedTrees([*prompt, *plain], target.vocabulary_size), list(prompt))

    pair.read_prompt()
    for _ in pair.listen(settings):
        memory = low.llama_get_memory(target.pointer)
        assert low.llama_memory_seq_pos_max(memory, 0) == target.length - 1

    written = pair.text[len(prompt) :]
    require_same_text_or_near_tie(target, prompt, plain, written, sampling)
    kept = {finished.accepted for finished in pair.rounds}
    assert len(kept) > 1 < max(kept)
    assert all(finished.parents for finished in pair.rounds if finished.drafted)
