"""Table models, drafters and settings under which exactness is tested, and the runs that gather the evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from localspec.decoding.acceptance import AcceptanceRule, rule_for
from localspec.decoding.distributions import Dense, Distribution, Sparse, padded_weights
from localspec.decoding.draft_length import DraftLength, FixedLength
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.model import ModelDrafter
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.loop import speculate
from localspec.decoding.rounds import Draft, Round, Turn
from localspec.decoding.sampling_settings import SamplingSettings
from tests.decoding.exactness import Tally
from tests.decoding.reference_sampling import boundary_margin, exact_probabilities
from tests.decoding.table_model import Table, TableModel, near, random_table

PROMPT = (1, 2, 1)
VOCABULARY = 7
TARGET = random_table(1, VOCABULARY)
CLOSE = near(TARGET, 2, 0.8)
FAR = random_table(3, VOCABULARY)
PLAIN = SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)

RuleMaker = Callable[[str, SamplingSettings], AcceptanceRule]


class GuessingDrafter:
    """Guesses from rules of its own, without a model.

    Args:
        vocabulary: ids below it exist.
        q: draw each guess from it, and say so; None to guess by a rule, and claim nothing.
    """

    name = "guessing"

    def __init__(self, vocabulary: int, q: Distribution | None) -> None:
        self._vocabulary = vocabulary
        self._q = q

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Nothing to catch up with."""

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        tokens = list(text)
        for _ in range(limit):
            position = len(tokens)
            tokens.append(
                turn.rule.propose(self._q, position) if self._q else (tokens[-1] * 2 + position) % self._vocabulary
            )
        guesses = tuple(tokens[len(text) :])
        return Draft(guesses, (self._q,) * len(guesses), (self.name,) * len(guesses))

    def agree(self, text: Sequence[int], length: int) -> None:
        """Nothing to forget."""


def _dense(*weights: float) -> Dense:
    padded = padded_weights(len(weights))
    padded[: len(weights)] = weights
    return Dense(padded)


