"""One answer as one JSON object: `localspec chat --json`.

Version 1 of the object ("schema": 1; a later version changes the number when a key changes its meaning or goes away):

    schema      1
    text        the answer, thinking left out
    thinking    what stood in the model's `<think>` part, the tags left out; "" when there was none
    finish      "end", "stop", "length", "context", "cancelled", or "failed" (then `error` says why, and what had come
                until then is in `text`)
    tokens      prompt, reused (of the prompt, known from before), answer
    context     used and size in tokens; dropped_messages left out to make the prompt fit
    timings     load_seconds, prompt_seconds, time_to_first_token, decode_seconds and of those target_seconds,
                draft_seconds, other_seconds; tokens_per_second = answer tokens / decode_seconds
    statistics  rounds (target passes), drafted, accepted, acceptance = accepted / drafted; by position in the draft:
                drafted_at, accepted_at, acceptance_by_position = accepted_at / drafted_at; rounds_by_length: how many
                rounds drafted 0 tokens, 1, 2, ...; by_source: drafted and accepted of "model", "ngram", "lookahead"; of
                the guesses whose acceptance was predicted and that the target decided on judged, judged_kept,
                judged_expected, and predicted_acceptance = judged_expected / judged beside judged_acceptance =
                judged_kept / judged; tau = answer tokens / rounds; origins: how many tokens were draft, correction,
                bonus, plain
    drafting    drafter: the one used, never "auto", "none" where the one asked for was not there; draft_length as asked
                for, a number or "auto"; why: in words why that source was chosen, and why it drafts little or pays, ""
                when there is nothing to say; chosen: null where the source was named, else source (that wrote most of
                the answer), promises (source and speed: how many times as fast as without speculation each was
                expected to be), showed (what it came to), tried and left (others that wrote a part); outlook: what
                guesses of the draft model promise on this machine, null without an automatic length or a draft model:
                acceptance (predicted), break_even (the least acceptance that pays; null: none does), draft_length (the
                best of fixed ones), speed_up (expected of that)
    seed, acceptance_rule, lossless     as used: never "auto"; lossless says whether the text is distributed as the
                target's own
    models      target and draft (null: none): name, description, path, bytes, parameters, device
    settings    sampling, speculation, max_tokens, stop, context, threads, kv_type, flash_attention
    error       null, or kind, title, message, hint

`tokens`, `context`, `statistics`, `drafting`, `seed`, `acceptance_rule` and `lossless` are null in a failed answer.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from localspec.chat.why import why_drafted_so
from localspec.terminal import visible_json

if TYPE_CHECKING:
    from localspec.chat.events import AnswerEnd, AnswerRequest
    from localspec.cli.answering import Answered
    from localspec.engine.messages import Loaded, LoadedModel, LoadPair, ModelSettings
    from localspec.errors import LocalspecError

SCHEMA = 1


def answer_as_json(request: AnswerRequest, answered: Answered, loading: LoadPair, loaded: Loaded) -> str:
    """The object, on one line; no character in it can steer a terminal."""
    end = answered.end
    document = {
        "schema": SCHEMA,
        "text": answered.text,
        "thinking": answered.thinking,
        "finish": str(end.finish) if end else "failed",
        "tokens": _tokens(end) if end else None,
        "context": _context(end) if end else None,
        "timings": _timings(end, loaded),
        "statistics": end.statistics.as_json() if end else None,
        "drafting": _drafting(end) if end else None,
        "seed": end.seed if end else None,
        "acceptance_rule": end.acceptance if end else None,
        "lossless": end.lossless if end else None,
        "models": {
            "target": _model(loaded.target, loading.target),
            "draft": _model(loaded.draft, loading.draft) if loaded.draft and loading.draft else None,
        },
        "settings": _settings(request, loading, loaded),
        "error": _error(answered.error) if answered.error else None,
    }
    return visible_json(document)


def _tokens(end: AnswerEnd) -> dict[str, Any]:
    return {"prompt": end.prompt_tokens, "reused": end.reused_tokens, "answer": end.statistics.emitted}


def _context(end: AnswerEnd) -> dict[str, Any]:
    return {"used": end.context_used, "size": end.context_size, "dropped_messages": end.dropped_messages}


def _timings(end: AnswerEnd | None, loaded: Loaded) -> dict[str, Any]:
    timings: dict[str, Any] = {"load_seconds": loaded.seconds}
    if end:
        timings |= {
            "prompt_seconds": end.prompt_seconds,
            "time_to_first_token": end.time_to_first_token,
            "decode_seconds": end.statistics.seconds,
            "target_seconds": end.statistics.target_seconds,
            "draft_seconds": end.statistics.draft_seconds,
            "other_seconds": end.statistics.other_seconds,
            "tokens_per_second": end.statistics.tokens_per_second,
        }
    return timings


def _drafting(end: AnswerEnd) -> dict[str, Any]:
    return {
        "drafter": end.drafter,
        "draft_length": end.draft_length,
        "why": why_drafted_so(end),
        "outlook": asdict(end.outlook) if end.outlook else None,
        "chosen": asdict(end.chosen) if end.chosen else None,
    }


def _model(loaded: LoadedModel, settings: ModelSettings) -> dict[str, Any]:
    return {
        "name": loaded.name,
        "description": loaded.description,
        "path": str(settings.path),
        "bytes": loaded.bytes,
        "parameters": loaded.parameters,
        "device": loaded.device,
    }


def _settings(request: AnswerRequest, loading: LoadPair, loaded: Loaded) -> dict[str, Any]:
    sampling = asdict(request.sampling)
    # JSON has no infinity: a forbidden token shows the text that asks for it.
    sampling["logit_bias"] = {
        str(token): "-inf" if bias == float("-inf") else bias for token, bias in request.sampling.logit_bias
    }
    return {
        "sampling": sampling,
        "speculation": asdict(request.speculation),
        "max_tokens": request.max_tokens,
        "stop": list(request.stop),
        "context": loaded.context_size,
        "threads": loaded.threads,
        "kv_type": loading.kv_type,
        "flash_attention": loading.flash_attention,
    }


def _error(error: LocalspecError) -> dict[str, Any]:
    return {"kind": type(error).__name__, "title": error.title, "message": error.message, "hint": error.hint}
