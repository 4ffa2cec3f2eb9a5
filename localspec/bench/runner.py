"""Carries a plan out: prompt by prompt, arm by arm, through the engine, as `localspec chat` does.

No arm may profit from what another one read. After an answer the KV caches hold the prompt, and the next arm would get
it for nothing. So before each conversation the engine reads one and the same short text with both models, and writes
nothing: every conversation begins with caches that hold that text, of which a prompt can use only what the template
puts before all of them. Within a conversation the cache is kept from turn to turn, as in a chat.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from localspec.bench.energy import EnergyMeter
from localspec.bench.plan import ArmPlan, Conversation, Plan
from localspec.bench.records import Record, RoundFigures
from localspec.chat.events import AnswerEnd, AnswerRequest, AnswerRound, Message, Role, SpeculationSettings
from localspec.decoding.rounds import Finish, Origin, never
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.client import EngineClient
from localspec.engine.messages import MeasurePasses, PassTimes
from localspec.errors import ContextFullError, LocalspecError

WARM_UP_TOKENS = 16
"""Tokens of each arm's first answer, which does not count: pages come in, kernels are chosen, clocks go up."""

_CLEARING = AnswerRequest((Message(Role.USER, "."),), SamplingSettings(temperature=0), max_tokens=0)

Key = tuple[str, str, int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """What is about to be done, for a progress line.

    Attributes:
        conversation: whose turn it is.
        done: records made, those of an earlier start included.
        seconds_left: a guess; None before the first record.
    """

    conversation: Conversation
    done: int
    seconds_left: float | None


@dataclass(slots=True)
class Runner:
    """Makes the records of a plan that are not made yet.

    Attributes:
        engines: an engine with its models loaded for each name of a pair in the plan.
        meter: counts energy.
        stopped: asked between generations; a generation that was cancelled meanwhile is not recorded.
        report: told before each conversation.
        left_out: tasks that did not fit the context, with the reason.
    """

    engines: Mapping[str, EngineClient]
    plan: Plan
    meter: EnergyMeter
    stopped: Callable[[], bool] = never
    report: Callable[[Step], None] = lambda _: None
    left_out: dict[str, str] = field(default_factory=dict)

    def warm_up(self) -> None:
        """Let every arm write a few tokens.

        Raises:
            LocalspecError: an engine failed.
        """
        for arm in self.plan.arms:
            for task in self.plan.tasks[:1]:
                if self.stopped():
                    return
                request = self._request(arm, (Message(Role.USER, task.turns[0]),), 0)
                self._exhaust(arm, replace(request, max_tokens=min(WARM_UP_TOKENS, self.plan.max_tokens)))

    def pass_times(self, widths: tuple[int, ...], repeats: int = 3) -> dict[str, PassTimes]:
        """What passes of the given widths cost, for each pair: medians of `repeats` goes through all widths.

        Raises:
            LocalspecError: an engine failed.
        """
        # One width after the other, again and again: a machine that slows down for a while must not bend the curve.
        request = MeasurePasses(widths, repeats=1)
        made: dict[str, list[PassTimes]] = {name: [] for name in self.engines}
        for _ in range(repeats):
            for name, engine in self.engines.items():
                if not self.stopped():
                    made[name].append(next(engine.measure(request)))
        return {name: _medians(times) for name, times in made.items() if times}

    def run(self, made: Mapping[Key, Record]) -> Iterator[Record]:
        """The records that are not in `made`, each as soon as it is there.

        Raises:
            LocalspecError: an engine failed or died; the records before were passed on.
        """
        began = time.monotonic()
        new, done, total = 0, len(made), self.plan.generations
        for conversation in self.plan.conversations():
            if self.stopped():
                return
            if all(key in made for key in _keys(conversation)):
                continue
            left = (time.monotonic() - began) / new * (total - done) if new else None
            self.report(Step(conversation, done, left))
            for record in self._hold(conversation):
                if record.key not in made:
                    new, done = new + 1, done + 1
                    yield record

    def _hold(self, conversation: Conversation) -> Iterator[Record]:
        """Ask turn after turn; every answer stays in the conversation."""
        arm, task = conversation.arm, conversation.task
        self._exhaust(arm, replace(_CLEARING, speculation=_with_draft(arm.speculation)))
        messages: tuple[Message, ...] = ()
        for turn, text in enumerate(task.turns):
            messages = (*messages, Message(Role.USER, text))
            try:
                made = self._generate(conversation, messages, turn)
            except ContextFullError as error:
                self.left_out[task.id] = error.message
                return
            if made is None:
                return
            record, answer = made
            yield record
            messages = (*messages, Message(Role.ASSISTANT, answer))

    def _generate(
        self, conversation: Conversation, messages: tuple[Message, ...], turn: int
    ) -> tuple[Record, str] | None:
        """One generation and its text; None when it was cancelled."""
        arm = conversation.arm
        rounds: list[RoundFigures] = []
        token_ids: list[int] = []
        began, energy = time.time(), self.meter.read()
        for event in self.engines[arm.pair].answer(self._request(arm, messages, conversation.run)):
            if isinstance(event, AnswerRound):
                rounds.append(_figures(event))
                token_ids.extend(token.id for token in event.tokens)
            elif isinstance(event, AnswerEnd):
                joules = self.meter.joules_since(energy)
                record = _record(conversation, turn, began, event, token_ids, rounds, joules)
                return None if event.finish is Finish.CANCELLED else (record, event.text)
        raise LocalspecError("An answer did not come to its end")  # pragma: no cover - the client raises before

    def _request(self, arm: ArmPlan, messages: tuple[Message, ...], run: int) -> AnswerRequest:
        system = (Message(Role.SYSTEM, self.plan.system),) if self.plan.system else ()
        seed = ((arm.sampling.seed or 0) + run) % 2**64
        return AnswerRequest(
            messages=(*system, *messages),
            sampling=replace(arm.sampling, seed=seed),
            speculation=arm.speculation,
            max_tokens=self.plan.max_tokens,
        )

    def _exhaust(self, arm: ArmPlan, request: AnswerRequest) -> None:
        for _ in self.engines[arm.pair].answer(request):
            pass


def _medians(times: Sequence[PassTimes]) -> PassTimes:
    def of(columns: Sequence[tuple[tuple[int, float], ...]]) -> tuple[tuple[int, float], ...]:
        seconds: dict[int, list[float]] = {}
        for width, each in (pair for column in columns for pair in column):
            seconds.setdefault(width, []).append(each)
        return tuple((width, statistics.median(of_width)) for width, of_width in seconds.items())

    return PassTimes(of([each.target for each in times]), of([each.draft for each in times]))


def _with_draft(speculation: SpeculationSettings) -> SpeculationSettings:
    """Both models must read the clearing text, also where one of them has nothing to do afterwards."""
    return replace(speculation, enabled=True, draft_length=1, drafter="model", acceptance="auto")


def _keys(conversation: Conversation) -> Iterator[Key]:
    task = conversation.task
    return ((conversation.arm.arm.name, task.id, conversation.run, turn) for turn in range(len(task.turns)))


def _figures(shown: AnswerRound) -> RoundFigures:
    return RoundFigures(
        drafted=max(shown.counted().depths, default=-1) + 1,
        accepted=shown.accepted,
        emitted=len(shown.tokens),
        seconds=shown.seconds,
        target_seconds=shown.target_seconds,
        draft_seconds=shown.draft_seconds,
        corrected=Origin.CORRECTION in shown.counted().origins,
    )


def _record(  # noqa: PLR0913, PLR0917 - all that a record is made of
    conversation: Conversation,
    turn: int,
    began: float,
    end: AnswerEnd,
    token_ids: list[int],
    rounds: list[RoundFigures],
    joules: float | None,
) -> Record:
    return Record(
        arm=conversation.arm.arm.name,
        category=conversation.task.kind,
        prompt_id=conversation.task.id,
        turn=turn,
        run=conversation.run,
        began=round(began, 3),
        seed=end.seed,
        acceptance_rule=end.acceptance,
        finish=str(end.finish),
        prompt_tokens=end.prompt_tokens,
        reused_tokens=end.reused_tokens,
        prompt_seconds=end.prompt_seconds,
        time_to_first_token=end.time_to_first_token,
        token_ids=tuple(token_ids),
        rounds=tuple(rounds),
        statistics=end.statistics,
        joules=joules,
        drafter=end.drafter,
    )
