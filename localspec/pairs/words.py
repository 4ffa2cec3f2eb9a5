"""What a person is told of a pair, before it is laid out: rows of a name and what it is, or sentences."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from localspec.pairs.compatibility import too_large
from localspec.pairs.pull import Planned, Pulled, PullPlan, ToFetch
from localspec.pairs.sizes import gigabytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from localspec.pairs.listing import PairDetails, PairState
    from localspec.pairs.pair import ModelFile, Pair
    from localspec.pairs.remove import Removal, Removed

Rows = list[tuple[str, str]]
"""Names and texts; a row without a text is not shown."""

_SOURCES = {
    "catalog": "comes with localspec",
    "own": "from your models.toml",
    "remembered": "put together by you with `localspec pull --target ... --draft ...`",
}
_PRUNED = "made here by `localspec prune`: the draft is the target with fewer layers or smaller weights"


def licence_words(pair: Pair) -> str:
    """On which terms the weights may be used: the licence and where its terms stand."""
    if not pair.licence:
        repos = " and ".join(dict.fromkeys(file.repo for file in pair.files if file.repo))
        return "not known to localspec" + (f": see the page of {repos} on the hub" if repos else "")
    return f"{pair.licence}, {pair.terms}" if pair.terms else pair.licence


def pulled_word(state: PairState) -> str:
    """Whether a pair is here: yes, partly, or no."""
    if state.pulled:
        return "yes"
    return "partly" if state.kept or state.target or state.draft else "no"


def details_rows(details: PairDetails) -> Rows:
    """All that is known of a pair."""
    state = details.state
    pair = state.pair
    return [
        ("purpose", pair.purpose),
        ("licence", licence_words(pair)),
        ("target", _file_words(pair.target, state.target)),
        ("draft", _file_words(pair.draft, state.draft)),
        ("partial", f"{gigabytes(state.kept)} of a pull that did not end" if state.kept else ""),
        ("context", f"{pair.context:,} tokens"),
        ("sampling", ", ".join(_sampling(pair))),
        ("memory", state.fit_words),
        ("fits", "yes" if state.fits else "no"),
        ("problem", details.problem.words if details.problem else ""),
        ("notes", pair.notes),
        ("source", _PRUNED if pair.is_pruned else _SOURCES[pair.source]),
    ]


def plan_title(plan: PullPlan) -> str:
    """What a pull is about to fetch."""
    pair = plan.pair
    purpose = f", {pair.purpose[0].lower()}{pair.purpose[1:]}" if pair.purpose else ""
    return f"{pair.name}: {pair.title}{purpose}"


def plan_rows(plan: PullPlan) -> Rows:
    """What a pull will do, for a person who may say no: what, on which terms, how much, and whether it fits."""
    problem = too_large(plan.headers.target, plan.headers.draft)
    advice = "" if plan.fit.fits else f": give it a context of {plan.fit.largest_context} tokens at most"
    return [
        ("licence", licence_words(plan.pair)),
        ("target", _planned_words(plan.target)),
        ("draft", _planned_words(plan.draft)),
        ("memory", f"{plan.fit.words}{advice}"),
        ("problem", problem.words if problem else ""),
        ("disk", f"{gigabytes(plan.missing)} to download, {gigabytes(plan.free)} free" if plan.missing else ""),
        ("notes", plan.pair.notes),
    ]


def pulled_words(pulled: Pulled) -> str:
    """What a pull has done."""
    told = f"{pulled.pair.name} is here, whole and checked: "
    if not pulled.fetched:
        return f"{told}nothing was left to download."
    told += f"{gigabytes(pulled.fetched)} in {pulled.seconds:.0f} s, "
    told += f"{pulled.fetched / max(pulled.seconds, 1e-3) / 1e6:.1f} MB/s"
    return told + (f", {gigabytes(pulled.resumed)} from before." if pulled.resumed else ".")


def removed_title(removed: Removed) -> str:
    """What deleting a pair has freed."""
    if _was_nothing(removed):
        return f"Nothing of {removed.pair.name} was on this machine."
    return f"{removed.pair.name}: {gigabytes(removed.freed)} freed"


def removed_rows(removed: Removed) -> Rows:
    """What became of the files of a pair; none when there were none."""
    return [] if _was_nothing(removed) else list(zip(("target", "draft"), map(_removal, removed.files), strict=True))


def forgotten_words(removed: Removed) -> str:
    """That a pair is no more in the list; "" when it is."""
    why = "it was made here" if removed.pair.is_pruned else "you had put it together"
    return f"{removed.pair.name} is forgotten: {why}." if removed.forgotten else ""


def _was_nothing(removed: Removed) -> bool:
    return not removed.freed and not any(removal.path for removal in removed.files)


def _removal(removal: Removal) -> str:
    freed = f"{gigabytes(removal.freed)} deleted" if removal.freed else ""
    stays = f"stays: {removal.kept_because}" if removal.kept_because else ""
    where = str(removal.path) if removal.path and stays else ""
    told = ", ".join(part for part in (freed, stays) if part) or "was not here"
    return "\n".join(part for part in (f"{removal.file.file}: {told}", where) if part)


def _planned_words(planned: Planned) -> str:
    size = gigabytes(planned.file.bytes or 0)
    if not isinstance(planned, ToFetch):
        return f"{planned.file.file}, {size}, is here already\n{planned.path}"
    kept = f", {gigabytes(planned.kept)} of it are here" if planned.kept else ""
    return f"{planned.file.file}, {size}\nfrom {planned.file.repo}{kept}"


def _file_words(file: ModelFile, path: Path | None) -> str:
    size = f"{gigabytes(file.bytes)}, " if file.bytes else ""
    where = str(path) if path else "not here"
    if file.path is not None:
        return f"{file.file}\n{size}a file of this machine\n{where}"
    return f"{file.file}\n{size}from {file.repo} at {file.revision[:12]}\n{where}"


def _sampling(pair: Pair) -> Iterator[str]:
    for name, value in asdict(pair.sampling).items():
        if value is not None:
            yield f"{name.replace('_', '-')} {value}"
