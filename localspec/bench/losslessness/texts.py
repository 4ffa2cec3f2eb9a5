"""Texts with speculation against texts without: greedy, and above temperature 0 by the coupled rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localspec.bench.losslessness.divergence import (
    MOST_ROUNDING,
    NEAR_TIE,
    choice_of,
    first_difference,
    gap_in,
    row_after,
    top_two_gap,
)
from localspec.bench.losslessness.findings import Divergence, Texts
from localspec.decoding.acceptance import rule_for
from localspec.decoding.draft_length import FixedLength
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.language_model import LanguageModel, keep_common_prefix
from localspec.decoding.loop import speculate
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import Round, Turn, never
from localspec.decoding.sampling_settings import SamplingSettings


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models, and how answers of theirs are compared.

    Attributes:
        target: the model whose text it is.
        draft: the model that guesses.
        end_tokens: ids that end an answer.
        draft_length: tokens a draft.
        max_tokens: most tokens of an answer.
    """

    target: LanguageModel
    draft: LanguageModel
    end_tokens: frozenset[int]
    draft_length: int
    max_tokens: int

    def write(self, prompt: Sequence[int], sampling: SamplingSettings, *, speculating: bool) -> list[Round]:
        """The rounds of an answer, greedy at temperature 0 and coupled above, through the loop that writes them all."""
        drafter: Drafter = ModelDrafter(self.draft, self.target.vocabulary_size) if speculating else NoDrafter()
        keep_common_prefix(self.target, prompt)
        for _ in prefill(self.target, prompt[:-1], never):
            pass
        drafter.prepare(prompt, never)
        turn = Turn(
            sampling=sampling,
            rule=rule_for("coupled", sampling),
            draft_length=FixedLength(self.draft_length),
            end_tokens=self.end_tokens,
            max_tokens=self.max_tokens,
        )
        return list(speculate(self.target, drafter, prompt, turn))


def compare_text(pair: Pair, name: str, prompt: Sequence[int], sampling: SamplingSettings) -> tuple[Texts, list[int]]:
    """One prompt with and without; and the text without."""
    off = tokens_of(pair.write(prompt, sampling, speculating=False))
    rounds = pair.write(prompt, sampling, speculating=True)
    on = tokens_of(rounds)
    place = first_difference(off, on)
    compared = len(off) if place is None else place + 1
    parted = () if place is None else (_divergence(pair, name, prompt, sampling, off, rounds, place),)
    accepted = sum(each.accepted for each in rounds)
    rule = "coupled" if sampling.temperature else "greedy"
    return Texts(rule, sampling.temperature, 1, compared, accepted, parted), off


def together(parts: Sequence[Texts]) -> Texts:
    """The comparisons of several prompts as one."""
    return replace(
        parts[0],
        prompts=sum(part.prompts for part in parts),
        tokens=sum(part.tokens for part in parts),
        accepted=sum(part.accepted for part in parts),
        divergences=tuple(each for part in parts for each in part.divergences),
    )


def tokens_of(rounds: Sequence[Round]) -> list[int]:
    """What the rounds emitted."""
    return [token for each in rounds for token in each.tokens]


def _divergence(  # noqa: PLR0913, PLR0917 - both texts and where they come from
    pair: Pair,
    name: str,
    prompt: Sequence[int],
    sampling: SamplingSettings,
    off: Sequence[int],
    rounds: Sequence[Round],
    place: int,
) -> Divergence:
    """Look into the place where the texts part.

    The target without speculation is asked again twice: in a pass of one token, as it wrote its text, and in a pass as
    wide as the one that wrote the other token. Rounding explains the difference when the two rows are nearly equal, and
    the wide one writes the other token too, or so little decides that the rounding of earlier passes, kept in the
    cache, suffices.
    """
    on = tokens_of(rounds)
    text = [*prompt, *off[:place]]
    start, drafted = _round_at(rounds, place)
    width = len(drafted) + 1
    narrow = row_after(pair.target, text)
    if place >= min(len(on), len(off)):
        # One text ends where the other goes on: no rounding does that.
        return Divergence(name, place, len(off), width, top_two_gap(narrow), None, 0.0, False, False)
    wide = row_after(pair.target, text[: len(prompt) + start], drafted, place - start)
    gap = gap_in(narrow, text, off[place], on[place], sampling)
    change = max(abs(float(wide[token]) - float(narrow[token])) for token in (off[place], on[place]))
    same = choice_of(wide, text, sampling) == on[place]
    return Divergence(
        prompt=name,
        place=place,
        length=len(off),
        width=width,
        top_two_gap=top_two_gap(narrow),
        gap=gap if math.isfinite(gap) else None,
        logit_change=change,
        same_at_width=same,
        explained=(same or gap < NEAR_TIE) and change < MOST_ROUNDING,
    )


def _round_at(rounds: Sequence[Round], place: int) -> tuple[int, tuple[int, ...]]:
    """Where the round began that wrote the token at `place` (or would have), and what was drafted in it."""
    start = 0
    for each in rounds:
        if place < start + len(each.tokens):
            return start, each.drafted
        start += len(each.tokens)
    return place, ()
