"""Real p and q: what target and draft say at the places of texts that the target wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from localspec.bench.losslessness.divergence import catch_up
from localspec.bench.losslessness.manners import MOST_GUESSES
from localspec.bench.losslessness.places import Place
from localspec.bench.losslessness.sequences import PLACES
from localspec.bench.losslessness.texts import Plain
from localspec.decoding.distributions import Certain, Distribution, Sparse, probabilities_at
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.drafters.model_source import draft_sampling
from localspec.decoding.language_model import LanguageModel, Logits
from localspec.decoding.sampling import to_distribution
from localspec.decoding.sampling_settings import SamplingSettings

HEAD = 1024
"""Likeliest tokens, by p or q, that a row with nothing cut off keeps: whole vocabularies would take hours to draw."""

_MIXED = 6
"""Tokens of a p that is mixed: few enough that each counts."""

_MOSTLY = 0.7
"""The mass of its likeliest token in a q that second guesses show an error with: what it leaves is far from q."""


def places_in(
    target: LanguageModel,
    draft: LanguageModel | None,
    texts: Sequence[Plain],
    sampling: SamplingSettings,
) -> tuple[list[Place], list[Place]]:
    """All places of some texts where p leaves a choice, those first where p and q differ most, or p is least sure.

    Args:
        target: gives p.
        draft: gives q; None where there is none.
        texts: that the target wrote.
        sampling: the person's settings, above temperature 0.

    Returns:
        The places under these settings; and under the same temperature with nothing cut off, see HEAD.
    """
    as_set, uncut = [], []
    plain = SamplingSettings(temperature=sampling.temperature, top_k=0, top_p=1.0, min_p=0.0)
    for text in texts:
        prompt, written = text.prompt, text.tokens
        of_target = _rows(target, prompt, written)
        of_draft: Iterable[Logits | None] = _rows(draft, prompt, written) if draft else [None] * len(written)
        for i, (row, guess) in enumerate(zip(of_target, of_draft, strict=True)):
            common = None if guess is None else guess[: row.size]
            as_set.append(_place(row, common, sampling, sampling.window([*prompt, *written[:i]]), cut=False))
            uncut.append(_place(*_heads(row, common), plain, (), cut=True))
    return _most_different(as_set), _most_different(uncut)


def evenly(places: Sequence[Place], count: int) -> list[Place]:
    """So many of the places, from the first to the last: where p and q are far apart, and where they agree."""
    if len(places) <= count:
        return list(places)
    return [places[i * (len(places) - 1) // max(count - 1, 1)] for i in range(count)]


def control_places(places: Sequence[Place], *, together: bool = False, branching: bool = False) -> list[Place]:
    """Two windows of places at which every error of a rule shows; tokens must be numbered alike in all `places`.

    In the first, any q being legal, each second p stands with the q of another place, so that nearly every guess is
    corrected; and the others with p itself turned round, its least likely token made the likeliest: what is drawn
    after a refusal is then far from p, though both draw the same tokens. In the second p and q are as near each other
    as they come, so that most guesses are kept, and a bonus follows them.

    A rule that judges guesses `together` shows its errors where p and q are apart at one place after the other and yet
    have their tokens in common: in the first window each q is then its p turned round, and p is made flat enough to
    leave a choice whatever the settings.

    Where drafts are `branching`, it must show what the first guess leaves of p and of q. So each p is mixed from some
    places, in both windows, and its q is mostly one of p's least likely tokens, and all others alike.
    """
    ordered = [place if place.q else replace(place, q=_flattened(place.p)) for place in _most_different(places)]
    first, others = ordered[:PLACES], ordered[PLACES : 2 * PLACES]
    if branching:
        mixed = [_mixed([place.p for place in ordered[i : i + MOST_GUESSES]]) for i in range(2 * PLACES)]
        return [Place(p, _mostly_unlikely(p), cut=first[0].cut) for p in mixed]
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


def _mixed(ps: Sequence[Distribution]) -> Distribution:
    """Of the first one most, of each other half as much as of the one before; the likeliest tokens, made flatter."""
    ids = np.unique(np.concatenate([p.support()[0] for p in ps]))
    weights = np.add.reduce([probabilities_at(p, ids) / 2**i for i, p in enumerate(ps)])
    kept = weights.argsort()[::-1][:_MIXED]
    return _flattened(Sparse(ids[kept], weights[kept]))


def _mostly_unlikely(p: Distribution) -> Distribution:
    """Mostly the token that p likes least, else any of the others."""
    ids, probabilities = p.support()
    others = (1 - _MOSTLY) / max(ids.size - 1, 1)
    return Sparse(ids, np.where(np.arange(ids.size) == probabilities.argmin(), _MOSTLY, others))


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


def _place(row: Logits, guess: Logits | None, sampling: SamplingSettings, recent: Sequence[int], *, cut: bool) -> Place:
    """As the loop and the drafter make their distributions."""
    q = None if guess is None else to_distribution(guess, draft_sampling(sampling), recent)
    return Place(to_distribution(row, sampling, recent), q, cut)


def _heads(row: Logits, guess: Logits | None) -> tuple[Logits, Logits | None]:
    """The two rows on the HEAD tokens that either finds likeliest, numbered anew."""
    size = row.size if guess is None else min(row.size, guess.size)
    behind = row.max() - row[:size]
    if guess is not None:
        behind = np.minimum(behind, guess.max() - guess[:size])
    kept = np.sort(behind.argpartition(min(HEAD, size - 1))[:HEAD])
    return row[kept], None if guess is None else guess[kept]


def _most_different(places: Sequence[Place]) -> list[Place]:
    """Those with a choice, by TV(p, q), greatest first; without a q by that of p from its likeliest token."""

    def overlap(place: Place) -> float:
        ids, p = place.p.support()
        return float(np.minimum(p, probabilities_at(place.q, ids)).sum() if place.q else p.max())

    with_choice = [place for place in places if not isinstance(place.p, Certain) and place.p.support()[0].size > 1]
    return sorted(with_choice, key=overlap)


def _rows(model: LanguageModel, prompt: Sequence[int], written: Sequence[int]) -> Iterator[Logits]:
    """The logits before each written token."""
    catch_up(model, prompt)
    text = [prompt[-1], *written[:-1]]
    for start in range(0, len(text), LONGEST_DRAFT):
        yield from model.evaluate(text[start : start + LONGEST_DRAFT]).copy()
