"""The figures of the answer under way: rounds in, figures out, nothing of a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from localspec.chat.events import AnswerEnd, AnswerRequest, AnswerRound
from localspec.chat.why import why_drafted_so
from localspec.conversations.conversation import AnswerFacts
from localspec.decoding.draft_length import AUTO
from localspec.decoding.rounds import Origin
from localspec.decoding.statistics import DecodingStatistics
from localspec.tui.figures import Figures, Progress, RoundMark
from localspec.tui.speeds import OffSpeed, SpeedHistory, SpeedNow

_LATE_ROUNDS = 8
# The oldest rounds are dropped many at a time: the strip of them wraps like a text, and moves when its beginning does.
_MARKS, _MARKS_DROPPED = 96, 48


class LiveFigures:
    """Follows one answer after the other."""

    def __init__(self) -> None:
        self._off = OffSpeed()
        self._answer: _AnswerSoFar | None = None

    @property
    def off_tokens_per_second(self) -> float | None:
        """Speed without speculation of the loaded pair on this machine. Setting it forgets what was known."""
        return self._off.value

    @off_tokens_per_second.setter
    def off_tokens_per_second(self, measured: float | None) -> None:
        self._off.set(measured)

    def begin(self, now: float, request: AnswerRequest | None = None, context_size: int = 0) -> None:
        """An answer was asked for.

        Args:
            now: seconds of any clock that `take` is told too.
            request: says whether it speculates, and by which rule.
            context_size: tokens the context can hold.
        """
        self._answer = _AnswerSoFar(now, request, context_size)

    def take(self, rounds: Sequence[AnswerRound], now: float) -> None:
        """Some more rounds of the answer have come."""
        if self._answer is not None and rounds:
            self._answer.begin_writing(now)
            for finished in rounds:
                self._answer.take(finished)
                self._off.take(finished)

    def end(self, end: AnswerEnd) -> None:
        """The answer is complete; the engine's own sums take the place of those kept here."""
        if self._answer is not None:
            self._answer.end(end)

    def stop(self) -> None:
        """The answer broke off without an end: the engine died, or refused."""
        if self._answer is not None:
            self._answer.progress = Progress.OVER

    def figures(self) -> Figures:
        """All of it as it is now."""
        return Figures(off=self._off.value) if self._answer is None else self._answer.figures(self._off.value)


class _AnswerSoFar:
    """Sums over the rounds of one answer."""

    def __init__(self, began: float, request: AnswerRequest | None, context_size: int) -> None:
        self.progress = Progress.WAITING
        self._began = began
        self._statistics = DecodingStatistics()
        self._now = SpeedNow()
        self._history = SpeedHistory()
        self._marks: list[RoundMark] = []
        self._first_token_seconds: float | None = None
        self._context_used, self._context_size = 0, context_size
        self._speculating = request is None or request.speculation.speculates
        self._drafter = "" if request is None else request.speculation.drafter
        self._automatic = request is not None and request.speculation.draft_length == AUTO
        self._why = ""
        self._rule, self._lossless = ("", True) if request is None else _rule(request)

    def begin_writing(self, now: float) -> None:
        """Tokens have come, maybe not the first ones."""
        self.progress = Progress.WRITING
        if self._first_token_seconds is None:
            self._first_token_seconds = now - self._began

    def take(self, finished: AnswerRound) -> None:
        """Count a round."""
        self._statistics = self._statistics.plus(finished.counted())
        self._context_used = finished.context_used
        self._now.take(len(finished.tokens), finished.seconds)
        self._history.take(len(finished.tokens), finished.seconds)
        origin = finished.tokens[-1].origin if finished.tokens else Origin.DRAFT
        self._marks.append(RoundMark(finished.drafted, finished.accepted, None if origin is Origin.DRAFT else origin))
        if len(self._marks) > _MARKS:
            del self._marks[:_MARKS_DROPPED]

    def end(self, end: AnswerEnd) -> None:
        """Take over what the engine summed up."""
        self.progress = Progress.OVER
        self._statistics = end.statistics
        self._first_token_seconds = end.time_to_first_token
        self._context_used, self._context_size = end.context_used, end.context_size
        self._drafter, self._automatic, self._why = end.drafter, end.draft_length == AUTO, why_drafted_so(end)
        self._rule, self._lossless = end.acceptance, end.lossless

    def figures(self, off: float | None) -> Figures:
        """All of it, beside a speed without speculation."""
        drafts = [mark.drafted for mark in self._marks[-_LATE_ROUNDS:]] if self._speculating else []
        return Figures(
            progress=self.progress,
            speculating=self._speculating,
            statistics=self._statistics,
            now=self._now.value,
            off=off,
            history=self._history.values,
            marks=tuple(self._marks),
            drafted_last=drafts[-1] if drafts else None,
            drafted_of_late=sum(drafts) / len(drafts) if drafts else None,
            drafter=self._drafter,
            automatic=self._automatic,
            why=self._why,
            first_token_seconds=self._first_token_seconds,
            context_used=self._context_used,
            context_size=self._context_size,
            rule=self._rule,
            lossless=self._lossless,
        )


def figures_of_past(facts: AnswerFacts, rounds: Sequence[AnswerRound]) -> Figures:
    """The figures of an answer that was kept, as they were when it ended.

    Args:
        facts: what was kept of the answer.
        rounds: its rounds, as far as they were kept.
    """
    answer = _AnswerSoFar(0.0, None, facts.context_size)
    for finished in rounds:
        answer.take(finished)
    return replace(
        answer.figures(facts.off_tokens_per_second),
        progress=Progress.OVER,
        speculating=facts.statistics.drafted > 0 or facts.drafter not in {"", "none"},
        statistics=facts.statistics,
        first_token_seconds=facts.time_to_first_token,
        context_used=facts.context_used,
        drafter=facts.drafter,
        automatic=facts.draft_length == AUTO,
        why=facts.why,
        rule=facts.acceptance,
        lossless=facts.lossless,
    )


def _rule(request: AnswerRequest) -> tuple[str, bool]:
    """Name of the acceptance rule that the engine will use, and whether it is lossless."""
    from localspec.decoding.acceptance import rule_for  # noqa: PLC0415 - brings numpy: the first frame has no time for it

    try:
        rule = rule_for(request.speculation.acceptance, request.sampling, request.speculation.drafter)
    except ValueError:
        # The engine will refuse the request in words.
        return "", True
    return rule.name, rule.lossless
