"""What `localspec verify` is to look into."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Self

from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import LoadPair


@dataclass(frozen=True, slots=True)
class Assignment:
    """What to look into.

    Attributes:
        loading: the pair.
        sampling: the person's settings, above temperature 0, with a seed.
        drafter: name of the source of guesses, or "auto": each that it may choose.
        rule: name of the acceptance rule under test, "auto" for that of the source, or a planted error.
        draft_length: guesses a draft, 1 or more; None to leave it to the program.
        prompts: how many are answered.
        max_tokens: most tokens of an answer.
        sequences: draws from each place.
        tree_sequences: likewise, where it takes a tree each time.
        control_sequences: likewise, for each of the planted errors.
    """

    loading: LoadPair
    sampling: SamplingSettings
    drafter: str
    rule: str
    draft_length: int | None
    prompts: int
    max_tokens: int
    sequences: int
    tree_sequences: int
    control_sequences: int

    def as_argument(self) -> str:
        """As a word on a command line."""
        return pickle.dumps(self).hex()

    @classmethod
    def of_argument(cls, word: str) -> Self:
        """What `as_argument` was called on."""
        told = pickle.loads(bytes.fromhex(word))  # noqa: S301 - written by the program that started us
        assert isinstance(told, cls)
        return told
