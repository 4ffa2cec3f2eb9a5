"""What the commands found, as plain values for `--json`: sizes in bytes, paths as text, None for what is not known."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from localspec.pairs.gguf_header import GgufHeader
    from localspec.pairs.listing import PairDetails, PairState
    from localspec.pairs.match import Candidate
    from localspec.pairs.memory_fit import ModelMemory, PairFit
    from localspec.pairs.pair import Pair
    from localspec.pairs.pull import Pulled, PullPlan
    from localspec.pairs.remove import Removed

Plain = dict[str, Any]


def pair_values(pair: Pair) -> Plain:
    """The catalog's entry."""
    return asdict(pair) | {"bytes": pair.bytes}


def state_values(state: PairState) -> Plain:
    """An entry of `list`."""
    return {
        "pair": pair_values(state.pair),
        "pulled": state.pulled,
        "target_path": _text(state.target),
        "draft_path": _text(state.draft),
        "partial_bytes": state.kept,
        "fits": state.fits,
        "fit": state.fit_words,
    }


def details_values(details: PairDetails) -> Plain:
    """What `show` shows."""
    headers = details.headers
    return state_values(details.state) | {
        "target": _model_values(headers.target) if headers else None,
        "draft": _model_values(headers.draft) if headers else None,
        "memory": _fit_values(details.fit),
        "problem": asdict(details.problem) if details.problem else None,
    }


def plan_values(plan: PullPlan) -> Plain:
    """What a pull will do."""
    return {
        "pair": pair_values(plan.pair),
        "bytes_to_fetch": plan.missing,
        "bytes_free": plan.free,
        "bytes_checked": plan.checked_bytes,
        "target": _model_values(plan.headers.target),
        "draft": _model_values(plan.headers.draft),
        "memory": _fit_values(plan.fit),
    }


def pulled_values(pulled: Pulled) -> Plain:
    """What a pull has done."""
    return {
        "pair": pair_values(pulled.pair),
        "target_path": str(pulled.target),
        "draft_path": str(pulled.draft),
        "fetched_bytes": pulled.fetched,
        "resumed_bytes": pulled.resumed,
        "seconds": pulled.seconds,
    }


def removed_values(removed: Removed) -> Plain:
    """What `rm` has done."""
    files = [
        {"file": str(one.file), "path": _text(one.path), "freed_bytes": one.freed, "kept_because": one.kept_because}
        for one in removed.files
    ]
    return {"pair": removed.pair.name, "freed_bytes": removed.freed, "forgotten": removed.forgotten, "files": files}


def candidate_values(candidate: Candidate) -> Plain:
    """An entry of `match`."""
    return {
        "path": str(candidate.path),
        "name": candidate.name,
        "bytes": candidate.bytes,
        "fits": candidate.fits,
        "reason": candidate.reason,
        "words": candidate.words,
        "memory": _fit_values(candidate.fit),
    }


def _model_values(header: GgufHeader) -> Plain:
    return {
        "file": header.name,
        "architecture": header.architecture,
        "layers": header.layers,
        "vocabulary": len(header.tokens or ()),
        "trained_context": header.number("context_length"),
        "weights_bytes": header.tensor_bytes,
    }


def _fit_values(fit: PairFit | None) -> Plain | None:
    if fit is None:
        return None
    return {
        "context": fit.wanted.context,
        "kv_type": fit.wanted.kv_type,
        "needed_bytes": fit.needed,
        "usable_bytes": fit.memory.usable,
        "fits": fit.fits,
        "largest_context": fit.largest_context,
        "target": _memory_values(fit.target),
        "draft": _memory_values(fit.draft),
    }


def _memory_values(memory: ModelMemory) -> Plain:
    return asdict(memory) | {"total": memory.total}


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
