"""Guesses from whichever source promises most just now, each judged by the rule that fits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from localspec.decoding.distributions import Distribution
from localspec.decoding.drafter_names import CHOSEN
from localspec.decoding.drafters import Drafter
from localspec.decoding.rounds import Draft, Turn
from localspec.decoding.source_choice import SourceChoice
from localspec.decoding.verdict import AcceptanceRule, Target, Verdict


class ChosenDrafter:
    """Drafts with the source that a choice names, round by round.

    Args:
        drafters: by name, all that may be chosen.
        rules: judges of their drafts, likewise.
        choice: names one of them.
    """

    name = CHOSEN

    def __init__(
        self, drafters: Mapping[str, Drafter], rules: Mapping[str, AcceptanceRule], choice: SourceChoice
    ) -> None:
        self._drafters = drafters
        self._rules = rules
        self._choice = choice
        self._prepared = ""
        self._turns: dict[str, Turn] = {}

    def prepare(self, text: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Read the prompt with the source that begins."""
        self._prepared = self._choice.current
        self._drafters[self._prepared].prepare(text, cancelled)

    def draft(self, text: Sequence[int], limit: int, turn: Turn) -> Draft:
        """Up to `limit` tokens; see `Drafter.draft`. A source that was not used for a while reads the text first."""
        source = self._choice.current
        if source != self._prepared:
            self._prepared = source
            self._drafters[source].prepare(text, turn.cancelled)
        # The same turn each time: drafters keep by it what they have begun.
        if source not in self._turns:
            self._turns[source] = replace(turn, rule=self._rules[source])
        return self._drafters[source].draft(text, limit, self._turns[source])

    def agree(self, text: Sequence[int], length: int) -> None:
        """Cut the source back that has drafted; the others hold less."""
        if self._prepared:
            self._drafters[self._prepared].agree(text, length)


class ChosenRule:
    """Judges each draft by the rule of the source that made it.

    Exact as those rules are: which one it is depends on the text and on the time that earlier rounds took, and is
    settled before anything is drawn.

    Args:
        rules: by source; each with random numbers of its own.
        choice: names the source.
    """

    def __init__(self, rules: Mapping[str, AcceptanceRule], choice: SourceChoice) -> None:
        self._rules = rules
        self._choice = choice
        self._used: list[str] = []

    @property
    def name(self) -> str:
        """Of the rules that were used, in order, joined by `+`."""
        return "+".join(self._used) or self._rules[self._choice.current].name

    @property
    def lossless(self) -> bool:
        """Whether all of them are."""
        return all(rule.lossless for rule in self._rules.values())

    @property
    def may_leave_out(self) -> bool:
        """See `AcceptanceRule`."""
        return self._rules[self._choice.current].may_leave_out

    def propose(self, q: Distribution, position: int) -> int:
        """Draw a token as the source's rule does."""
        return self._rules[self._choice.current].propose(q, position)

    def verify(self, draft: Draft, target: Target, position: int) -> Verdict:
        """See `AcceptanceRule`."""
        rule = self._rules[self._choice.current]
        if draft.tokens and rule.name not in self._used:
            self._used.append(rule.name)
        return rule.verify(draft, target, position)
