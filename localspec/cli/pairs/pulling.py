"""A pull on a terminal: what it will do, one line of progress over both files, what it has done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.cli.pairs.layout import facts, sentence
from localspec.cli.pairs.licence import licence_words
from localspec.errors import DownloadStoppedError
from localspec.pairs.compatibility import too_large
from localspec.pairs.machine_memory import machine_memory
from localspec.pairs.progress import Meter
from localspec.pairs.pull import Planned, Pulled, PullPlan, ToFetch, carry_out, prepare
from localspec.pairs.sizes import gigabytes

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
    """What a pull will do, for a person who may say no: what, on which terms, how much, and whether it fits."""
    pair = plan.pair
    problem = too_large(plan.headers.target, plan.headers.draft)
    rows = [
        ("licence", licence_words(pair)),
        ("target", _planned_words(plan.target)),
        ("draft", _planned_words(plan.draft)),
        ("memory", f"{plan.fit.words}{_context_advice(plan)}"),
        ("problem", problem.words if problem else ""),
        ("disk", f"{gigabytes(plan.missing)} to download, {gigabytes(plan.free)} free" if plan.missing else ""),
        ("notes", pair.notes),
    ]
    return [*sentence(f"{pair.name}: {pair.title}, {pair.purpose[:1].lower()}{pair.purpose[1:]}"), *facts(rows)]


def pulled_words(pulled: Pulled) -> list[str]:
    """What a pull has done."""
    name = pulled.pair.name
    told = f"{name} is here, whole and checked: "
    if pulled.fetched:
        told += f"{gigabytes(pulled.fetched)} in {pulled.seconds:.0f} s, "
        told += f"{pulled.fetched / max(pulled.seconds, 1e-3) / 1e6:.1f} MB/s"
        told += f", {gigabytes(pulled.resumed)} from before." if pulled.resumed else "."
    else:
        told += "nothing was left to download."
    return [*sentence(told), f"Talk to it: localspec chat --pair {name}"]


def _planned_words(planned: Planned) -> str:
    size = gigabytes(planned.file.bytes or 0)
    if not isinstance(planned, ToFetch):
        return f"{planned.file.file}, {size}, is here already\n{planned.path}"
    kept = f", {gigabytes(planned.kept)} of it are here" if planned.kept else ""
    return f"{planned.file.file}, {size}\nfrom {planned.file.repo}{kept}"


def _context_advice(plan: PullPlan) -> str:
    return "" if plan.fit.fits else f": talk to it with --context {plan.fit.largest_context}"


def _meter(terminal: Terminal) -> Meter:
    return Meter(lambda progress: terminal.status(progress.words))
