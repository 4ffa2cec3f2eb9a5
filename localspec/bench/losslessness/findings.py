"""What `localspec verify` found, part by part: plain data, sent line by line from the process that looked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ERROR_RATE = 1e-4
"""The chance that the tests of a right program fail it, all of them together (family-wise, by Holm's correction)."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where the text with speculation left the text without.

    Attributes:
        prompt: id of the task.
        place: index of the token, from 0.
        length: tokens of the text without speculation.
        width: tokens of the pass that wrote the other token.
        top_two_gap: how far the likeliest token was ahead of the next without speculation, in logits.
        gap: by how much the logits of the two tokens would have to change; None where the settings cut one off.
        logit_change: the most that the width of the pass changed any logit of the two.
        same_at_width: whether the target without speculation, in a pass of that width, writes the other token too.
        explained: whether rounding explains it.
    """

    prompt: str
    place: int
    length: int
    width: int
    top_two_gap: float
    gap: float | None
    logit_change: float
    same_at_width: bool
    explained: bool


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts with speculation against texts without.

    Attributes:
        drafter: name of the source of guesses.
        rule: greedy or coupled.
        temperature: of the sampling.
        prompts: how many were compared.
        tokens: compared, up to where texts part.
        drafted: guesses that were made.
        accepted: of those, kept.
        siblings: guesses for whose place there was another before them.
        siblings_accepted: of those, kept.
        divergences: where they part.
    """

    drafter: str
    rule: str
    temperature: float
    prompts: int
    tokens: int
    drafted: int
    accepted: int
    siblings: int = 0
    siblings_accepted: int = 0
    divergences: tuple[Divergence, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether nothing but rounding made a difference."""
        return all(each.explained for each in self.divergences)


@dataclass(frozen=True, slots=True)
class Position:
    """One place of real text, drawn from many times.

    Attributes:
        cut: whether it is a row with nothing cut off by the settings, reduced to its likeliest tokens.
        candidates: tokens that p leaves possible.
        drawn: how often.
        impossible: of those, tokens that p forbids.
        p_value: of the chi-square test.
        pair_p_value: of that of this place and the next together; None where no next place was drawn with it.
        tv_sampled: total variation between what was drawn and p.
        tv_noise: what chance alone makes of that, on average.
        tv_draft: total variation between p and q, or what was looked up in place of a draw from q.
        examined: guesses examined here, of several for the place the first.
        accepted: of those, kept.
        share_p_value: of accepted against 1 - TV(p, q); None where it cannot be tested.
    """

    cut: bool
    candidates: int
    drawn: int
    impossible: int
    p_value: float
    pair_p_value: float | None
    tv_sampled: float
    tv_noise: float
    tv_draft: float
    examined: int
    accepted: int
    share_p_value: float | None


@dataclass(frozen=True, slots=True)
class Draws:
    """The statistical test of a rule.

    Attributes:
        rule: its name.
        drafts: "chains" or "trees".
        lossless: what the rule says of itself.
        positions: one for each place.
        smallest: the smallest p-value, corrected.
    """

    rule: str
    drafts: str
    lossless: bool
    positions: tuple[Position, ...]
    smallest: float

    @property
    def fine(self) -> bool:
        """Whether what was drawn is distributed as p."""
        return self.smallest > ERROR_RATE and not any(position.impossible for position in self.positions)


@dataclass(frozen=True, slots=True)
class Caught:
    """Whether an error that was planted was found.

    Attributes:
        rule: name of the rule with the error, or of one in the same frame that must pass.
        drafts: "chains" or "trees".
        planted: whether it is the one with the error.
        found: whether the test rejects it.
        drawn: tokens drawn.
        impossible: of those, tokens that p forbids: one suffices.
        smallest: the smallest p-value, corrected.
    """

    rule: str
    drafts: str
    planted: bool
    found: bool
    drawn: int
    impossible: int
    smallest: float

    @property
    def fine(self) -> bool:
        """Whether the test did what it should."""
        return self.found == self.planted


@dataclass(slots=True)
class Findings:
    """All of it.

    Attributes:
        models: file names of target and draft.
        texts: greedy, then coupled, of each source of guesses.
        draws: the statistical tests, one for each rule.
        caught: the planted errors of each test, and in the same frame the rule under test.
        seconds: how long it took.
    """

    models: tuple[str, str] = ("", "")
    texts: list[Texts] = field(default_factory=list)
    draws: list[Draws] = field(default_factory=list)
    caught: list[Caught] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def fine(self) -> bool:
        """Whether every part is there, none found anything, and the rules say themselves that they are exact."""
        return (
            self.complete
            and all(each.lossless and each.fine for each in self.draws)
            and all(each.fine for each in self.texts)
            and all(each.fine for each in self.caught)
        )

    @property
    def complete(self) -> bool:
        """Whether every part came to its end."""
        drawn = {each.drafts for each in self.draws}
        return len(self.texts) >= 2 and bool(drawn) and drawn == {each.drafts for each in self.caught}

    def take(self, step: str, content: Mapping[str, Any]) -> None:
        """Add a part, as `asdict` left it."""
        values = dict(content)
        match step:
            case "texts":
                values["divergences"] = tuple(Divergence(**each) for each in values["divergences"])
                self.texts.append(Texts(**values))
            case "draws":
                values["positions"] = tuple(Position(**each) for each in values["positions"])
                self.draws.append(Draws(**values))
            case "caught":
                self.caught.append(Caught(**values))
