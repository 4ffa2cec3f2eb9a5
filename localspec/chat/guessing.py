"""Who guesses during one answer, how much, and who judges it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from localspec.chat.events import AnswerRequest, Role
from localspec.decoding.acceptance import AcceptanceRule, rule_for
from localspec.decoding.adaptive_length import AdaptiveLength
from localspec.decoding.draft_length import DraftLength, FixedLength
from localspec.decoding.drafter_names import CHOSEN, NEEDS_MODEL
from localspec.decoding.drafters import Drafter
from localspec.decoding.drafters.chosen import ChosenDrafter, ChosenRule
from localspec.decoding.drafters.none import NoDrafter
from localspec.decoding.outlook import Outlook
from localspec.decoding.rounds import Round
from localspec.decoding.rules import contradiction
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.decoding.seeds import seed_of
from localspec.decoding.source_choice import NONE, Chosen, SourceChoice, SourceWatch
from localspec.decoding.source_speeds import SOURCES, SourceSpeeds
from localspec.decoding.source_theory import candidates, promising, theory
from localspec.errors import UsageError


@dataclass(frozen=True, slots=True)
class Guessing:
    """How a session may guess.

    Attributes:
        drafters: the sources of guesses a request may name. One that is not here counts as no guesses.
        adaptive: makes the draft-length rule of an answer whose length is AUTO, polling the second argument while that
            takes time; None refuses such requests.
        speeds: what is known of the sources at these settings, told whether a conversation begins; None where nothing
            is learned of them: then the usual one is used in place of the best.
        refused: why those sources cannot be used that would be here otherwise, by name.
    """

    drafters: Sequence[Drafter] = ()
    adaptive: Callable[[SamplingSettings, Callable[[], bool]], DraftLength] | None = None
    speeds: Callable[[SamplingSettings, bool], SourceSpeeds] | None = None
    refused: Mapping[str, str] = field(default_factory=dict)


class AnswerGuesses:
    """The guesses of one answer.

    Attributes:
        drafter: makes them.
        rule: judges them.
        length: says how many.
    """

    def __init__(
        self,
        drafter: Drafter,
        rule: AcceptanceRule,
        length: DraftLength,
        followed_by: SourceChoice | SourceWatch | None = None,
    ) -> None:
        self.drafter = drafter
        self.rule = rule
        self.length = length
        self._followed_by = followed_by

    def observe(self, finished: Round) -> None:
        """Learn from a round how fast its source is."""
        if not isinstance(self.length, AdaptiveLength):
            return
        if isinstance(self._followed_by, SourceChoice):
            self._followed_by.observe(finished, self.length.costs)
        elif self._followed_by is not None:
            self._followed_by.observe(self.drafter.name, finished, self.length.costs)

    def finish(self) -> Chosen | None:
        """The answer is over; says which source was chosen for it, where there was a choice."""
        if isinstance(self._followed_by, SourceChoice):
            return self._followed_by.finish()
        if self._followed_by is not None:
            self._followed_by.end_stretch()
        return None

    def outlook(self, source: str) -> Outlook | None:
        """What guesses of the draft model promise; None where it does not guess, or nobody predicts."""
        return self.length.outlook() if source in NEEDS_MODEL and isinstance(self.length, AdaptiveLength) else None


class Guesser:
    """Makes the guesses of answers ready, as each request asks for them."""

    def __init__(self, guessing: Guessing) -> None:
        self._guessing = guessing
        self.drafters = {drafter.name: drafter for drafter in guessing.drafters}

    def begin(
        self,
        request: AnswerRequest,
        sampling: SamplingSettings,
        cancelled: Callable[[], bool],
        rule: AcceptanceRule | None = None,
    ) -> AnswerGuesses:
        """Make ready for an answer.

        Args:
            request: says who is to guess, and how much.
            sampling: of the answer, with a seed.
            cancelled: polled while costs are measured.
            rule: judges the guesses in place of the request's own.

        Raises:
            UsageError: settings that contradict each other, or a source that cannot guess here.
            ValueError: a setting that cannot be, in words.
        """
        speculation = request.speculation
        wanted = speculation.drafter if speculation.enabled else NONE
        if wrong := contradiction(speculation.acceptance, wanted, sampling.temperature):
            raise UsageError(*wrong)
        if wanted in self._guessing.refused:
            raise UsageError(
                f"{wanted} cannot guess here", f"{self._guessing.refused[wanted]}.", "Take another drafter, or auto."
            )
        length = self._length(request, sampling, cancelled)
        if wanted == CHOSEN:
            return self._choosing(request, sampling, length, rule)
        drafter = self.drafters.get(wanted, NoDrafter())
        return self._watching(drafter, request, sampling, length, rule)

    def _watching(
        self,
        drafter: Drafter,
        request: AnswerRequest,
        sampling: SamplingSettings,
        length: DraftLength,
        rule: AcceptanceRule | None,
    ) -> AnswerGuesses:
        """One source, which is followed all the same: what it shows counts when there is a choice."""
        rule = rule or rule_for(request.speculation.acceptance, sampling, drafter.name)
        watch = None
        if (
            drafter.name in SOURCES
            and isinstance(length, AdaptiveLength)
            and (speeds := self._speeds(request, sampling)) is not None
        ):
            watch = SourceWatch({drafter.name: theory(drafter.name, length)}, speeds)
        return AnswerGuesses(drafter, rule, length, watch)

    def _choosing(
        self, request: AnswerRequest, sampling: SamplingSettings, length: DraftLength, rule: AcceptanceRule | None
    ) -> AnswerGuesses:
        """The source that promises most; the usual one where nothing can be promised."""
        acceptance = request.speculation.acceptance
        chains_only = acceptance == "block" and sampling.temperature > 0
        sources = candidates(self.drafters, chains_only=chains_only)
        if not sources or not isinstance(length, AdaptiveLength) or (speeds := self._speeds(request, sampling)) is None:
            usual = self.drafters[sources[0]] if sources else NoDrafter()
            return self._watching(usual, request, sampling, length, rule)
        theories = promising({source: theory(source, length) for source in sources}, speeds)
        sources = list(theories)
        choice = SourceChoice(theories, speeds)
        rules = dict.fromkeys((*sources, NONE), rule or rule_for(acceptance, sampling, sources[0]))
        if rule is None and acceptance == "auto":
            for source in sources[1:]:
                other = replace(sampling, seed=seed_of(sampling.seed or 0, f"the rule of {source}"))
                rules[source] = rule_for(acceptance, other, source)
        drafters: dict[str, Drafter] = {source: self.drafters[source] for source in sources} | {NONE: NoDrafter()}
        judge = ChosenRule(rules, choice)
        return AnswerGuesses(ChosenDrafter(drafters, rules, choice), judge, length, choice)

    def _speeds(self, request: AnswerRequest, sampling: SamplingSettings) -> SourceSpeeds | None:
        """What is known of the sources, where this answer is to teach more; None for one that writes nothing."""
        if request.max_tokens == 0:
            return None
        begins = not any(message.role is Role.ASSISTANT for message in request.messages)
        return self._guessing.speeds(sampling, begins) if self._guessing.speeds else None

    def _length(self, request: AnswerRequest, sampling: SamplingSettings, cancelled: Callable[[], bool]) -> DraftLength:
        speculation = request.speculation
        if not speculation.speculates:
            return FixedLength(0)
        if isinstance(speculation.draft_length, int):
            return FixedLength(speculation.draft_length)
        if self._guessing.adaptive is None:
            raise ValueError("without measured costs the draft length cannot be automatic")
        return self._guessing.adaptive(sampling, cancelled)
