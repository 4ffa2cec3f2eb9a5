"""Drawing from the shipped accept-and-resample code, many times, on real rows; and judging what comes out.

A window is a stretch of places with their p and q. One sequence goes through it as an answer does: draft a few tokens
from q, or a tree of them, verify them, go on behind what was emitted, until every place has its token. So each sequence
draws each place once, now as the first, now as a later token of a draft, as a correction or as a bonus; the places are
independent of each other, for p and q are fixed. A lossless rule makes every place's tokens distributed as its p,
whatever the rule: whole drafts are tested, not only single acceptances. And it leaves them independent of each other: a
rule that judges guesses together may be right at every place by itself and still make the one depend on the other, so
each place is tested with the next one too.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localspec.bench.losslessness.chi_square import cells, holm, pearson, share_test
from localspec.bench.losslessness.findings import Draws, Position
from localspec.bench.losslessness.places import Place
from localspec.bench.losslessness.planted import PLANTED
from localspec.bench.losslessness.small_trees import grow
from localspec.decoding.acceptance import AcceptanceRule, BranchingRule, Rejection, rule_for
from localspec.decoding.distributions import Distribution, probabilities_at
from localspec.decoding.rounds import Draft
from localspec.decoding.sampling_settings import SamplingSettings

PLACES = 10
"""Places in a window."""

CHUNK = 2_500
"""Sequences drawn in one go: about half a second."""


@dataclass(frozen=True, slots=True)
class Task:
    """Some sequences to draw.

    Attributes:
        window: places, gone through in this order.
        first: number of the window's first place among all places.
        rule: name of a rule, or of a planted error.
        draft_length: tokens a draft.
        sequences: how many.
        seed: of the rule.
    """

    window: tuple[Place, ...]
    first: int
    rule: str
    draft_length: int
    sequences: int
    seed: int


@dataclass(slots=True)
class Tally:
    """What came out at one place: tokens, alone and with the next place's; first guesses that were examined, and kept.

    Those are the first for their place: of further ones it is not known how often they should be kept.
    """

    tokens: Counter[int]
    examined: int = 0
    accepted: int = 0
    pairs: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Count another tally in."""
        self.tokens.update(other.tokens)
        self.examined += other.examined
        self.accepted += other.accepted
        self.pairs.update(other.pairs)


def rule_of(name: str, seed: int) -> AcceptanceRule:
    """A rule or a planted error by name; above temperature 0."""
    return PLANTED[name](seed) if name in PLANTED else rule_for(name, SamplingSettings(temperature=1.0, seed=seed))


def accepts_by_overlap(name: str) -> bool:
    """Whether that rule, or the one an error is planted in, keeps a first guess with probability 1 - TV(p, q)."""
    return isinstance(rule_of(name, 0), Rejection)


def branch(places: Sequence[Place]) -> bool:
    """Whether the drafts there are trees."""
    return any(len(place.guesses) > 1 for place in places)


def draw(task: Task) -> list[Tally]:
    """Draw the sequences of a task: one tally for each place of its window."""
    rule = rule_of(task.rule, task.seed)
    draft_at = _trees(task.window, rule) if branch(task.window) else _chains(task.window, rule, task.draft_length)
    length = len(task.window)
    emitted: list[list[int]] = [[] for _ in task.window]
    tallies = [Tally(Counter()) for _ in task.window]
    for number in range(task.sequences):
        # Where a token stands in its text: the coupled rule's noise is made from it.
        start = (task.seed * CHUNK + number) * length
        place = 0
        while place < length:
            draft, rows = draft_at(place, start + place)
            verdict = rule.verify(draft, rows.__getitem__, start + place)
            last = -1
            for guess in (*verdict.path, None):
                if guesses := draft.children(last):
                    tallies[place].examined += 1
                    tallies[place].accepted += guess == guesses[0]
                emitted[place].append(verdict.token if guess is None else draft.tokens[guess])
                last = -1 if guess is None else guess
                place += 1
    for tally, tokens in zip(tallies, emitted, strict=True):
        tally.tokens.update(tokens)
    for tally, (here, there) in zip(tallies, itertools.pairwise(emitted), strict=False):
        tally.pairs.update(zip(here, there, strict=True))
    return tallies


DraftAt = Callable[[int, int], tuple[Draft, Sequence[Distribution]]]
"""Given a place of a window and its position in the text: a draft, and p after the text and after each guess."""


def _chains(window: Sequence[Place], rule: AcceptanceRule, longest: int) -> DraftAt:
    """Chains of first guesses; none for the last place, so that there is always a p after the last guess."""
    ps = [place.p for place in window]
    qs = tuple(place.q if place.guesses[0] is None else None for place in window)

    def draft_at(place: int, position: int) -> tuple[Draft, Sequence[Distribution]]:
        end = min(place + longest, len(window) - 1)
        guesses = tuple([_guess(each, rule, position + i) for i, each in enumerate(window[place:end])])
        return Draft(guesses, qs[place:end]), ps[place:]

    return draft_at


