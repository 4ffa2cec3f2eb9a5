"""A search for layers to drop, in words and tables of 80 columns."""

from __future__ import annotations

import statistics
import textwrap

from localspec.bench.explaining.words import counted, paragraph, size, table
from localspec.bench.pruning.result import PruningResult, cut_words
from localspec.bench.pruning.search import WORTH_KEEPING, Tried
from localspec.pairs.pair import Pair

_HEAD = ("left out", "weights", "size", "kept", "step", "best", "as fast")
_LONGEST_CUT = 26


def pruning_lines(result: PruningResult, pair: Pair | None) -> list[str]:
    """Everything, ready to be printed.

    Args:
        result: what was found.
        pair: what was made of it; None when nothing was kept.
    """
    singles = _groups(result)
    return [
        *paragraph(_judged_by(result)),
        *_singles(singles),
        *_sets("Sets of them:", [each for each in result.tried if each not in singles]),
        *_sets("The best, judged by other texts:", list(result.finalists)),
        *_troubles(result),
        *paragraph(_verdict(result)),
        *_reliance(result),
        *_what_became_of_it(result, pair),
    ]


def _judged_by(result: PruningResult) -> str:
    greedy = result.sampling.temperature == 0
    how = (
        "the share of places where both have the same likeliest token"
        if greedy
        else f"sum min(p, q) at temperature {result.sampling.temperature:g}, the chance that a guess is kept"
    )
    return (
        f"{result.target} has {result.layers} layers ({size(result.begun.bytes)}). Drafts that lack some of them were "
        f"judged at {counted(result.begun.tokens, 'place')} of texts that it wrote itself. kept: {how}. step: a guess "
        "over a pass of the target over one token, measured in turn. best: the draft length that pays best with what "
        "passes cost here; as fast: predicted, over no guesses."
    )


def _groups(result: PruningResult) -> list[Tried]:
    """Layers that were left out by themselves, or with their neighbours where the time was short."""
    runs = [each for each in result.tried if _is_run(each)]
    if not runs:
        return []
    usual = statistics.mode(len(each.judged.cut.dropped) for each in runs)
    groups = [each for each in runs if len(each.judged.cut.dropped) <= usual]
    return sorted(groups, key=lambda each: each.judged.cut.dropped)


def _singles(groups: list[Tried]) -> list[str]:
    usable = [each for each in groups if not each.judged.trouble]
    if not usable:
        return []
    told = ", ".join(f"{cut_words(each.judged.cut)}: {each.judged.agreement:.0%}" for each in usable)
    wrapped = textwrap.wrap(f"Left out by itself, kept: {told}.", 78, subsequent_indent="  ", break_on_hyphens=False)
    return [*wrapped, ""]


def _is_run(tried: Tried) -> bool:
    """Whether the draft lacks one layer, or neighbours, and nothing else."""
    cut = tried.judged.cut
    return cut.file_type is None and bool(cut.dropped) and "," not in cut_words(cut)


def _sets(title: str, shown: list[Tried]) -> list[str]:
    rows = [_row(each) for each in shown if not each.judged.trouble]
    return [title, *table([_HEAD, *rows])] if rows else []


def _row(tried: Tried) -> tuple[str, ...]:
    judged, best = tried.judged, tried.best
    words = cut_words(judged.cut)
    if len(words) > _LONGEST_CUT:
        begin = words[: _LONGEST_CUT - 6].rstrip(" ,-")
        words = f"{begin}… ({len(judged.cut.dropped)})"
    return (
        words,
        judged.cut.file_type or "as is",
        size(judged.bytes),
        f"{judged.agreement:.0%}",
        f"{judged.step:.2f}",
        str(best.drafted),
        f"{best.speed_up:.2f}",
    )


def _troubles(result: PruningResult) -> list[str]:
    lines: list[str] = []
    for each in result.tried:
        if each.judged.trouble:
            lines += paragraph(f"Without {cut_words(each.judged.cut)} it cannot be used: {each.judged.trouble}")
    return lines


def _verdict(result: PruningResult) -> str:
    if result.best is None:
        return "llama.cpp can use none of these drafts."
    judged, best = result.best.judged, result.best.best
    count = len(judged.cut.dropped)
    cut = f"lacks {counted(count, 'layer')} ({cut_words(judged.cut)})" if count else "has all layers"
    kind = f", requantized to {judged.cut.file_type}" if judged.cut.file_type else ""
    fast = f"{best.speed_up:.2f} times as fast as no guesses, with {best.drafted} a round"
    told = f"The best draft {cut}{kind}: predicted {fast}."
    if result.pays:
        return f"It pays. {told}"
    return (
        f"Nothing pays on this machine. {told} Below {WORTH_KEEPING:.2f} nothing is kept: a guess costs "
        f"{judged.step:.0%} of a pass and is kept {judged.agreement:.0%} of the time, and a wider pass costs more, too."
    )


def _reliance(result: PruningResult) -> list[str]:
    if all(each.judged.steady for each in result.finalists):
        return []
    return paragraph(
        "Take this as rough: other programs were busy, and the passes of a draft took now less and now more time. "
        "Search again when the machine has nothing else to do."
    )


def _what_became_of_it(result: PruningResult, pair: Pair | None) -> list[str]:
    took = f"It took {result.seconds:.0f} s."
    if pair is not None:
        return [
            *paragraph(f"{took} The pair is kept as {pair.name}; `localspec rm {pair.name}` deletes it."),
            f"Talk to it: localspec chat --pair {pair.name}",
        ]
    if result.best is None:
        return [took]
    return [*paragraph(f"{took} Nothing was written. --keep-best keeps the best draft all the same.")][:-1]
