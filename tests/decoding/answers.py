"""One answer of a pair, watched: the invariants of the loop, checked after every round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from localspec.decoding.acceptance import AcceptanceRule, Greedy
from localspec.decoding.draft_length import FixedLength
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.language_model import LanguageModel
from localspec.decoding.loop import speculate
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import Draft, Round, Turn, never
from localspec.decoding.sampling_settings import SamplingSettings

GREEDY = SamplingSettings(temperature=0.0)


def turn(  # noqa: PLR0917 # one argument for each field of a Turn
    rule: AcceptanceRule | None = None,
    sampling: SamplingSettings = GREEDY,
    draft_length: int = 4,
    end_tokens: Sequence[int] = (),
    max_tokens: int | None = 12,
    cancelled: Callable[[], bool] = never,
) -> Turn:
    return Turn(sampling, rule or Greedy(), FixedLength(draft_length), frozenset(end_tokens), max_tokens, cancelled)


Model = TypeVar("Model", bound=LanguageModel)


@dataclass(slots=True)
class Pair(Generic[Model]):
    """A target, a drafter, and the text as the reader of the rounds has seen it.

    Attributes:
        draft: the drafter's model, where it has one.
        rounds: those received so far.
    """

    target: Model
    drafter: Drafter
    text: list[int]
    draft: Model | None = None
    rounds: list[Round] = field(default_factory=list)

    def read_prompt(self) -> None:
        """Evaluate all of the text but its last token, where it is not held yet."""
        for _ in prefill(self.target, self.text[:-1], never):
            pass
        self.drafter.prepare(self.text, never)

    def listen(self, settings: Turn) -> Iterator[Round]:
        """The rounds of an answer, each added to the text and checked before it is passed on."""
        for finished in speculate(self.target, self.drafter, tuple(self.text), settings):
            self.rounds.append(finished)
            self.text.extend(finished.tokens)
            self.check()
            yield finished

    def answer(self, settings: Turn) -> list[int]:
        """Read the prompt, take the whole answer, and return its tokens."""
        start = len(self.text)
        self.read_prompt()
        for _ in self.listen(settings):
            pass
        self.check()
        return self.text[start:]

    def check(self) -> None:
        """Both caches equal the text that was emitted (the last token is always still to be evaluated)."""
        assert list(self.target.tokens) == self.text[:-1]
        self.check_draft()

    def check_draft(self) -> None:
        if self.draft is not None:
            assert list(self.draft.tokens) == self.text[:-1][: self.draft.length]


def pair_of(target: Model, draft: Model, prompt: Sequence[int]) -> Pair[Model]:
    return Pair(target, ModelDrafter(draft, target.vocabulary_size), list(prompt), draft)


class ScriptedDrafter:
    """Guesses along a script of the whole text, each token changed by `shift`; it has no model and stops at nothing."""

    name = "scripted"

    def __init__(self, script: Sequence[int], vocabulary: int, shift: int = 0) -> None:
        self._script = script
        self._vocabulary = vocabulary
        self._shift = shift

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Nothing to catch up with."""

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:  # noqa: ARG002 # the Protocol's argument
        coming = self._script[len(text) : len(text) + limit]
        guesses = tuple((token + self._shift) % self._vocabulary for token in coming)
        return Draft(guesses, (None,) * len(guesses), (self.name,) * len(guesses))

    def agree(self, text: Sequence[int], length: int) -> None:
        """Nothing to forget."""


class Polls:
    """A cancel check that counts how often it is asked and says yes at chosen times."""

    def __init__(self, says_yes: Callable[[int], bool] = lambda _poll: False) -> None:
        self.count = 0
        self._says_yes = says_yes

    def __call__(self) -> bool:
        self.count += 1
        return self._says_yes(self.count - 1)