def _guess(place: Place, rule: AcceptanceRule, position: int) -> int:
    looked_up = place.guesses[0]
    return rule.propose(place.first, position) if looked_up is None else looked_up


def _trees(window: Sequence[Place], rule: AcceptanceRule) -> DraftAt:
    """Trees; likewise none for the last place."""
    assert isinstance(rule, BranchingRule)
    ps = [place.p for place in window]

    def draft_at(place: int, position: int) -> tuple[Draft, Sequence[Distribution]]:
        draft, depths = grow(window[place:-1], rule, position)
        return draft, [ps[place], *(ps[place + depth] for depth in depths)]

    return draft_at


def tasks_for(places: Sequence[Place], rule: str, sequences: int, *, draft_length: int, seed: int) -> list[Task]:
    """The work of drawing each place `sequences` times, in chunks."""
    starts = range(0, len(places), PLACES)
    chunks = -(-sequences // CHUNK)
    return [
        Task(
            window=tuple(places[start : start + PLACES]),
            first=start,
            rule=rule,
            draft_length=draft_length,
            sequences=min(CHUNK, sequences - chunk * CHUNK),
            seed=seed + start * chunks + chunk,
        )
        for chunk in range(chunks)
        for start in starts
    ]


def judge(places: Sequence[Place], tallies: Sequence[Tally], rule: str) -> Draws:
    """Test every place that was drawn from.

    Args:
        places: as drawn from.
        tallies: one for each place; empty ones are left out.
        rule: its name.
    """
    acceptance_known = accepts_by_overlap(rule)
    drawn = [
        _position(place, following, tally, acceptance_known=acceptance_known)
        for (place, following), tally in zip(itertools.pairwise([*places, None]), tallies, strict=True)
        if place and tally.tokens
    ]
    positions = tuple(drawn)
    p_values = [
        p_value
        for position in positions
        for p_value in (position.p_value, position.pair_p_value, position.share_p_value)
        if p_value is not None
    ]
    drafts = "trees" if branch(places) else "chains"
    return Draws(rule, drafts, rule_of(rule, 0).lossless, positions, min(holm(p_values), default=1.0))


def _position(place: Place, following: Place | None, tally: Tally, *, acceptance_known: bool) -> Position:
    ids, p = place.p.support()
    q = probabilities_at(place.first, ids)
    counts = np.array([tally.tokens[token] for token in ids.tolist()])
    drawn = tally.tokens.total()
    # What q has outside the support of p is in TV(p, q) too: 1 - sum of min(p, q).
    overlap = float(np.minimum(p, q).sum())
    noise = np.sqrt(2 * p * (1 - p) / (np.pi * drawn)).sum() / 2
    return Position(
        cut=place.cut,
        candidates=ids.size,
        drawn=drawn,
        impossible=drawn - int(counts.sum()),
        p_value=pearson(p, counts) if counts.sum() else 0.0,
        pair_p_value=_pair_p_value(place.p, following.p, tally) if following and tally.pairs else None,
        tv_sampled=float(np.abs(counts / drawn - p).sum() + 1 - counts.sum() / drawn) / 2,
        tv_noise=float(noise),
        tv_draft=1 - overlap,
        examined=tally.examined,
        accepted=tally.accepted,
        share_p_value=share_test(tally.accepted, tally.examined, overlap) if acceptance_known else None,
    )


def _pair_p_value(here: Distribution, there: Distribution, tally: Tally) -> float:
    """Of the test that what was drawn at two places is independent, each as its p says."""
    drawn = tally.pairs.total()
    (cell, cell_p), (next_cell, next_p) = (_cells(p, drawn) for p in (here, there))
    observed = np.zeros((cell_p.size, next_p.size), np.int64)
    for (token, next_token), count in tally.pairs.items():
        # Those that p forbids have no cell; they fail the test by being there.
        if token in cell and next_token in next_cell:
            observed[cell[token], next_cell[next_token]] += count
    return pearson(np.outer(cell_p, next_p).ravel(), observed.ravel()) if observed.any() else 0.0


def _cells(p: Distribution, drawn: int) -> tuple[dict[int, int], NDArray[np.float64]]:
    """The cell of each token, the rare ones together, and the probability of each cell."""
    ids, probabilities = p.support()
    cell, count = cells(probabilities * drawn)
    of_cells = np.bincount(cell, probabilities, count).astype(np.float64)
    return dict(zip(ids.tolist(), cell.tolist(), strict=True)), of_cells