OTHER_DRAFTS: dict[str, Distribution | None] = {
    "deterministic": None,
    "sparse q": Sparse(np.array([5, 2, 0]), np.array([0.5, 0.3, 0.2])),
    "dense q": _dense(0.1, 0.2, 0.05, 0.3, 0.1, 0.15, 0.1),
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """What one exactness test runs.

    Attributes:
        draft: the draft model's table, or a key of OTHER_DRAFTS for a `GuessingDrafter`.
        answer: tokens in one answer: enough for a few rounds, so that a roll-back stands before most of them.
        together: lengths of the stretches from the start of the answer that are outcomes of their own each.
    """

    sampling: SamplingSettings = PLAIN
    target: Table = field(default_factory=lambda: TARGET)
    draft: Table | str = field(default_factory=lambda: CLOSE)
    draft_length: int = 3
    answer: int = 8
    prompt: tuple[int, ...] = PROMPT
    together: tuple[int, ...] = (3,)

    def length(self) -> DraftLength:
        """Where its drafts end."""
        return FixedLength(self.draft_length)

    def drafter(self) -> Drafter:
        vocabulary = self.target.shape[-1]
        if isinstance(self.draft, str):
            return GuessingDrafter(vocabulary, OTHER_DRAFTS[self.draft])
        return ModelDrafter(TableModel(self.draft), vocabulary)


def _with(**changes: object) -> SamplingSettings:
    return replace(PLAIN, **changes)  # type: ignore[arg-type] # names of settings


WIDE = random_table(4, 197, spread=2.5)
WIDE_DRAFT = near(WIDE[:131, :131], 5, 0.7)
_ALL_PENALTIES = {"repetition_penalty": 1.3, "presence_penalty": 0.3, "frequency_penalty": 0.4, "penalty_window": 3}
_BIAS = ((0, 1.5), (3, -1.0), (5, float("-inf")))
_RARE = ((5, -2.0), (6, -2.0))
"""On the ids that the smaller draft lacks: it drafts nothing more once the target has written one."""

SCENARIOS: dict[str, Scenario] = {
    "dense": Scenario(),
    "cold": Scenario(_with(temperature=0.3)),
    "hot": Scenario(_with(temperature=1.5)),
    "far draft": Scenario(draft=FAR),
    "top-k": Scenario(_with(top_k=3)),
    "top-k 1": Scenario(_with(top_k=1)),
    "top-k beyond the vocabulary": Scenario(_with(top_k=1000)),
    "top-p": Scenario(_with(top_p=0.8)),
    "min-p": Scenario(_with(min_p=0.15)),
    "top-k and top-p": Scenario(_with(top_k=4, top_p=0.85), draft=FAR),
    "top-p and min-p": Scenario(_with(top_p=0.95, min_p=0.1, temperature=1.5)),
    "all truncations": Scenario(_with(top_k=5, top_p=0.9, min_p=0.05, temperature=0.8)),
    "repetition penalty": Scenario(_with(repetition_penalty=1.8, penalty_window=3)),
    "presence penalty": Scenario(_with(presence_penalty=1.2, penalty_window=2)),
    "frequency penalty": Scenario(_with(frequency_penalty=0.8, penalty_window=4)),
    "penalties over the whole text": Scenario(_with(frequency_penalty=0.5, penalty_window=-1), answer=5),
    "logit bias": Scenario(_with(logit_bias=_BIAS)),
    "everything": Scenario(_with(top_k=5, top_p=0.9, min_p=0.05, temperature=1.2, logit_bias=_BIAS, **_ALL_PENALTIES)),
    "smaller draft vocabulary": Scenario(_with(logit_bias=_RARE), draft=near(TARGET[:5, :5], 6, 0.5)),
    "smaller draft vocabulary, top-k": Scenario(_with(top_k=6, logit_bias=_RARE), draft=near(TARGET[:5, :5], 6, 0.5)),
    "larger draft vocabulary": Scenario(draft=random_table(7, 11)),
    "larger draft vocabulary, top-p": Scenario(_with(top_p=0.9), draft=random_table(7, 11)),
    "deterministic draft": Scenario(draft="deterministic"),
    "deterministic draft, top-k": Scenario(_with(top_k=4), draft="deterministic"),
    "sparse q": Scenario(draft="sparse q"),
    "sparse q, top-p": Scenario(_with(top_p=0.9), draft="sparse q"),
    "dense q": Scenario(draft="dense q"),
    "dense q, top-p": Scenario(_with(top_p=0.9), draft="dense q"),
    "order 2": Scenario(target=random_table(8, 5, order=2), draft=random_table(9, 5), draft_length=2),
    "few tokens, two blocks": Scenario(
        target=random_table(312, 3, spread=2.5),
        draft=random_table(812, 3, spread=2.5),
        draft_length=2,
        answer=7,
        together=(3, 3),
    ),
    "few tokens, two longer blocks": Scenario(
        target=random_table(41, 3), draft=random_table(42, 3), draft_length=4, answer=11, together=(5, 5)
    ),
    "draft length 1": Scenario(draft_length=1, answer=6),
    "draft length 6": Scenario(draft=near(TARGET, 10, 0.2), draft_length=6, answer=14),
    "wide": Scenario(target=WIDE, draft=WIDE_DRAFT),
    "wide, top-k": Scenario(_with(top_k=2, temperature=1.5), target=WIDE, draft=WIDE_DRAFT),
    "wide, top-p": Scenario(_with(top_p=0.9), target=WIDE, draft=WIDE_DRAFT),
}


class ExactTarget:
    """The target's exact distributions after a text, each worked out once by the slow reference."""

    def __init__(self, table: Table, sampling: SamplingSettings) -> None:
        self._table = table
        self._sampling = sampling
        self._known: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self._joint: dict[tuple[tuple[int, ...], int], NDArray[np.float64]] = {}

    def after(self, text: Sequence[int]) -> NDArray[np.float64]:
        order = self._table.ndim - 1
        window = self._sampling.penalty_window if self._sampling.penalises else 0
        context = tuple(text) if window < 0 else tuple(text[-max(order, window) :])
        if context not in self._known:
            logits = self._table[context[-order:]]
            # Rounding must not decide what is truncated, or the two would differ and both be right.
            assert boundary_margin(logits, self._sampling, context) > 1e-5
            self._known[context] = exact_probabilities(logits, self._sampling, context)
        return self._known[context]

    def joint(self, text: tuple[int, ...], length: int) -> NDArray[np.float64]:
        """The joint distribution of so many tokens after `text`, flattened."""
        if length == 1:
            return self.after(text)
        if (text, length) not in self._joint:
            first = self.after(text)
            rest = np.zeros((first.size, first.size ** (length - 1)))
            for token in np.flatnonzero(first).tolist():
                rest[token] = first[token] * self.joint((*text, token), length - 1)
            self._joint[text, length] = rest.ravel()
        return self._joint[text, length]


def gather(
    scenario: Scenario, rule_name: str, answers: int, rule_maker: RuleMaker = rule_for, first_seed: int = 0
) -> Tally:
    """Give many answers through the real loop, each with a seed of its own, and tally every emitted token."""
    tally = Tally()
    exact = ExactTarget(scenario.target, scenario.sampling)
    target, drafter = TableModel(scenario.target), scenario.drafter()
    few = scenario.target.shape[-1] <= VOCABULARY
    for seed in range(first_seed, first_seed + answers):
        text = list(scenario.prompt)
        seeded = replace(scenario, sampling=replace(scenario.sampling, seed=seed))
        rule = rule_maker(rule_name, seeded.sampling)
        for finished in answer_once(seeded, target, drafter, rule):
            for place, token in enumerate(finished.tokens):
                role = _role(place, finished) if rule_name != "block" else _place(text, scenario)
                tally.add((role, text[-1] if few else None), exact.after(text), token)
                text.append(token)
        if few:
            _tally_together(tally, exact, text, scenario)
    return tally


def answer_once(scenario: Scenario, target: TableModel, drafter: Drafter, rule: AcceptanceRule) -> list[Round]:
    """The rounds of one answer to the scenario's prompt."""
    text = list(scenario.prompt)
    target.truncate(0)
    target.evaluate(text[:-1], rows=0)
    target.calls.clear()
    drafter.prepare(text, lambda: False)
    turn = Turn(scenario.sampling, rule, scenario.length(), max_tokens=scenario.answer)
    return list(speculate(target, drafter, text, turn))


def seeds_whose_text_drafts_change(scenario: Scenario, answers: int) -> list[int]:
    """Those of so many answers under the coupled rule that are not what they are without drafts.

    There the noise alone decides, so one wrong token in one text shows what takes hundreds of texts to see in numbers.
    """
    target, drafter = TableModel(scenario.target), scenario.drafter()
    plain = Scenario(scenario.sampling, scenario.target, draft_length=0, answer=scenario.answer, prompt=scenario.prompt)
    changed = []
    for seed in range(answers):
        rule = rule_for("coupled", replace(scenario.sampling, seed=seed))
        texts = [
            [token for finished in answer_once(each, target, own, rule) for token in finished.tokens]
            for each, own in ((scenario, drafter), (plain, NoDrafter()))
        ]
        if texts[0] != texts[1]:
            changed.append(seed)
    return changed


def _tally_together(tally: Tally, exact: ExactTarget, text: list[int], scenario: Scenario) -> None:
    """Stretches of several tokens as one outcome: dependence between tokens shows here."""
    start, size = len(scenario.prompt), scenario.target.shape[-1]
    for length in scenario.together:
        outcome = 0
        for token in text[start : start + length]:
            outcome = outcome * size + token
        tally.add((f"{length} together", start), exact.joint(tuple(text[:start]), length), outcome)
        start += length


def _place(text: Sequence[int], scenario: Scenario) -> str | int:
    """The place in the answer, as far as its first round may reach."""
    place = len(text) - len(scenario.prompt)
    return place if place <= scenario.draft_length else "later"


def _role(place: int, finished: Round) -> str | int:
    if not finished.drafted:
        return "plain"
    return "bonus" if place == len(finished.drafted) else place
