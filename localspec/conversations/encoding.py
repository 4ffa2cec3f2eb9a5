"""What is kept of entries and rounds, as JSON and as bytes, and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from localspec.chat.events import AnswerRound, AnswerToken
from localspec.conversations.conversation import AnswerFacts, Attachment
from localspec.decoding.rounds import Origin
from localspec.decoding.statistics import DecodingStatistics

_UNPREDICTED = 8
"""Values of a round before predictions were kept."""


def as_text(value: object) -> str:
    """The value as JSON."""
    return storable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def storable(text: str) -> str:
    """The text with halves of surrogate pairs, which no UTF-8 can hold, replaced by the replacement character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def facts_as_text(facts: AnswerFacts | None) -> str | None:
    """The facts as JSON."""
    return None if facts is None else as_text(asdict(facts))


def facts_from(text: str | None) -> AnswerFacts | None:
    """The facts again; what another version of the program knew more is left out, and what it knew less is unknown.

    Raises:
        ValueError: this is no JSON.
        TypeError: this is JSON of something else.
    """
    if text is None:
        return None
    known = _fields_of(AnswerFacts, json.loads(text))
    counts = _fields_of(DecodingStatistics, known.pop("statistics", {}))
    counts |= {name: tuple(counts[name]) for name in ("drafted_at", "accepted_at") if name in counts}
    counts |= {name: tuple(map(tuple, counts[name])) for name in ("origins", "by_source") if name in counts}
    return AnswerFacts(**known, statistics=DecodingStatistics(**counts))


def attachments_as_text(attachments: Iterable[Attachment]) -> str:
    """The attachments as JSON."""
    return as_text([[file.name, file.text] for file in attachments])


def attachments_from(text: str) -> tuple[Attachment, ...]:
    """The attachments again.

    Raises:
        ValueError: this is no JSON.
        TypeError: this is JSON of something else.
    """
    return tuple(Attachment(name, content) for name, content in json.loads(text))


def rounds_as_bytes(rounds: Iterable[AnswerRound]) -> bytes:
    """The rounds as packed JSON: 10 to 20 bytes a token. Predictions are kept to a thousandth."""
    rows = [
        [
            [[token.id, token.text, token.origin, int(token.thinking)] for token in each.tokens],
            each.drafted,
            each.accepted if each.path == tuple(range(each.accepted)) else each.path,
            each.sources,
            each.seconds,
            each.context_used,
            each.target_seconds,
            each.draft_seconds,
            [round(acceptance, 3) for acceptance in each.predicted],
            *([each.parents] if each.parents else []),
        ]
        for each in rounds
    ]
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode())


def rounds_from(data: bytes) -> list[AnswerRound]:
    """The rounds again; those of earlier versions too, which named one source for a whole draft and predicted nothing.

    Raises:
        zlib.error: the bytes are damaged.
        ValueError: they hold no JSON, or an origin that does not exist.
        TypeError: they hold JSON of something else.
    """
    return [_round_from(row) for row in json.loads(zlib.decompress(data))]


def _round_from(row: list[Any]) -> AnswerRound:
    tokens, drafted, kept, sources, seconds, context_used, target_seconds, draft_seconds = row[:_UNPREDICTED]
    predicted, parents, *_ = (*row[_UNPREDICTED:], (), ())
    return AnswerRound(
        tuple(AnswerToken(id_, text, Origin(origin), bool(thinking)) for id_, text, origin, thinking in tokens),
        drafted,
        tuple(range(kept)) if isinstance(kept, int) else tuple(kept),
        (sources,) * drafted if isinstance(sources, str) else tuple(sources),
        seconds,
        context_used,
        target_seconds,
        draft_seconds,
        tuple(predicted),
        tuple(parents),
    )


def _fields_of(kind: type[AnswerFacts | DecodingStatistics], found: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: found[field.name] for field in fields(kind) if field.name in found}
