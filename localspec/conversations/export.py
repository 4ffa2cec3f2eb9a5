"""Writes a conversation to a file of the person's: Markdown to read, or JSON with all there is.

Version 2 of the JSON ("schema": 2; a later version changes the number when a key changes its meaning or goes away;
version 1 had one `source` for all guesses of a round):

    schema      2
    id, title, created, system, pair, settings, drop_oldest     of the conversation; times are seconds since 1970
    head        id of the last entry of the branch that is shown; null for an empty one
    entries     all entries of all branches, one a line, parents before what follows them:
        id, parent      the parent is the id of the entry it follows, null for a first one; entries with one parent
                        are alternatives
        role            "user" or "assistant"
        text            what was typed, or what the model wrote, its `<think>` part included
        created
        attachments     name and text of each
        facts           null for a question. Of an answer: finish ("end", "stop", "length", "context", "cancelled",
                        "failed", or "writing" when the program ended meanwhile), error, target, draft, statistics
                        (rounds, emitted, drafted, accepted; by position in the draft drafted_at, accepted_at; origins:
                        how many tokens each origin has; by_source: drafted and accepted of "model", "ngram",
                        "lookahead"; judged, judged_kept, judged_expected: guesses whose acceptance was predicted and
                        that were decided on, kept, expected to be kept; seconds, target_seconds, draft_seconds),
                        time_to_first_token, off_tokens_per_second, thinking_seconds, context_used, context_size, seed,
                        acceptance, lossless, drafter, draft_length (a number or "auto"), why (words on the length)
        rounds          null for a question. Of an answer, as far as they were kept: drafted, accepted, sources and
                        predicted (of each guess where it came from, and its predicted acceptance; the latter empty
                        where none was predicted), seconds, context_used, target_seconds, draft_seconds, and tokens:
                        id, text, origin ("draft", "correction", "bonus", "plain"), thinking

Numbers that JSON has not are the strings "inf", "-inf" and "nan".
"""

from __future__ import annotations

import math
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from localspec.chat.events import AnswerRound, AnswerToken
from localspec.conversations.conversation import Conversation, Entry
from localspec.conversations.markdown import as_markdown
from localspec.errors import FileExistsAlreadyError, LocalspecError
from localspec.terminal import visible_json

__all__ = ["SCHEMA", "RoundsOf", "as_json", "as_markdown", "export_to"]

SCHEMA = 2

_ROUND_KEYS = [each.name for each in fields(AnswerRound)]
_TOKEN_KEYS = [each.name for each in fields(AnswerToken)]

RoundsOf = Callable[[str], Iterable[AnswerRound]]
"""The rounds of the answer of that id, as `ConversationStore.rounds`."""


def as_json(conversation: Conversation, rounds_of: RoundsOf) -> str:
    """The whole tree, and who wrote each token of it."""
    head = conversation.head
    about = {"schema": SCHEMA, **asdict(conversation.about), "head": head and head.id}
    beginning = visible_json(_finite(about)).removesuffix("}")
    entries = ",\n".join(visible_json(_entry(entry, rounds_of)) for entry in conversation.entries)
    return f'{beginning}, "entries": [\n{entries}\n]}}\n'


def export_to(path: Path, conversation: Conversation, rounds_of: RoundsOf, *, overwrite: bool = False) -> None:
    """Write a conversation to a file, whole or not at all: JSON when its name ends so, else Markdown.

    Args:
        path: the file.
        conversation: what to write.
        rounds_of: where the rounds of its answers are.
        overwrite: whether a file that is there already may be replaced.

    Raises:
        FileExistsAlreadyError: it is there already.
        LocalspecError: it cannot be written, or the rounds cannot be read.
    """
    try:
        # What a link leads to is the file, not the link.
        path = path.resolve()
        if path.exists() and not path.is_file():
            raise LocalspecError("The conversation was not exported", f"{path} is not a file.", "Name a file.")
        if path.exists() and not overwrite:
            raise FileExistsAlreadyError(
                "There is a file of that name already", f"{path} was left as it is.", "Name another, or overwrite it."
            )
        is_json = path.suffix.lower() == ".json"
        text = as_json(conversation, rounds_of) if is_json else as_markdown(conversation)
        _write_whole(path, text.encode())
    except (OSError, ValueError, RuntimeError) as error:  # the last one: links that lead in a circle
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LocalspecError(
            "The conversation was not exported", f"{path}: {why}.", "Name a file in a folder that is there."
        ) from error


def _write_whole(path: Path, content: bytes) -> None:
    beside = path.with_name(f".localspec-{uuid.uuid4().hex}")
    try:
        # Not a private file, as records are: the person's umask says who may read it.
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _entry(entry: Entry, rounds_of: RoundsOf) -> dict[str, Any]:
    row: dict[str, Any] = _finite(asdict(entry))
    if entry.facts is None:
        return {**row, "rounds": None}
    statistics = entry.facts.statistics
    row["facts"]["statistics"]["origins"] = dict(statistics.origins)
    row["facts"]["statistics"]["by_source"] = {
        source: {"drafted": drafted, "accepted": accepted} for source, drafted, accepted in statistics.by_source
    }
    return {**row, "rounds": [_round(each) for each in rounds_of(entry.id)]}


def _round(finished: AnswerRound) -> dict[str, Any]:
    # Not `asdict`: a long conversation has a hundred thousand of them, and that takes ten seconds.
    row = {name: getattr(finished, name) for name in _ROUND_KEYS}
    tokens = [{name: getattr(token, name) for name in _TOKEN_KEYS} for token in finished.tokens]
    return {**row, "accepted": finished.accepted, "tokens": tokens}


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
