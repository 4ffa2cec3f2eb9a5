"""A target and its draft in memory, ready for a conversation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from localspec.chat.events import AnswerEvent, AnswerRequest, Message
from localspec.chat.prompt import PromptWriter, Transcript
from localspec.chat.session import ChatSession
from localspec.chat.template import ChatTemplate
from localspec.decoding.costs import pass_seconds
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.pass_costs import PassCosts
from localspec.engine.batch_times import batch_times
from localspec.engine.calibrating import DRAFT, TARGET, PairCosts, Tell, threads_for
from localspec.engine.calibrations import Calibrate, Calibration
from localspec.engine.describing import beyond_training, described
from localspec.engine.learning import PairLearning
from localspec.engine.messages import (
    BatchTimes,
    Loaded,
    LoadPair,
    LoadProgress,
    MeasureBatch,
    MeasurePasses,
    ModelSettings,
    PassTimes,
    TraceAnswer,
)
from localspec.engine.sources import guessing_with
from localspec.engine.trace import trace
from localspec.engine.traces import AnswerTrace
from localspec.errors import PairMismatchError, UsageError
from localspec.llama.context import Context, EvaluationCancelledError
from localspec.llama.context_options import MOST_BRANCHES, ContextOptions, FlashAttention
from localspec.llama.model import LoadCancelledError, Model, ModelOptions
from localspec.llama.tokenizer import Tokenizer
from localspec.llama.vocabulary import first_vocabulary_difference

DEFAULT_CONTEXT = 4096
"""Tokens of context when the person asks for none: enough for a conversation, and its cache fits beside the weights."""

Report = Callable[[LoadProgress], None]


class LoadedPair:
    """Owns two models and a session that uses them.

    Attributes:
        session: answers requests.
        loaded: what there is, for the person.
    """

    def __init__(self, pair: LoadPair, report: Report, cancelled: Callable[[], bool]) -> None:
        """Load `pair`; whatever was loaded is freed again when something fails.

        Raises:
            LocalspecError: see `EngineClient.load`.
        """
        began = time.perf_counter()
        options = _context_options(pair)
        with ExitStack() as owned:
            models = _Loading(owned, report, cancelled)
            draft = models.draft_for(pair) if pair.draft else None
            target = models.load(pair.target, "target")
            options = replace(options, length=options.length or min(target.trained_context, DEFAULT_CONTEXT))
            options = replace(options, threads=threads_for(pair, pair.target, TARGET))
            self._contexts = [owned.enter_context(Context(target, options))]
            if draft is not None and pair.draft is not None:
                own = replace(options, threads=threads_for(pair, pair.draft, DRAFT))
                self._contexts.append(owned.enter_context(Context(draft, own)))
                _require_roll_back(self._contexts)
            self._costs = PairCosts(pair, self._contexts)
            files = [pair.target.path, *([pair.draft.path] if pair.draft else [])]
            self._learning = PairLearning(files, self.require_costs)
            self._tokenizer = tokenizer = Tokenizer(target)
            self._template = template = ChatTemplate(
                target.chat_template, tokenizer.special_texts, tokenizer.bos_text, tokenizer.eos_text
            )
            self.session = ChatSession(
                self._contexts[0],
                tokenizer,
                template,
                guessing_with(self._contexts, self._learning),
                interruptions=(EvaluationCancelledError,),
            )
            self.loaded = Loaded(
                target=described(target, pair.target),
                draft=described(draft, pair.draft) if draft and pair.draft else None,
                context_size=self._contexts[0].capacity,
                threads=_threads(self._contexts[0]),
                seconds=time.perf_counter() - began,
                notes=tuple(filter(None, (template.note, beyond_training(target, self._contexts[0].capacity)))),
            )
            if pair.costs:
                self.require_costs(cancelled, lambda what, part: report(LoadProgress(what, part)))
                if cancelled():
                    raise LoadCancelledError("The loading was stopped")
            self._owned = owned.pop_all()

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The target's context and, where there is a draft, the draft's."""
        return tuple(self._contexts)

    @property
    def tokenizer(self) -> Tokenizer:
        """The target's."""
        return self._tokenizer

    def prompt_tokens(self, messages: Sequence[Message]) -> list[int]:
        """The ids of a conversation, up to where the answer begins.

        Raises:
            LocalspecError: the template refuses it.
        """
        writer = PromptWriter(self._template, self._tokenizer)
        prompt = writer.write(messages)
        return Transcript(self._tokenizer).encode(writer.text(prompt), prompt.barrier)

    def answered(self, request: AnswerRequest, cancelled: Callable[[], bool]) -> Iterator[AnswerEvent]:
        """Answer, and keep what was learned about the guesses.

        Raises:
            LocalspecError: see `EngineClient.answer`.
        """
        try:
            yield from self.session.answer(request, cancelled)
        finally:
            self._learning.keep()

    def cancel_passes_when(self, cancelled: Callable[[], bool] | None) -> None:
        """Let long passes of both models ask `cancelled` whether to stop half-way; None lets them run."""
        for context in self._contexts:
            context.cancelled = cancelled

    def measured(self, request: MeasurePasses, cancelled: Callable[[], bool]) -> PassTimes:
        """Time passes of both models; what their caches hold stays.

        Raises:
            UsageError: a width no pass can have, or no repeats.
        """
        _require_possible(request, self._contexts[0].capacity)
        # They are short, and `cancelled` is asked between them.
        times: list[list[tuple[int, float]]] = [[], []]
        # As they are used: a verification puts out all rows, a step of the draft one.
        for measured, context, rows in zip(times, self._contexts, (None, 1), strict=False):
            for width in request.widths:
                seconds = pass_seconds(context, width, request.repeats, cancelled, rows)
                if seconds is not None:
                    measured.append((width, seconds))
        target, draft = times
        return PassTimes(tuple(target), tuple(draft))

    @property
    def costs(self) -> PassCosts | None:
        """What passes cost here; None until `require_costs`, and where guesses could not be taken back."""
        return self._costs.costs

    def require_costs(self, cancelled: Callable[[], bool], tell: Tell | None = None) -> PassCosts | None:
        """Recall `costs`, or measure them now, in some seconds, once on a machine; the caches keep their text.

        Args:
            cancelled: polled between passes; then there are none.
            tell: told what is measured, and the part that is done.

        Raises:
            LocalspecError: a model failed.
        """
        return self._costs.require(cancelled, tell or _unheard)

    def calibrated(self, request: Calibrate, cancelled: Callable[[], bool], tell: Tell) -> Calibration:
        """Measure the costs and the best numbers of threads thoroughly, and keep and use them from now on.

        Raises:
            LocalspecError: it was cancelled, a model failed, or guesses could not be taken back.
        """
        found = self._costs.calibrate(cancelled, tell, quick=request.quick)
        self.loaded = replace(self.loaded, threads=_threads(self._contexts[0]))
        return found

    def measured_together(self, request: MeasureBatch, cancelled: Callable[[], bool]) -> BatchTimes:
        """Time passes over several texts at once, on contexts made for it.

        Raises:
            LocalspecError: see `EngineClient.measure_batch`.
        """
        target, *draft = self._contexts
        return BatchTimes(
            batch_times(target, request, request.widths, cancelled),
            batch_times(draft[0], request, (1,), cancelled) if draft else (),
        )

    def traced(self, request: TraceAnswer, cancelled: Callable[[], bool]) -> AnswerTrace:
        """Answer, noting how each guess was judged.

        Raises:
            LocalspecError: see `EngineClient.answer`.
        """
        return trace(self.session, self._tokenizer, request, cancelled)

    def close(self) -> None:
        """Free both models."""
        self._owned.close()


