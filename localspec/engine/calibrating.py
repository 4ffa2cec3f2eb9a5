"""What passes of the loaded models cost: recalled, or measured and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from localspec.decoding.measuring import (
    EVERY_WIDTH,
    QUICK,
    READ_WIDTHS,
    STEADY,
    THOROUGH,
    VERIFIED_WIDTHS,
    Timed,
    measure,
)
from localspec.decoding.pass_costs import WIDEST, PassCosts
from localspec.engine.calibrations import Calibration, ModelCalibration
from localspec.engine.costs_file import (
    KnownCosts,
    MeasuredOn,
    identity_of,
    keep_costs,
    keep_threads,
    recall_costs,
    recall_threads,
)
from localspec.engine.describing import build_words, processors, where
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.engine.processor_share import LEAST_SHARE, processor_share
from localspec.engine.thread_search import STEPS, VERIFICATIONS, over_default, quickest, try_threads
from localspec.errors import LocalspecError
from localspec.llama.context import Context
from localspec.llama.threads import default_threads, thread_counts

Cancelled = Callable[[], bool]
Tell = Callable[[str, float], None]
"""Told what is being measured, and the part that is done."""

TARGET = "target"
DRAFT = "draft"


def measured_on(pair: LoadPair, model: ModelSettings, role: str) -> MeasuredOn | None:
    """What figures of a model hold for; None where its file cannot be read, so that nothing is known or kept."""
    try:
        identity = identity_of(model.path)
    except OSError:
        return None
    return MeasuredOn(
        model=identity,
        role=role,
        build=build_words(),
        device=f"{where(model)}; {processors()}",
        gpu_layers=model.gpu_layers,
        kv_type=pair.kv_type,
        flash_attention=pair.flash_attention,
    )


def threads_for(pair: LoadPair, model: ModelSettings, role: str) -> int:
    """CPU threads for a model: as the person said, else as a calibration found, else one for each full-speed core."""
    if pair.threads is not None:
        return pair.threads
    on = measured_on(pair, model, role)
    return (on and recall_threads(on)) or default_threads()


@dataclass(slots=True)
class _Side:
    """One of the two models."""

    role: str
    context: Context
    on: MeasuredOn | None

    @property
    def threads(self) -> int:
        return self.context.options.threads or default_threads()

    def timed(self, *, quick: bool) -> Timed:
        if self.role == DRAFT:
            return Timed(self.context, READ_WIDTHS, rows=1)
        return Timed(self.context, VERIFIED_WIDTHS if quick else EVERY_WIDTH)

    def known(self) -> KnownCosts | None:
        return recall_costs(self.on, self.threads) if self.on else None


class PairCosts:
    """What passes of a loaded pair cost.

    Args:
        pair: how it was loaded.
        contexts: the target's and, where there is a draft, the draft's.

    Attributes:
        costs: None until they are asked for, and for a target whose rejected guesses could not be taken back.
    """

    def __init__(self, pair: LoadPair, contexts: Sequence[Context]) -> None:
        settings = [(TARGET, pair.target), *([(DRAFT, pair.draft)] if pair.draft else [])]
        self._sides = [
            _Side(role, context, measured_on(pair, model, role))
            for (role, model), context in zip(settings, contexts, strict=True)
        ]
        self._threads_are_free = pair.threads is None
        self.costs: PassCosts | None = None

    def require(self, cancelled: Cancelled, tell: Tell) -> PassCosts | None:
        """Recall the costs, or measure quickly what is not known; None when it was cancelled, or makes no sense.

        Raises:
            LocalspecError: a model failed.
        """
        if self.costs is None and self._sides[0].context.can_roll_back:
            known = {side.role: found.seconds for side in self._sides if (found := side.known())}
            missing = [side for side in self._sides if side.role not in known]
            if missing:
                with self._no_pass_cut_short():
                    measured = _measured(missing, cancelled, tell, quick=True)
                    if measured is None:
                        return None
                    share = processor_share(self._sides[0].context, cancelled)
                seconds, spread = measured
                # What other programs disturbed, or cannot be kept, is measured again another time.
                if spread <= STEADY and not _is_busy(share):
                    _keep(missing, seconds, QUICK.text)
                known |= seconds
            self.costs = PassCosts(known[TARGET], known.get(DRAFT, {}))
        return self.costs

    def calibrate(self, cancelled: Cancelled, tell: Tell, *, quick: bool) -> Calibration:
        """Measure anew, whatever is known; unless `quick`, the best numbers of threads too, where they are free.

        Raises:
            LocalspecError: it was cancelled, a model failed, or the target's rejected guesses cannot be taken back.
        """
        target = self._sides[0].context
        if not target.can_roll_back:
            raise LocalspecError(
                "There is nothing to calibrate",
                f"For {target.model.path.name}, {target.why_no_roll_back}. So guesses cannot help it.",
                "Choose another target.",
            )
        with self._no_pass_cut_short():
            return self._calibrated(cancelled, tell, quick=quick)

    def _calibrated(self, cancelled: Cancelled, tell: Tell, *, quick: bool) -> Calibration:
        target = self._sides[0].context
        before = [(side.threads, side.known()) for side in self._sides]
        share = processor_share(target, cancelled)
        # Threads wait for the one whose processor is taken: on a busy machine the fewest always win.
        search = self._threads_are_free and not quick and not _is_busy(share)
        tried = [_best_threads(side, cancelled, tell) if search else {} for side in self._sides]
        measured = _measured(self._sides, cancelled, tell, quick=quick)
        if measured is None:
            raise _stopped()
        seconds, spread = measured
        text = max(target.length, min((QUICK if quick else THOROUGH).text, target.capacity - WIDEST))
        not_kept = _keep(self._sides, seconds, text, threads=search)
        self.costs = PassCosts(seconds[TARGET], seconds.get(DRAFT, {}))
        found = [
            ModelCalibration(
                threads=side.threads,
                threads_before=threads,
                tried=tuple(ratios.items()),
                seconds=tuple(sorted(seconds[side.role].items())),
                before=tuple(sorted(known.seconds.items())) if known else (),
                made_before=known.made if known else "",
            )
            for side, (threads, known), ratios in zip(self._sides, before, tried, strict=True)
        ]
        return Calibration(
            target=found[0],
            draft=found[1] if len(found) > 1 else None,
            text=text,
            spread=spread,
            share=share,
            build=build_words(),
            processors=processors(),
            not_kept=not_kept,
        )

    @contextmanager
    def _no_pass_cut_short(self) -> Iterator[None]:
        """Inside, no cancel ends a pass half-way: they are short, and it is asked between them."""
        contexts = [side.context for side in self._sides]
        before = [context.cancelled for context in contexts]
        try:
            for context in contexts:
                context.cancelled = None
            yield
        finally:
            for context, cancelled in zip(contexts, before, strict=True):
                context.cancelled = cancelled


def _measured(
    sides: Sequence[_Side], cancelled: Cancelled, tell: Tell, *, quick: bool
) -> tuple[dict[str, dict[int, float]], float] | None:
    """Seconds of passes by width, by role, and the spread of the single passes; None when it was cancelled."""
    effort = QUICK if quick else THOROUGH
    timed = [side.timed(quick=quick) for side in sides]
    measured = measure(timed, effort, cancelled, lambda part: tell("costs", part))
    if measured is None:
        return None
    return {side.role: each for side, each in zip(sides, measured.seconds, strict=True)}, measured.spread


def _best_threads(side: _Side, cancelled: Cancelled, tell: Tell) -> dict[int, float]:
    """Try numbers of threads and use the best from now on: the time with each, over that with the default."""
    context, chosen, default = side.context, side.threads, default_threads()
    passes = STEPS if side.role == DRAFT else VERIFICATIONS
    try:
        sweeps = try_threads(
            context, thread_counts(), passes, cancelled, lambda part: tell(f"threads of the {side.role}", part)
        )
        if sweeps is None:
            raise _stopped()
        chosen = quickest(sweeps, default)
    finally:
        context.set_threads(chosen)
    return over_default(sweeps, default)


def _keep(sides: Sequence[_Side], seconds: dict[str, dict[int, float]], text: int, *, threads: bool = False) -> str:
    """Keep what was found for the next time; why it cannot be kept, else ""."""
    try:
        for side in sides:
            if side.on is None:
                return f"{side.context.model.path} cannot be read"
            if threads:
                keep_threads(side.on, side.threads)
            keep_costs(side.on, side.threads, seconds[side.role], text)
    except OSError as error:
        return f"{error.filename or 'the cache folder'}: {error.strerror or error}"
    return ""


def _is_busy(share: float | None) -> bool:
    """Whether other programs take so much that figures cannot be relied on."""
    return share is not None and share < LEAST_SHARE


def _stopped() -> LocalspecError:
    return LocalspecError("The measuring was stopped")
