"""The heart: draft, verify, accept, roll back (DESIGN section 2; Leviathan 2023, Algorithm 1)."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence

from localspec.decoding.acceptance import Target
from localspec.decoding.distributions import Distribution
from localspec.decoding.drafters import Drafter
from localspec.decoding.language_model import LanguageModel, LogitRows
from localspec.decoding.rounds import Finish, Origin, Round, Turn
from localspec.decoding.sampling import to_distribution
from localspec.decoding.sampling_settings import SamplingSettings


def speculate(target: LanguageModel, drafter: Drafter, text: Sequence[int], turn: Turn) -> Generator[Round, None, None]:
    """Continue `text` round by round until an end token, a limit or a cancel.

    Whenever the generator is suspended or over (also by `close()` or an exception) the target's cache holds the text
    so far, emitted tokens included, less its last token, and the drafter's cache holds a prefix of that.

    Args:
        target: holds all of `text` but its last token.
        drafter: the source of guesses; `NoDrafter` is speculation off.
        text: prompt and answer so far, at least one token.
        turn: settings of this answer.

    Yields:
        One Round for each target pass. The last one has `finish` set, unless the answer was cancelled.

    Raises:
        ValueError: the target does not hold `text` less its last token, or the context has no room for one pass.
    """
    if target.length != len(text) - 1:
        raise ValueError(f"the target must hold the {len(text)} tokens of the text but the last, not {target.length}")
    if len(text) > target.capacity:
        raise ValueError(f"a text of {len(text)} tokens leaves no room in a context of {target.capacity}")
    tokens = list(text)
    finish = Finish.LENGTH if turn.max_tokens == 0 else None
    try:
        while finish is None and not turn.cancelled():
            finished = _one_round(target, drafter, tokens, len(tokens) - len(text), turn)
            if finished is None:
                return
            tokens.extend(finished.tokens)
            _roll_back(target, drafter, len(tokens) - 1)
            turn.draft_length.observe(finished)
            finish = finished.finish
            yield finished
    finally:
        _roll_back(target, drafter, len(tokens) - 1)


def _one_round(
    target: LanguageModel, drafter: Drafter, tokens: Sequence[int], emitted: int, turn: Turn
) -> Round | None:
    """Draft, verify and accept after `tokens`, leaving the roll-back to the caller; None when cancelled."""
    began = time.perf_counter()
    draft = drafter.draft(tokens, _room(target, tokens, emitted, turn), turn)
    if turn.cancelled():
        return None
    verifying = time.perf_counter()
    rows = target.evaluate((tokens[-1], *draft.tokens))
    verified = time.perf_counter()
    p = _target_distributions(rows, tokens, draft.tokens, turn.sampling)
    verdict = turn.rule.verify(draft, p, len(tokens))
    kept = _until_end((*draft.tokens[: verdict.accepted], verdict.token), turn.end_tokens)
    accepted = min(verdict.accepted, len(kept))
    return Round(
        drafted=draft.tokens,
        accepted=accepted,
        tokens=kept,
        origins=_origins(len(draft.tokens), accepted, len(kept)),
        sources=draft.sources,
        predictions=draft.predictions,
        passes=draft.passes,
        target_seconds=verified - verifying,
        seconds=time.perf_counter() - began,
        finish=_finish(kept[-1], emitted + len(kept), len(tokens) + len(kept), target.capacity, turn),
    )


def _room(target: LanguageModel, tokens: Sequence[int], emitted: int, turn: Turn) -> int:
    """The longest draft that neither the context nor the token limit cuts: n guesses can emit n + 1 tokens."""
    room = min(turn.draft_length.longest, target.capacity - len(tokens))
    return room if turn.max_tokens is None else min(room, turn.max_tokens - emitted - 1)


def _target_distributions(
    rows: LogitRows, tokens: Sequence[int], drafted: Sequence[int], sampling: SamplingSettings
) -> Target:
    """p(i): the target's distribution after the text and i guesses, from row i, computed only when asked for."""

    def p(i: int) -> Distribution:
        return to_distribution(rows[i], sampling, sampling.window(tokens, drafted[:i]))

    return p


def _until_end(tokens: tuple[int, ...], end_tokens: frozenset[int]) -> tuple[int, ...]:
    """The tokens up to and with the first end-of-generation token."""
    for i, token in enumerate(tokens):
        if token in end_tokens:
            return tokens[: i + 1]
    return tokens


def _origins(drafted: int, accepted: int, emitted: int) -> tuple[Origin, ...]:
    """Accepted guesses first, then, unless the answer ended inside the draft, one token of the target's own."""
    if emitted == accepted:
        return (Origin.DRAFT,) * accepted
    own = Origin.CORRECTION if accepted < drafted else Origin.BONUS
    return (*(Origin.DRAFT,) * accepted, own if drafted else Origin.PLAIN)


def _finish(last: int, emitted: int, length: int, capacity: int, turn: Turn) -> Finish | None:
    if last in turn.end_tokens:
        return Finish.END
    if turn.max_tokens is not None and emitted >= turn.max_tokens:
        return Finish.LENGTH
    return Finish.CONTEXT if length > capacity else None


def _roll_back(target: LanguageModel, drafter: Drafter, length: int) -> None:
    """Cut both caches back to the agreed text."""
    if target.length > length:
        target.truncate(length)
    drafter.agree(length)
