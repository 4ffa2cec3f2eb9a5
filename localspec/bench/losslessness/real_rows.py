"""Real p and q: what target and draft say at the places of texts that the target wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from localspec.bench.losslessness.sequences import PLACES, Place
from localspec.decoding.distributions import Certain, Distribution, Sparse, probabilities_at
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.drafters.model_source import draft_sampling
from localspec.decoding.language_model import LanguageModel, keep_common_prefix
from localspec.decoding.prefill import prefill
from localspec.decoding.rounds import never
from localspec.decoding.sampling import to_distribution
from localspec.decoding.sampling_settings import SamplingSettings

HEAD = 1024
"""Likeliest tokens, by p or q, that a row with nothing cut off keeps: whole vocabularies would take hours to draw."""

Rows = NDArray[np.float32]


def places_in(
    target: LanguageModel,
    draft: LanguageModel,
    texts: Sequence[tuple[list[int], list[int]]],
    sampling: SamplingSettings,
) -> tuple[list[Place], list[Place]]:
    """All places of some texts where p leaves a choice, those where p and q differ most first.

    Args:
        target: gives p.
        draft: gives q.
        texts: prompts and what the target wrote after them.
        sampling: the person's settings, above temperature 0.

    Returns:
        The places under these settings; and under the same temperature with nothing cut off, see HEAD.
    """
    as_set, uncut = [], []
    plain = SamplingSettings(temperature=sampling.temperature, top_k=0, top_p=1.0, min_p=0.0)
    for prompt, written in texts:
        of_target, of_draft = (_rows(model, prompt, written) for model in (target, draft))
        for i, (row, guess) in enumerate(zip(of_target, of_draft, strict=True)):
            common = guess[: row.size]
            as_set.append(_place(row, common, sampling, sampling.window([*prompt, *written[:i]]), cut=False))
            uncut.append(_place(*_heads(row, common), plain, (), cut=True))
    return _most_different(as_set), _most_different(uncut)


def evenly(places: Sequence[Place], count: int) -> list[Place]:
    """So many of the places, from the first to the last: where p and q are far apart, and where they agree."""
    if len(places) <= count:
        return list(places)
    return [places[i * (len(places) - 1) // max(count - 1, 1)] for i in range(count)]


def control_places(places: Sequence[Place], *, together: bool = False) -> list[Place]:
    """Two windows of places at which every error of a rule shows; tokens must be numbered alike in all `places`.

    In the first, any q being legal, each second p stands with the q of another place, so that nearly every guess is
    corrected; and the others with p itself turned round, its least likely token made the likeliest: what is drawn
    after a refusal is then far from p, though both draw the same tokens. In the second p and q are as near each other
    as they come, so that most guesses are kept, and a bonus follows them.

    A rule that judges guesses `together` shows its errors where p and q are apart at one place after the other and yet
    have their tokens in common: in the first window each q is then its p turned round, and p is made flat enough to
    leave a choice whatever the settings.
    """
    ordered = _most_different(places)
    first, others = ordered[:PLACES], ordered[PLACES : 2 * PLACES]
    if together:
        flat = [_flattened(place.p) for place in first]
        return [
            *(Place(p, _turned_round(p), place.cut) for p, place in zip(flat, first, strict=True)),
            *ordered[-PLACES:],
        ]
    apart = [
        replace(place, q=_turned_round(place.p) if number % 2 else other.q)
        for number, (place, other) in enumerate(zip(first, others, strict=True))
    ]
    return [*apart, *ordered[-PLACES:]]


def _flattened(p: Distribution) -> Distribution:
    """Half of p, and half of all its tokens alike."""
    ids, probabilities = p.support()
    return Sparse(ids, probabilities + 1 / ids.size)


def _turned_round(p: Distribution) -> Distribution:
    """The same tokens and the same probabilities, the likeliest token with the least of them."""
    ids, probabilities = p.support()
    order = probabilities.argsort()
    turned = probabilities.copy()
    turned[order] = probabilities[order[::-1]]
    likeliest_first = turned.argsort()[::-1]
    return Sparse(ids[likeliest_first], turned[likeliest_first])


def _place(row: Rows, guess: Rows, sampling: SamplingSettings, recent: Sequence[int], *, cut: bool) -> Place:
    """As the loop and the drafter make their distributions."""
    p = to_distribution(row, sampling, recent)
    return Place(p, to_distribution(guess, draft_sampling(sampling), recent), cut)


def _heads(row: Rows, guess: Rows) -> tuple[Rows, Rows]:
    """The two rows on the HEAD tokens that either finds likeliest, numbered anew."""
    size = min(row.size, guess.size)
    behind = np.minimum(row.max() - row[:size], guess.max() - guess[:size])
    kept = np.sort(behind.argpartition(min(HEAD, size - 1))[:HEAD])
    return row[kept], guess[kept]


def _most_different(places: Sequence[Place]) -> list[Place]:
    """Those with a choice, by TV(p, q), greatest first."""

    def overlap(place: Place) -> float:
        ids, p = place.p.support()
        return float(np.minimum(p, probabilities_at(place.q, ids)).sum())

    with_choice = [place for place in places if not isinstance(place.p, Certain) and place.p.support()[0].size > 1]
    return sorted(with_choice, key=overlap)


def _rows(model: LanguageModel, prompt: Sequence[int], written: Sequence[int]) -> Iterator[Rows]:
    """The logits before each written token."""
    keep_common_prefix(model, prompt)
    for _ in prefill(model, prompt[:-1], never):
        pass
    text = [prompt[-1], *written[:-1]]
    for start in range(0, len(text), LONGEST_DRAFT):
        yield from model.evaluate(text[start : start + LONGEST_DRAFT]).copy()
