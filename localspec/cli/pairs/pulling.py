"""A pull on a terminal: what it will do, and one line of progress over both files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.cli.pairs.layout import facts, sentence
from localspec.errors import DownloadStoppedError
from localspec.pairs.machine_memory import machine_memory
from localspec.pairs.progress import Meter
from localspec.pairs.pull import Pulled, PullPlan, carry_out, prepare
from localspec.pairs.words import plan_rows, plan_title

if TYPE_CHECKING:
    from localspec.pairs.memory_fit import Wanted
    from localspec.pairs.pair import Pair
    from localspec.terminal import Terminal


def check(pair: Pair, wanted: Wanted | None, terminal: Terminal) -> PullPlan:
    """Check a pair before its gigabytes, saying what is going on.

    Raises:
        LocalspecError: it is not one to pull, or cannot be checked.
        DownloadStoppedError: Ctrl-C.
    """
    try:
        return prepare(pair, machine_memory(), _meter(terminal), wanted)
    except KeyboardInterrupt:
        raise DownloadStoppedError("Stopped while checking", "Nothing was downloaded yet.") from None
    finally:
        terminal.clear_status()


def fetch(plan: PullPlan, terminal: Terminal) -> Pulled:
    """Fetch what a plan misses, saying how it comes along.

    Raises:
        DownloadError: it could not be fetched; what came is kept.
        DownloadStoppedError: Ctrl-C; what came is kept.
    """
    try:
        return carry_out(plan, _meter(terminal))
    finally:
        terminal.clear_status()


def plan_words(plan: PullPlan) -> list[str]:
    """What a pull will do, for a person who may say no."""
    return [*sentence(plan_title(plan)), *facts(plan_rows(plan))]


def _meter(terminal: Terminal) -> Meter:
    return Meter(lambda progress: terminal.status(progress.words))
