"""Texts with speculation against texts without: greedy, and above temperature 0 by the coupled rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localspec.bench.losslessness.branching import Branching
from localspec.bench.losslessness.divergence import (
    MOST_ROUNDING,
    NEAR_TIE,
    catch_up,
    choice_of,
    first_difference,
    gap_in,
    row_after,
    row_in_pass,
    top_two_gap,
)
from localspec.bench.losslessness.findings import Divergence, Texts
from localspec.chat.events import AnswerRequest, SpeculationSettings
from localspec.chat.guessing import Guesser
from localspec.decoding.drafter_names import BRANCHING
from localspec.decoding.language_model import LanguageModel
from localspec.decoding.loop import speculate
from localspec.decoding.rounds import Round, Turn, never
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.source_choice import NONE

CHAIN_LENGTH = 3
"""Guesses a draft, where the person leaves it to the program: by what pays it would be another at each run."""

TREE_LENGTH = 8
"""Guesses a draft, at least, where a place may have several: fewer would hardly show it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and who may guess for it, and how answers of theirs are compared.

    Attributes:
        target: the model whose text it is.
        guesser: makes guesses ready as it does for the answers of a conversation.
        end_tokens: ids that end an answer.
        draft_length: guesses a draft, but see TREE_LENGTH; None for CHAIN_LENGTH.
        max_tokens: most tokens of an answer.
    """

    target: LanguageModel
    guesser: Guesser
    end_tokens: frozenset[int]
    draft_length: int | None
    max_tokens: int

    def write(self, prompt: Sequence[int], sampling: SamplingSettings, drafter: str) -> list[Round]:
        """The rounds of an answer, greedy at temperature 0 and coupled above, through the loop that writes them all.

        Args:
            prompt: ids.
            sampling: with a seed.
            drafter: name of the source of guesses; NONE is speculation off.

        Raises:
            UsageError: it cannot guess here.
        """
        tokens = self.draft_length or CHAIN_LENGTH
        if drafter in BRANCHING:
            tokens = max(tokens, TREE_LENGTH)
        speculation = SpeculationSettings(drafter != NONE, drafter, tokens, "coupled")
        guesses = self.guesser.begin(AnswerRequest((), sampling, speculation), sampling, never)
        catch_up(self.target, prompt)
        guesses.drafter.prepare(prompt, never)
        turn = Turn(
            sampling=sampling,
            rule=guesses.rule,
            draft_length=Branching(tokens) if drafter == "tree" else guesses.length,
            end_tokens=self.end_tokens,
            max_tokens=self.max_tokens,
        )
        return list(speculate(self.target, guesses.drafter, prompt, turn))


@dataclass(frozen=True, slots=True)
class Plain:
    """A text without speculation, which others are compared with.

    Attributes:
        name: of the task.
        prompt: its ids.
        sampling: as it was written.
        tokens: ids that were written.
    """

    name: str
    prompt: Sequence[int]
    sampling: SamplingSettings
    tokens: Sequence[int]


def plain_text(pair: Pair, name: str, prompt: Sequence[int], sampling: SamplingSettings) -> Plain:
    """Write one without speculation."""
    return Plain(name, prompt, sampling, tokens_of(pair.write(prompt, sampling, NONE)))


def compare_text(pair: Pair, drafter: str, off: Plain) -> Texts:
    """Write a text once more, with the guesses of a source."""
    rounds = pair.write(off.prompt, off.sampling, drafter)
    place = first_difference(off.tokens, tokens_of(rounds))
    beside = [set(siblings(each)) for each in rounds]
    return Texts(
        drafter=drafter,
        rule="coupled" if off.sampling.temperature else "greedy",
        temperature=off.sampling.temperature,
        prompts=1,
        tokens=len(off.tokens) if place is None else place + 1,
        drafted=sum(len(each.drafted) for each in rounds),
        accepted=sum(each.accepted for each in rounds),
        siblings=sum(map(len, beside)),
        siblings_accepted=sum(len(some.intersection(each.path)) for some, each in zip(beside, rounds, strict=True)),
        divergences=() if place is None else (_divergence(pair, off, rounds, place),),
    )


def together(parts: Sequence[Texts]) -> Texts:
    """The comparisons of several prompts as one."""
    return replace(
        parts[0],
        prompts=sum(part.prompts for part in parts),
        tokens=sum(part.tokens for part in parts),
        drafted=sum(part.drafted for part in parts),
        accepted=sum(part.accepted for part in parts),
        siblings=sum(part.siblings for part in parts),
        siblings_accepted=sum(part.siblings_accepted for part in parts),
        divergences=tuple(each for part in parts for each in part.divergences),
    )


def tokens_of(rounds: Sequence[Round]) -> list[int]:
    """What the rounds emitted."""
    return [token for each in rounds for token in each.tokens]


def siblings(finished: Round) -> list[int]:
    """Indices of the guesses for whose place there was another before them."""
    return [i for i, parent in enumerate(finished.parents) if parent in finished.parents[:i]]


def _divergence(pair: Pair, off: Plain, rounds: Sequence[Round], place: int) -> Divergence:
    """Look into the place where the texts part.

    The target without speculation is asked again twice: in a pass of one token, as it wrote its text, and in a pass
    like the one that wrote the other token. Rounding explains the difference when the two rows are nearly equal, and
    the wide one writes the other token too, or so little decides that the rounding of earlier passes, kept in the
    cache, suffices.
    """
    on = tokens_of(rounds)
    text = [*off.prompt, *off.tokens[:place]]
    narrow = row_after(pair.target, text)
    found = Divergence(
        prompt=off.name,
        place=place,
        length=len(off.tokens),
        width=1,
        top_two_gap=top_two_gap(narrow),
        gap=None,
        logit_change=0.0,
        same_at_width=False,
        explained=False,
    )
    if place >= min(len(on), len(off.tokens)):
        # One text ends where the other goes on: no rounding does that.
        return found
    finished, kept = _round_at(rounds, place)
    wide = row_in_pass(pair.target, text[: len(text) - kept], finished, kept)
    parted = off.tokens[place], on[place]
    gap = gap_in(narrow, text, *parted, off.sampling)
    change = max(abs(float(wide[token]) - float(narrow[token])) for token in parted)
    same = choice_of(wide, text, off.sampling) == on[place]
    return replace(
        found,
        width=finished.width,
        gap=gap if math.isfinite(gap) else None,
        logit_change=change,
        same_at_width=same,
        explained=(same or gap < NEAR_TIE) and change < MOST_ROUNDING,
    )


def _round_at(rounds: Sequence[Round], place: int) -> tuple[Round, int]:
    """The round that wrote the token at `place`, and how many tokens it wrote before it.

    Those were kept guesses, each following the one before it: the text does not say which they were, a tree may have
    the same token in several places, the round's path does.
    """
    for each in rounds:
        if place < len(each.tokens):
            return each, place
        place -= len(each.tokens)
    raise IndexError("no round wrote so far")
