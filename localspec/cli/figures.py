"""The figures of one answer on a line or two, each with its denominator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.chat.why import why_drafted_so
from localspec.decoding.drafter_names import WORDS
from localspec.decoding.rules import lossy_words

if TYPE_CHECKING:
    from localspec.chat.events import AnswerEnd
    from localspec.decoding.statistics import DecodingStatistics


def figures_of_answer(end: AnswerEnd) -> str:
    """What an answer cost and what speculation brought to it."""
    parts = [figures_of_decoding(end.statistics)]
    if end.time_to_first_token is not None:
        parts.append(f"first token {end.time_to_first_token:.2f} s")
    read = f"prompt {_count(end.prompt_tokens)} tokens"
    parts.append(f"{read}, {_count(end.reused_tokens)} of them known" if end.reused_tokens else read)
    parts.append(f"context {_count(end.context_used)}/{_count(end.context_size)}")
    if not end.lossless:
        parts.append(lossy_words(end.acceptance))
    return "\n".join([" · ".join(parts), *_figures_of_drafting(end)])


def _figures_of_drafting(end: AnswerEnd) -> list[str]:
    """Who guessed how much, what was expected of it, and why it was so much; nothing without speculation."""
    why = why_drafted_so(end)
    if end.drafter == "none":
        return [why] if why else []
    statistics = end.statistics
    parts = [f"guesses from {WORDS.get(end.drafter, end.drafter)}, draft length {end.draft_length}"]
    if statistics.drafted:
        parts.append(_lengths(statistics.rounds_by_length))
    if len(statistics.by_source) > 1:
        each = (f"{source} {_kept(kept, drafted)}" for source, drafted, kept in statistics.by_source)
        parts.append("kept of " + ", ".join(each))
    if statistics.judged:
        predicted, real = statistics.predicted_acceptance, statistics.judged_acceptance
        parts.append(f"predicted {predicted:.0%}, came {real:.0%} (of {_count(statistics.judged)} judged)")
    return [" · ".join(parts), *([why] if why else [])]


def _lengths(rounds: tuple[int, ...]) -> str:
    """A histogram in words: how many rounds drafted how much."""
    return "rounds by tokens drafted " + ", ".join(f"{i}: {_count(each)}" for i, each in enumerate(rounds) if each)


def _kept(kept: int, drafted: int) -> str:
    return f"{kept / drafted:.0%} ({_count(kept)} of {_count(drafted)})"


def figures_in_full(end: AnswerEnd) -> str:
    """`figures_of_answer`, and what happened at each position of a draft and who wrote the tokens."""
    statistics = end.statistics
    lines = [figures_of_answer(end)]
    if statistics.drafted:
        shares = zip(statistics.acceptance_by_position, statistics.drafted_at, strict=True)
        positions = ", ".join(f"{i}: {share:.0%} of {_count(drafted)}" for i, (share, drafted) in enumerate(shares, 1))
        lines.append(f"accepted at position {positions}")
    origins = ", ".join(f"{origin} {_count(count)}" for origin, count in statistics.origins)
    lines.append(f"written by: {origins} · seed {end.seed} · {end.acceptance} acceptance")
    return "\n".join(lines)


def figures_of_decoding(statistics: DecodingStatistics) -> str:
    """Speed, acceptance, tokens per pass, and where the time went."""
    parts = [f"{_count(statistics.emitted)} tokens in {statistics.seconds:.2f} s"]
    if statistics.tokens_per_second is not None:
        parts[0] += f" ({statistics.tokens_per_second:.1f} tok/s)"
    if statistics.acceptance is None:
        parts.append("nothing drafted")
    else:
        kept = f"{_count(statistics.accepted)} of {_count(statistics.drafted)}"
        parts.append(f"accepted {statistics.acceptance:.0%} ({kept})")
    if statistics.tau is not None:
        parts.append(f"{statistics.tau:.2f} tokens per pass ({_count(statistics.rounds)} passes)")
    if statistics.drafted:
        target, draft, other = statistics.target_seconds, statistics.draft_seconds, statistics.other_seconds
        parts.append(f"target {target:.2f} s, draft {draft:.2f} s, other {other:.2f} s")
    return " · ".join(parts)


def _count(number: int) -> str:
    return f"{number:,}"