class _Loading:
    """Loads models one after the other, with progress."""

    def __init__(self, owned: ExitStack, report: Report, cancelled: Callable[[], bool]) -> None:
        self._owned = owned
        self._report = report
        self._cancelled = cancelled

    def load(self, settings: ModelSettings, what: str) -> Model:
        options = ModelOptions(device=settings.device, gpu_layers=settings.gpu_layers)
        reported = -1

        def progress(part: float) -> bool:
            nonlocal reported
            if int(part * 100) > reported:
                reported = int(part * 100)
                self._report(LoadProgress(what, part))
            return not self._cancelled()

        return self._owned.enter_context(Model(settings.path, options, progress))

    def draft_for(self, pair: LoadPair) -> Model:
        """The draft, once its vocabulary was compared with the target's: before gigabytes are read for nothing."""
        assert pair.draft is not None
        vocabulary_only = ModelOptions(vocabulary_only=True)
        with Model(pair.target.path, vocabulary_only) as target, Model(pair.draft.path, vocabulary_only) as draft:
            difference = first_vocabulary_difference(target, draft)
        if difference:
            raise PairMismatchError(
                f"{pair.draft.path.name} cannot draft for {pair.target.path.name}",
                f"They do not share a tokenizer: {difference}.",
                "Choose a draft of the same model family.",
            )
        return self.load(pair.draft, "draft")


def _context_options(pair: LoadPair) -> ContextOptions:
    """Checked before anything is loaded."""
    try:
        flash_attention = FlashAttention(pair.flash_attention)
    except ValueError:
        raise UsageError(
            f"Flash attention cannot be {pair.flash_attention!r}", f"It can be {', '.join(FlashAttention)}."
        ) from None
    return ContextOptions(
        length=pair.context,
        kv_type=pair.kv_type,
        flash_attention=flash_attention,
        threads=pair.threads,
        branches=MOST_BRANCHES,
    )


def _unheard(what: str, part: float) -> None:
    """Nobody wants to know."""


def _threads(context: Context) -> int:
    assert context.options.threads is not None  # chosen by `threads_for`
    return context.options.threads


def _require_possible(request: MeasurePasses, capacity: int) -> None:
    widest = min(LONGEST_DRAFT + 1, capacity)
    if request.repeats < 1 or not all(1 <= width <= widest for width in request.widths):
        raise UsageError(
            "These passes cannot be timed",
            f"A pass has 1 to {widest} tokens, and takes one repeat or more.",
            "Ask for other widths.",
        )


def _require_roll_back(contexts: list[Context]) -> None:
    """Refuse a pair in which rejected guesses could not be taken back.

    Raises:
        PairMismatchError: one of the models cannot.
    """
    for context in contexts:
        if not context.can_roll_back:
            raise PairMismatchError(
                "Rejected guesses could not be taken back",
                f"For {context.model.path.name}, {context.why_no_roll_back}.",
                "Load the target without a draft, or choose another pair.",
            )
