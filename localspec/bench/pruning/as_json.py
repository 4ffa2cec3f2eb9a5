"""A search for layers to drop as one JSON object: `localspec prune --json`.

Version 1 of the object ("schema": 1; a later version changes the number when a key changes its meaning or goes away).

    schema      1
    target      file, layers, bytes
    sampling    temperature, top_k, top_p, min_p: how texts were written and guesses are drawn
    places      of the texts that all drafts were judged by, and check_places: of those that the best were judged by
    curve       seconds of a pass of the target over 1, 2, ... tokens
    tried       every draft, in order; finalists: the best, judged by the other texts, best first. Of each: dropped (its
                layers, from 0), file_type (null: the weights as they are), bytes, agreement (the chance that a guess is
                kept), step (of a guess, over a pass of the target over one token), drafted (the best length of one or
                more) and speed_up (predicted, over no guesses), trouble (why llama.cpp cannot use it, else null),
                steady (false: other programs were busy, and step is rough)
    pays        whether the best is worth keeping
    pair, path  of what was kept; null when nothing was
    seconds     it took
"""

from __future__ import annotations

from typing import Any

from localspec.bench.pruning.result import PruningResult
from localspec.bench.pruning.search import Tried
from localspec.pairs.pair import Pair

SCHEMA = 1


def pruning_as_json(result: PruningResult, pair: Pair | None) -> dict[str, Any]:
    """The object, as plain values; `pair` is what was kept, None when nothing was."""
    sampling = result.sampling
    return {
        "schema": SCHEMA,
        "target": {"file": result.target, "layers": result.layers, "bytes": result.begun.bytes},
        "sampling": {name: getattr(sampling, name) for name in ("temperature", "top_k", "top_p", "min_p")},
        "places": result.begun.tokens,
        "check_places": result.begun.check_tokens,
        "curve": list(result.begun.curve),
        "tried": [_tried(each) for each in result.tried],
        "finalists": [_tried(each) for each in result.finalists],
        "pays": result.pays,
        "pair": pair and pair.name,
        "path": pair and pair.draft.path,
        "seconds": result.seconds,
    }


def _tried(tried: Tried) -> dict[str, Any]:
    judged = tried.judged
    return {
        "dropped": list(judged.cut.dropped),
        "file_type": judged.cut.file_type,
        "bytes": judged.bytes,
        "agreement": judged.agreement,
        "step": judged.step,
        "drafted": tried.best.drafted,
        "speed_up": tried.best.speed_up,
        "trouble": judged.trouble or None,
        "steady": judged.steady,
    }
