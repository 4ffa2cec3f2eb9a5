"""Why an answer was drafted as much as it was, in words: the same on the command line and in the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.decoding.draft_length import AUTO

if TYPE_CHECKING:
    from localspec.chat.events import AnswerEnd
    from localspec.decoding.outlook import Outlook

_LITTLE = 1.0
"""Guesses a round below which a person may wonder why."""


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
