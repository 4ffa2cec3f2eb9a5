"""Why an answer was drafted as it was, in words: the same on the command line and in the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.decoding.draft_length import AUTO

if TYPE_CHECKING:
    from localspec.chat.events import AnswerEnd
    from localspec.decoding.outlook import Outlook
    from localspec.decoding.source_choice import Chosen

_LITTLE = 1.0
"""Guesses a round below which a person may wonder why."""


_MENTIONED = 2
"""Sources that were not chosen, and are named all the same."""


def why_drafted_so(end: AnswerEnd) -> str:
    """On who guessed and how much, in one or two clauses; "" when there is nothing to say."""
    return "; ".join(filter(None, [why_this_source(end.chosen), why_so_many(end)]))


def why_this_source(chosen: Chosen | None) -> str:
    """One clause on the source that was chosen for an answer; "" where it was named, or there was no choice."""
    if chosen is None:
        return ""
    expected = {promise.source: promise.speed for promise in chosen.promises}
    others = [f"{source} {speed:.2f}" for source, speed in expected.items() if source not in {chosen.source, "none"}]
    words = [f"{chosen.source} chosen: {expected[chosen.source]:.2f} times as fast as without guesses expected"]
    if chosen.source == "none":
        words = ["nothing guessed: no source is expected to be faster than none"]
    if others:
        words[0] += f" ({', '.join(others[:_MENTIONED])})"
    if chosen.showed is not None:
        words.append(f"came {chosen.showed:.2f}")
    if chosen.tried:
        words.append(f"tried for a moment {', '.join(chosen.tried)}")
    if chosen.left:
        words.append(f"left, as slower than expected, {', '.join(chosen.left)}")
    return ", ".join(words)


def why_so_many(end: AnswerEnd) -> str:
    """One clause on the guesses of an answer whose draft length was automatic; "" when there is nothing to say."""
    statistics = end.statistics
    if end.draft_length != AUTO or not statistics.rounds:
        return ""
    little = statistics.drafted < _LITTLE * statistics.rounds
    if end.outlook is not None:
        return _of_model(end.outlook, little=little)
    return "drafts little: hardly anything here repeats what stood before" if little else ""


def _of_model(outlook: Outlook, *, little: bool) -> str:
    kept, pays = _percent(outlook.acceptance), _percent(outlook.break_even or 0.0)
    promising = outlook.break_even is not None and outlook.acceptance >= outlook.break_even
    if not little:
        kept_and_pays = f"a guess of the draft model is kept {kept} of the time here and pays from {pays} on"
        return f"drafting pays: {kept_and_pays}" if promising else ""
    if outlook.break_even is None:
        return "drafts little: on this machine no guess of the draft model pays, however often it is kept"
    if promising:
        return f"drafts little: guesses of the draft model pay from {pays} on, and most of this was harder to guess"
    return f"drafts little: a guess of the draft model is kept {kept} of the time here and pays from {pays} on"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
